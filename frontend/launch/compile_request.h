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

/// The grid with all three extents. Throws Error unless it has 1 to 3 positive extents, at most rt::kMostPrograms, the same on every
/// device.
std::array<std::int32_t, 3> checked_grid(const Request&, const Grid&);

/// The compile options of a launch, but for the target, which the caller sets. Throws Error for values that no target accepts.
backend::CompileOptions checked_options(const Request&, const Launch&);

/// What a compilation is for: code that is loaded, which may come from the disk cache; code of a compilation of now, with its timings; or
/// only the texts, without a host's object.
enum class Output { code, fresh_code, text };

/// Compiles, and writes the stages into the folder NAME-HASH of TILEWRIGHT_DUMP, which leaves out the disk cache. What the target cannot do
/// at all is an Error at the line of the request.
backend::CompiledKernel compile_function(const Request&, ir::Function, const backend::CompileOptions&, Output, std::uint64_t hash);

/// Throws Error unless the name is a C identifier: it becomes a symbol and the name of a folder.
std::string symbol_name(const std::string& name);

}  // namespace tilewright::detail
