// The kernels that `tilewright bench` knows: one row for each, which says what its shape means, makes its arrays, launches it and says what
// is right.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/cli/bench/rows/tensor.h"
#include "tilewright/kernels/options.h"

namespace tilewright::cli::bench {

/// The arrays of a problem in double precision: results as a launch left them, under their names; all arrays as they were before it,
/// under "NAME before", and inputs under their names, too.
using Values = std::map<std::string, Reader, std::less<>>;

/// What a result must be, row by row, so that large results can be checked by some of their rows.
struct Reference {
  std::string tensor;                  // the result
  std::int64_t rows = 1, columns = 1;  // that are checked; elements behind them are not
  double operations_a_row = 1;         // how long a row takes, more or less
  std::function<void(const Values&, std::int64_t row, std::span<double> to)> row;
  bool exact = false;     // to the last bit
  double terms = 1;       // of a sum in the result: rounding errors may grow with the square root
  double least_size = 0;  // of all that is checked, as a norm, where sums cancel: what errors are relative to
};
/// A result that must be right to the last bit.
Reference exactly(Reference);
/// A result of n elements that follow from the inputs all at once. They are computed once for all contenders.
Reference whole(std::string tensor, std::int64_t n, std::function<void(const Values&, std::span<double> to)>);

/// c = a b of row-major matrices, c [m, n], a [m, k]; n = 1: a product with a vector. For libraries that are called by this description.
struct MatrixProduct {
  std::string a, b, c;
  std::int64_t m, n, k;
};

/// A kernel with a shape and an element type.
struct Problem {
  std::vector<Tensor> tensors;
  double flops = 0;         // 0: the kernel is bound by memory
  double bytes = 0;         // that must be moved; 0: of each array once
  bool multiplies = false;  // by matrix instructions where there are some, which in f32 are less exact
  std::optional<MatrixProduct> product{};
  /// Fills the prepared inputs, once for all contenders; may be empty.
  std::function<void(const Device&, DeviceTensors&)> prepare{};
  std::function<void(DeviceTensors&, const kernels::Options&)> launch{};
  std::vector<Reference> references{};  // of all results
};

/// The problems of a row, by element type.
struct Problems {
  std::vector<ir::Element> types;  // the first is the default on the cpu
  std::function<Problem(const Shape&, ir::Element)> make;
};
/// Those that `make` makes of a std::type_identity of one of the types, and a shape.
template <class... T, class F>
Problems problems(ElementTypes<T...> types, F make) {
  return {{kElement<T>...},
          [=](const Shape& s, ir::Element e) { return with_type(types, e, [&](auto type) -> Problem { return make(type, s); }); }};
}
using Floats = ElementTypes<float, f16, bf16, double>;

/// Shapes that suit an emulator, a cpu, and a GPU.
struct DefaultShapes {
  std::vector<Shape> emulator, cpu, gpu;
};

struct KernelRow {
  std::string name, formula;
  std::vector<std::string> axes;  // of a shape: {"M", "N", "K"}
  DefaultShapes shapes;
  Problems problems;
  std::string data{};  // what is random in another way than kUsualData says
  /// Why there is no kernel of a shape; empty if there is.
  std::function<std::string(const Shape&)> reason_against = [](const Shape&) { return std::string(); };
};
inline constexpr const char* kUsualData = "uniform in [-1, 1), integers in [-4, 4)";

using KernelRows = std::vector<KernelRow>;

// In the order of the list; each is in a file of its name.
void add_products(KernelRows&);
void add_rows(KernelRows&);
void add_attention(KernelRows&);
void add_gradients(KernelRows&);
void add_elements(KernelRows&);
void add_whole_arrays(KernelRows&);
void add_indexed(KernelRows&);
void add_transforms(KernelRows&);

/// All of them.
const KernelRows& kernel_rows();

/// Throws UsageError that suggests one and lists them.
const KernelRow& find_kernel(const std::string& name);

}  // namespace tilewright::cli::bench
