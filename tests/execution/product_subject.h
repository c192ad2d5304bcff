// Products on the emulated Hopper in several schedules, and in the interpreter with random turns of the roles.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/execution/product_kernels.h"
#include "tests/fuzz/differential.h"
#include "tests/mutants/subject.h"

namespace tilewright::test {

inline constexpr const char* kHopper = "sm_90a";

/// The program after all passes for Hopper, or all but specialize_warps.
ir::Function passed(const fuzz::Program&, int warps, bool has_roles = true);

/// A kernel and its launches, in every schedule of the emulator.
class ProductSubject {
 public:
  ProductSubject(const ProductKernel&, const std::vector<ProductShape>&, bool has_roles = true);

  const Subject& subject() const { return *subject_; }
  const std::string& ptx() const { return text_; }
  /// The bytes of c, for each launch.
  const std::vector<std::vector<std::byte>>& results() const { return results_; }
  /// The weakenings of the order in PTX that no check finds, but for those that change nothing: one line for each. Counts all.
  std::string survivors(int* mutants = nullptr) const;

 private:
  rt::emulator::Memory memory_;
  std::vector<fuzz::Program> programs_;
  std::unique_ptr<Subject> subject_;
  std::string text_;
  std::vector<std::vector<std::byte>> results_;
};

/// The interpreter with turns of roles in a random order.
class RandomTurns : public fuzz::Executor {
 public:
  RandomTurns(int warps, std::uint64_t seed) : warps_(warps), seed_(seed) {}
  std::string name() const override { return "random turns"; }
  void run(const ir::Function&, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) override;

 private:
  int warps_;
  std::uint64_t seed_;
};

/// Runs the product on the emulated Hopper, and compares it with the traced kernel in the interpreter and on other machines; returns its PTX.
std::string check_product(const ProductKernel&, const ProductShape&);

/// The machine has the values of the interpreter.
void check_equal(const fuzz::Program&, fuzz::Executor& machine);

}  // namespace tilewright::test
