// Compares the emulator's fast paths with its plain rules: each launch of the emulator's unit tests is run with both.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// Memory as it is before a launch, to repeat the launch from there.
class FastPathComparison {
 public:
  FastPathComparison(const LoadedModule&, Memory&);
  /// Repeats the launch in one thread, with the fast paths of checks, loads and stores and without: the reports, counters, output and
  /// memory have to be the same. Leaves memory as it was before the call.
  void check(const std::string& kernel, LaunchParams) const;

 private:
  using Contents = std::vector<std::pair<std::byte*, std::vector<std::byte>>>;
  struct Result {
    std::string text;
    Contents memory;
  };
  Contents contents() const;
  static void restore(const Contents&);
  Result run(const std::string& kernel, LaunchParams, bool fast_paths) const;

  const LoadedModule& loaded_;
  Memory& memory_;
  Contents before_;
};

}  // namespace tilewright::rt::emulator
