// The checks of options and the compilation with its dumps, for every launch and compilation of a kernel, from C++ and from text.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "backend/compile.h"
#include "tileir/ir.h"
#include "tilewright/here.h"
#include "tilewright/launch.h"

namespace tilewright::detail {

/// A request to launch or compile a kernel, with the user's line.
struct Request {
  const char* what;  // "launch", "compile"
  const std::string& kernel;
  const Here& at;
  [[noreturn]] void refuse(const std::string& message) const;
};

/// The grid with all three extents. Throws Error unless it has 1 to 3 positive extents, at most rt::kMostPrograms, which is the same on
/// every device.
std::array<std::int32_t, 3> checked_grid(const Request&, const Grid&);

/// The compile options of a launch without the target, which the caller sets. Throws Error for values that no target accepts.
backend::CompileOptions checked_options(const Request&, const Launch&);

/// The purpose of a compilation: code to load, which may come from the disk cache; newly compiled code with its timings; or only the texts,
/// without an object file for the cpu.
enum class Output { code, fresh_code, text };

/// Compiles a function. If TILEWRIGHT_DUMP is set, writes the stages into its folder NAME-HASH and does not use the disk cache. If the
/// target cannot do something at all, it is an Error at the line of the request.
backend::CompiledKernel compile_function(const Request&, ir::Function, const backend::CompileOptions&, Output, std::uint64_t hash);

/// Throws Error unless the name is a C identifier, because it becomes a symbol and the name of a folder.
std::string symbol_name(const std::string& name);

}  // namespace tilewright::detail
