// Runs a program by two executors on equal memory and says where the results differ.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/program.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/target/target_desc.h"

namespace tilewright::fuzz {

/// Something that runs a function over a grid, on memory of this process.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// `words`: one a parameter. Throws std::exception for what it cannot do.
  virtual void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) = 0;
  /// The memory that the next run may touch; null: unknown. An executor that checks accesses throws for others.
  virtual void expect_within(const Memory*) {}
  /// The prints and failed assertions of the programs of the last run, in order.
  const std::vector<std::string>& reports() const { return reports_; }

 protected:
  std::vector<std::string> reports_;
};

/// A report as text: bits of elements, but all NaNs alike.
std::string report_text(const std::string& said, std::array<std::int32_t, 3> program, std::span<const ir::TileValue> operands);

/// The reference: the interpreter, reductions in a target's order.
class InterpreterExecutor : public Executor {
 public:
  explicit InterpreterExecutor(ir::ReductionOrder order = {}) : order_(order) {}
  std::string name() const override { return "interpreter"; }
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;
  void expect_within(const Memory* memory) override { memory_ = memory; }

 private:
  ir::ReductionOrder order_;
  const Memory* memory_ = nullptr;
};

/// The interpreter after the function was changed: by a prefix of a pass pipeline, or by a mutation.
class RewritingExecutor : public Executor {
 public:
  using Rewrite = std::function<void(ir::Function&)>;
  RewritingExecutor(std::string name, Rewrite rewrite, ir::ReductionOrder order = {})
      : name_(std::move(name)), rewrite_(std::move(rewrite)), interpreter_(order) {}
  std::string name() const override { return name_; }
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;
  void expect_within(const Memory* memory) override { interpreter_.expect_within(memory); }

 private:
  std::string name_;
  Rewrite rewrite_;
  InterpreterExecutor interpreter_;
};

/// Why a program has no meaning that can be compared; empty if it has one. Reasons: an access outside its buffers, a failed assertion, or
/// programs of the grid that touch each other's memory (except with integer atomics of one kind whose results are not used). Runs it in the
/// interpreter. `one_lane_an_element`: also refuses lanes of one store or atomic that access one element, except atomics whose result does
/// not depend on the order (see any_order_of_lanes); this also refuses loops whose only access is a store to one place.
std::string check_meaning(const Program&, bool one_lane_an_element = false);

/// How far results may be apart.
struct Tolerance {
  /// f32: units in the last place, f16 and bf16: one unit if this is not 0. Subnormals may be flushed then.
  double ulp = 0;
  bool flushes = false;  // subnormal f32 are as good as zeros, whatever ulp is
};

/// The first difference after both ran, or the exception of one. Nothing if all buffers and reports are equal: bit for bit, except that any
/// two NaNs are equal, and within the tolerance.
std::optional<std::string> compare(const Program&, Executor& reference, Executor& candidate, Tolerance = {});

}  // namespace tilewright::fuzz
