// One kernel of a plan. It is compiled with the plan and loaded at its first launch.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backend/compiled_kernel.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "runtime/device.h"
#include "tilewright/here.h"

namespace tilewright::detail {

/// A kernel's parameters promise divisors, mostly of addresses. A run whose arguments break a promise uses a variant that was compiled
/// without promises.
class PlanKernel {
 public:
  PlanKernel(const passes::fusion::SequenceKernel&, const std::string& target);
  /// A kernel that shares the function of `like`, which must outlive it. It is compiled and loaded only once.
  PlanKernel(const passes::fusion::SequenceKernel&, PlanKernel& like);

  /// Compiles kernels on all cores, each with the variant that its parameters promise. Throws Error at `at` if the target cannot run one of
  /// them: what is thrown and logged is the same as if they were compiled one after the other.
  static void compile_all(std::span<PlanKernel* const>, const Here& at);
  /// The variant for these arguments, loaded. `compilations` counts the variants that are compiled.
  const rt::Executable& prepare(rt::Device&, std::span<const std::uint64_t> words, std::int64_t& compilations, const Here& at);
  int num_warps() const { return source_.num_warps; }
  /// Whether the kernel was compiled for checked mode.
  bool is_checked() const { return is_checked_; }
  /// Empty for the cpu.
  std::string ptx() const;

 private:
  enum Variant : std::size_t { kPromised, kUnpromised };
  backend::CompiledKernel compile(Variant, const Here&) const;
  bool keeps_promises(std::span<const std::uint64_t> words) const;

  const passes::fusion::SequenceKernel& source_;
  PlanKernel* const like_ = nullptr;  // if not null, this one holds the compiled code
  const std::string target_;
  const bool is_checked_;
  std::array<std::optional<backend::CompiledKernel>, 2> compiled_;
  std::array<std::shared_ptr<const rt::Executable>, 2> loaded_;
};

}  // namespace tilewright::detail
