// The compilation with its dumps and the disk cache, for every kernel of a launch or a plan, from C++ and from text.
#pragma once
#include <cstdint>
#include <string>

#include "backend/compile.h"
#include "tileir/ir.h"
#include "tilewright/here.h"

namespace tilewright::detail {

/// A request to launch or compile a kernel, with the user's line.
struct Request {
  const char* what;  // "launch", "compile"
  const std::string& kernel;
  const Here& at;
  [[noreturn]] void refuse(const std::string& message) const;
};

/// The purpose of a compilation: code to load, which may come from the disk cache; newly compiled code with its timings; or only the texts,
/// without an object file for the cpu.
enum class Output { code, fresh_code, text };

/// Compiles a function. If TILEWRIGHT_DUMP is set, writes the stages into its folder NAME-HASH and does not use the disk cache. If the
/// target cannot do something at all, it is an Error at the line of the request.
backend::CompiledKernel compile_function(const Request&, ir::Function, const backend::CompileOptions&, Output, std::uint64_t hash);
/// Compiles without the remarks in the log, for compilations on several threads, whose remarks are to have an order.
backend::CompiledKernel compile_without_log(const Request&, ir::Function, const backend::CompileOptions&, Output, std::uint64_t hash);
/// Logs the remarks of a compiled kernel.
void log_remarks(const backend::CompiledKernel&);

/// Throws Error unless the name is a C identifier, because it becomes a symbol and the name of a folder.
std::string symbol_name(const std::string& name);

}  // namespace tilewright::detail
