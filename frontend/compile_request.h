// What every launch and compilation of a kernel shares, be it C++ or text: the checks of its options, and the compilation with its dumps.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "backend/compile.h"
#include "tileir/ir.h"
#include "tilewright/here.h"
#include "tilewright/launch.h"

namespace tilewright::detail {

/// What was asked of which kernel, and where.
struct Request {
  const char* what;  // "launch", "compile"
  const std::string& kernel;
  const Here& at;
  [[noreturn]] void refuse(const std::string& message) const;
};

/// The grid with all three extents. Refuses one that is not 1 to 3 positive extents, or larger than rt::kMostPrograms: every device has one
/// rule.
std::array<std::int32_t, 3> checked_grid(const Request&, const Grid&);

/// What the launch changes of the compilation; the target is left to the caller. Refuses what no target takes.
backend::CompileOptions checked_options(const Request&, const Launch&);

/// Compiles, leaving the stages under TILEWRIGHT_DUMP in a folder named by the kernel and `hash`. With `keep_text`, for its text alone: a
/// host's object is left out. What the target as a whole cannot do is told as a refusal of the request.
backend::CompiledKernel compile_function(const Request&, ir::Function, const backend::CompileOptions&, bool keep_text, std::uint64_t hash);

/// A C identifier, since a kernel's name becomes a symbol and the name of a folder.
std::string symbol_name(const std::string& name);

}  // namespace tilewright::detail
