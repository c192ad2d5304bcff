// Compiles with the disk cache or with dumps.
#include "runtime/compile_request.h"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "backend/compilation_key.h"
#include "runtime/disk_cache/code_cache.h"
#include "runtime/dump.h"
#include "runtime/environment.h"
#include "runtime/log.h"
#include "runtime/wisdom/wisdom.h"

namespace tilewright::detail {

void Request::refuse(const std::string& message) const {
  throw Error(location_of(at), fmt::format("{} of '{}': {}", what, kernel, message));
}

namespace {

using Compile = std::function<backend::CompiledKernel(ir::Function)>;

/// Takes the kernel from the disk cache, or compiles it and stores it there.
backend::CompiledKernel compile_cached(ir::Function function, const backend::CompileOptions& options, const Compile& compile) {
  const std::shared_ptr<rt::DiskCache> cache = rt::code_cache();
  if (!cache) return compile(std::move(function));
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::byte> key = backend::compilation_key(function, options);
  if (key.empty()) {
    rt::log(LogLevel::info, "disk cache: not used, since the program was linked without --build-id and cannot be told from other builds");
    return compile(std::move(function));
  }
  if (auto kernel = rt::load_kernel(*cache, key)) {
    kernel->timings = {{"disk cache", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()}};
    return *std::move(kernel);
  }
  backend::CompiledKernel compiled = compile(std::move(function));
  rt::store_kernel(*cache, key, compiled);
  return compiled;
}

}  // namespace

backend::CompiledKernel compile_function(const Request& request, ir::Function function, const backend::CompileOptions& options,
                                         Output output, std::uint64_t hash) {
  backend::CompiledKernel compiled = compile_without_log(request, std::move(function), options, output, hash);
  log_remarks(compiled);
  return compiled;
}

void log_remarks(const backend::CompiledKernel& kernel) {
  for (const std::string& remark : kernel.remarks)
    rt::log(LogLevel::warning, fmt::format("kernel '{}' for {}: {}", kernel.name, kernel.target, remark));
}

backend::CompiledKernel compile_without_log(const Request& request, ir::Function function, const backend::CompileOptions& options,
                                            Output output, std::uint64_t hash) {
  const bool is_text = output == Output::text;
  backend::CompileHooks hooks{.keep_text = is_text, .dump = {}, .text_only = is_text};
  std::optional<DumpFolder> folder;
  if (const std::string dir = rt::environment_dump(); !dir.empty()) {
    folder.emplace(dir, symbol_name(function.name), hash, location_of(request.at));
    hooks.dump = [&](const std::string& stage, const std::string& text) { folder->write(stage, text); };
  }
  const Compile compile = [&](ir::Function f) {
    if (rt::is_sealed()) request.refuse("this kernel would be compiled now, but tw::seal() was called, after which nothing is compiled");
    return backend::compile(std::move(f), options, hooks);
  };
  try {
    return output == Output::code && !hooks.dump ? compile_cached(std::move(function), options, compile) : compile(std::move(function));
  } catch (const Error& e) {
    if (e.where().line != 0) throw;
    // An error without a line, because the target cannot do something at all, gets the line of the request.
    const std::string_view text = e.what();
    const auto message = text.find(": error: ");
    request.refuse(std::string(text.substr(message == text.npos ? 0 : message + 9)));
  }
}

std::string symbol_name(const std::string& name) {
  std::string symbol;
  for (const char c : name) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (symbol.empty() || std::isdigit(static_cast<unsigned char>(symbol[0]))) symbol.insert(symbol.begin(), 'k');
  return symbol;
}

}  // namespace tilewright::detail
