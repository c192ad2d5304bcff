// The kernels that `tilewright bench` knows. Each has a row that explains its shape, makes its arrays, launches it and computes the right
// results.
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

/// The arrays of a problem in double precision: results under their names as a launch left them, all arrays as they were before it under
/// "NAME before", and inputs also under their names.
using Values = std::map<std::string, Reader, std::less<>>;

/// The right values of a result, row by row, so that a large result can be checked at some of its rows.
struct Reference {
  std::string tensor;                  // the name of the result
  std::int64_t rows = 1, columns = 1;  // rows and columns that are checked; elements after them are not
  double operations_a_row = 1;         // approximate cost of one row
  std::function<void(const Values&, std::int64_t row, std::span<double> to)> row;
  bool exact = false;     // the result must be equal bit by bit
  double terms = 1;       // number of terms of a sum in the result; rounding errors may grow with its square root
  double least_size = 0;  // errors are relative to at least this norm of all checked values; needed if sums cancel
};
/// Requires the result to be equal bit by bit.
Reference exactly(Reference);
/// A result of n elements that is computed from the inputs as a whole. It is computed once for all contenders.
Reference whole(std::string tensor, std::int64_t n, std::function<void(const Values&, std::span<double> to)>);

/// c = a b of row-major matrices: c [m, n], a [m, k]; n = 1 is a product with a vector. Libraries are called with this description.
struct MatrixProduct {
  std::string a, b, c;
  std::int64_t m, n, k;
};

/// A kernel with a shape and an element type.
struct Problem {
  std::vector<Tensor> tensors;
  double flops = 0;         // 0: the kernel is bound by memory
  double bytes = 0;         // bytes that must be moved; 0: each array once
  bool multiplies = false;  // uses matrix instructions if there are any; in f32 they are less exact
  std::optional<MatrixProduct> product{};
  /// Fills the prepared inputs, once for all contenders; may be empty.
  std::function<void(const Device&, DeviceTensors&)> prepare{};
  std::function<void(DeviceTensors&, const kernels::Options&)> launch{};
  std::vector<Reference> references{};  // for all results
};

/// The problems of a row of the table, by element type.
struct Problems {
  std::vector<ir::Element> types;  // the first type is the default on the cpu
  std::function<Problem(const Shape&, ir::Element)> make;
};
/// The problems that `make` returns for a std::type_identity of one of the types, and a shape.
template <class... T, class F>
Problems problems(ElementTypes<T...> types, F make) {
  return {{kElement<T>...},
          [=](const Shape& s, ir::Element e) { return with_type(types, e, [&](auto type) -> Problem { return make(type, s); }); }};
}
using Floats = ElementTypes<float, f16, bf16, double>;

/// Shapes that suit an emulator, a cpu or a GPU.
struct DefaultShapes {
  std::vector<Shape> emulator, cpu, gpu;
};

struct KernelRow {
  std::string name, formula;
  std::vector<std::string> axes;  // names of the extents of a shape: {"M", "N", "K"}
  DefaultShapes shapes;
  Problems problems;
  std::string data{};  // random data that differs from the description in kUsualData
  /// Why a shape has no kernel; empty if it has one.
  std::function<std::string(const Shape&)> reason_against = [](const Shape&) { return std::string(); };
};
inline constexpr const char* kUsualData = "uniform in [-1, 1), integers in [-4, 4)";

using KernelRows = std::vector<KernelRow>;

// In the order of --list. Each function is in a file of its name.
void add_products(KernelRows&);
void add_rows(KernelRows&);
void add_attention(KernelRows&);
void add_gradients(KernelRows&);
void add_elements(KernelRows&);
void add_whole_arrays(KernelRows&);
void add_indexed(KernelRows&);
void add_transforms(KernelRows&);

/// All rows.
const KernelRows& kernel_rows();

/// Throws UsageError that suggests a kernel and lists all.
const KernelRow& find_kernel(const std::string& name);

}  // namespace tilewright::cli::bench
