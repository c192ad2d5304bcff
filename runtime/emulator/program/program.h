// Modules of PTX in the form that the emulator executes: kernels that are decoded, and variables that have memory.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/program/kernel.h"
#include "runtime/emulator/ptx/module.h"

namespace tilewright::rt::emulator {

/// A module of PTX that is ready to run, together with the memory of its variables.
class LoadedModule {
 public:
  /// Parses and decodes. Throws Error at `name`:line for bad syntax, unknown instructions and undefined functions.
  static std::shared_ptr<LoadedModule> load(std::string_view text, const std::string& name = "<ptx>");

  const Module& module() const { return module_; }
  /// The kernel with this name, or null.
  const Kernel* kernel(std::string_view name) const;
  const std::vector<std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  struct Placed {
    u64 address = 0, bytes = 0;
  };
  /// A variable of the space global or const; its address is 0 if there is none.
  Placed variable(std::string_view name) const;
  const std::map<std::string, Placed, std::less<>>& variables() const { return placed_; }

 private:
  void place_variables();

  Module module_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, Placed, std::less<>> placed_;
  struct Deleter {
    void operator()(std::byte* bytes) const;
  };
  std::vector<std::unique_ptr<std::byte[], Deleter>> storage_;
};

}  // namespace tilewright::rt::emulator
