// A kernel and its launches on the emulator, which are repeated with each mutant of the kernel.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/mutants/mutator.h"

namespace tilewright::test {

enum class Fate {
  found,        // the emulator's checks reported it
  wrong,        // it left other bytes in memory than the kernel does
  survived,     // neither, in any launch
  not_reached,  // nor did a launch bring it to where it would differ: no lane's guard was false, no two sides of the comparison equal
};

struct Verdict {
  Fate fate = Fate::survived;
  std::string how;  // the diagnostic, or which byte differs
};

class Subject {
 public:
  explicit Subject(const rt::emulator::LoadedModule&, std::string_view kernel);

  /// One more launch of the kernel, whose buffers have to outlive the subject. The kernel as it is runs in every schedule; what the checks
  /// report of that is a false report, or a mistake of the kernel.
  std::vector<std::string> add(const rt::emulator::EmulatedLaunch&);

  const rt::emulator::Module& module() const { return loaded_->module(); }
  const std::string& kernel() const { return kernel_; }
  /// The counters of all launches.
  const rt::emulator::KernelCounters& counters() const { return counters_; }
  /// Leaves in the buffers what the mutant did to them.
  Verdict judge(const Mutant&) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Schedule {
    rt::emulator::Order warps;
    rt::emulator::AsyncOrder copies;
    rt::emulator::u64 seed;  // for the order of warps
  };
  static constexpr std::array kSchedules = {Schedule{rt::emulator::Order::forward, rt::emulator::AsyncOrder::lazy, 0},
                                            Schedule{rt::emulator::Order::backward, rt::emulator::AsyncOrder::eager, 0},
                                            Schedule{rt::emulator::Order::random, rt::emulator::AsyncOrder::random, 1},
                                            // Paths that only another order takes: look-back, locks.
                                            Schedule{rt::emulator::Order::random, rt::emulator::AsyncOrder::lazy, 2},
                                            Schedule{rt::emulator::Order::random, rt::emulator::AsyncOrder::lazy, 3}};
  struct Launch {
    rt::emulator::Memory* memory;
    rt::emulator::LaunchParams params;
    std::vector<std::byte> param_bytes;
    std::vector<rt::emulator::Range> ranges;  // memory that parameters point into
    std::vector<Bytes> before;                // contents of each range before the launch
    std::array<std::vector<Bytes>, kSchedules.size()> after;
    rt::emulator::u64 executed = 0;
  };
  static std::vector<Bytes> contents(const Launch&);
  static void restore(const Launch&);
  void run(const rt::emulator::LoadedModule&, const Launch&, std::size_t schedule, rt::emulator::LaunchParams) const;
  /// The way in which a launch, or any launch, reveals the mutant; survived if none does.
  Verdict judge(const rt::emulator::LoadedModule&, const Launch&, std::size_t schedule) const;
  Verdict judge(const rt::emulator::LoadedModule&, std::size_t schedule) const;
  bool is_reached(const Mutant&, std::size_t schedule) const;

  std::shared_ptr<rt::emulator::LoadedModule> loaded_;
  std::string kernel_;
  std::vector<Launch> launches_;
  rt::emulator::KernelCounters counters_;
  mutable std::size_t last_ = 0;  // the launch that gave a mutant away, and is likely to do it again
};

}  // namespace tilewright::test
