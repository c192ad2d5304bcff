// The kernels that `tilewright bench` knows: one row for each, which says what its shape means, makes its arrays, launches it and says what
// is right.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frontend/cli/bench/tensor.h"
#include "tilewright/kernels/options.h"

namespace tilewright::cli::bench {

/// The arrays of a problem in double precision: inputs as they were before the launch, results as it left them.
using Values = std::map<std::string, Reader, std::less<>>;

/// What a result must be, row by row, so that large results can be checked by some of their rows.
struct Reference {
  std::string tensor;           // the result
  std::int64_t columns = 1;     // of a row; the result has elements / columns rows
  double operations_a_row = 1;  // how long a row takes, more or less
  std::function<void(const Values&, std::int64_t row, std::span<double> to)> row;
};

/// A kernel with a shape and an element type.
struct Problem {
  std::vector<Tensor> tensors;
  double flops = 0;         // 0: the kernel is bound by memory
  double bytes = 0;         // that must be moved; 0: of each array once
  bool multiplies = false;  // by matrix instructions where there are some, which in f32 are less exact
  std::function<void(DeviceTensors&, const kernels::Options&)> launch;
  Reference reference;
};

/// Shapes that suit an emulator, a cpu, and a GPU.
struct DefaultShapes {
  std::vector<Shape> emulator, cpu, gpu;
};

struct KernelRow {
  std::string name, formula;
  std::vector<std::string> axes;  // of a shape: {"M", "N", "K"}
  std::vector<ir::Element> types;
  DefaultShapes shapes;
  std::function<Problem(const Shape&, ir::Element)> problem;
  /// Why there is no kernel of a shape; empty if there is.
  std::function<std::string(const Shape&)> reason_against = [](const Shape&) { return std::string(); };
};

using KernelRows = std::vector<KernelRow>;

// In the order of the list; each is in a file of its name.
void add_products(KernelRows&);
void add_rows(KernelRows&);
void add_attention(KernelRows&);
void add_elements(KernelRows&);

/// All of them.
const KernelRows& kernel_rows();

/// Throws UsageError that suggests one and lists them.
const KernelRow& find_kernel(const std::string& name);

/// f16, bf16, f32, f64.
extern const std::vector<ir::Element> kFloatTypes;

}  // namespace tilewright::cli::bench
