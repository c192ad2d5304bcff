// Reads and writes the files of a command line.
#include "frontend/cli/files/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "frontend/cli/files/errors.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/text/parser.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {
struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using OpenFile = std::unique_ptr<std::FILE, Close>;

bool write_to(std::FILE* f, std::string_view contents) {
  return std::fwrite(contents.data(), 1, contents.size(), f) == contents.size() && std::fflush(f) == 0;
}

/// A new file gets its name only when it is complete: a program that is ended before leaves no incomplete file. Returns false, with errno,
/// if writing fails. Throws UsageError if the file cannot be created.
bool write_file(const std::string& path, std::string_view contents) {
  std::error_code ignored;
  // Whatever exists is written in place: devices, pipes and links keep their kind, files their owner and permissions.
  const bool is_new = !std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
  const std::string made = is_new ? path + ".part" : path;
  OpenFile f(std::fopen(made.c_str(), "wb"));
  if (!f) throw UsageError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  const bool good = write_to(f.get(), contents) && (!is_new || std::rename(made.c_str(), path.c_str()) == 0);
  const int error = errno;
  if (!good && is_new) std::filesystem::remove(made, ignored);
  errno = error;
  return good;
}

std::string read_all(std::FILE* f, const std::string& shown) {
  std::string contents;
  char block[1 << 16];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, f)) > 0;) contents.append(block, n);
  if (std::ferror(f)) throw Failure(fmt::format("cannot read {}: {}", shown, std::strerror(errno)));
  return contents;
}
}  // namespace

std::string Files::read(const std::string& path) {
  if (path == "-") {
    if (stdin_taken_) throw UsageError("standard input '-' is read twice; it can be only one of the inputs");
    stdin_taken_ = true;
    return read_all(stdin, "standard input");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError(fmt::format("cannot read '{}': it is a directory", path));
  const OpenFile f(std::fopen(path.c_str(), "rb"));
  if (!f) throw UsageError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return read_all(f.get(), fmt::format("'{}'", path));
}

void Files::write(const std::string& path, std::string_view contents) {
  const bool to_stdout = path == "-";
  if (to_stdout && std::exchange(stdout_taken_, true))
    throw UsageError("standard output '-' is written twice; it can be only one of the outputs");
  if (to_stdout ? write_to(stdout, contents) : write_file(path, contents)) return;
  throw Failure(fmt::format("cannot write {}: {}", to_stdout ? "standard output" : "'" + path + "'", std::strerror(errno)));
}

ir::Module Files::read_tile(const std::string& path) {
  if (path.ends_with(".ptx")) throw Failure(fmt::format("'{}' is PTX, which only run takes", path));
  const std::string name = path == "-" ? "<stdin>" : path;
  const std::string& text = sources_[name] = read(path);
  ir::Module module = ir::parse(text, name);
  if (module.functions.empty()) throw Failure(fmt::format("'{}' holds no kernel", name));
  return module;
}

graph::Graph Files::read_graph(const std::string& path) {
  const std::string name = path == "-" ? "<stdin>" : path;
  const std::string& text = sources_[name] = read(path);
  graph::Graph g = graph::parse(text, name);
  if (g.outputs().empty()) throw Failure(fmt::format("'{}' has no output", name));
  return g;
}

std::string_view Files::source(const std::string& name) const {
  const auto it = sources_.find(name);
  return it == sources_.end() ? std::string_view() : std::string_view(it->second);
}

const ir::Function& choose_kernel(const ir::Module& module, const std::string& name) {
  if (name.empty() && module.functions.size() == 1) return module.functions[0];
  std::string all;
  for (const ir::Function& f : module.functions) {
    if (f.name == name) return f;
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", f.name);
  }
  if (name.empty()) throw UsageError(fmt::format("the file holds {} kernels; name one with --kernel: {}", module.functions.size(), all));
  const auto spell = [](const ir::Function& f) -> std::string_view { return f.name; };
  throw UsageError(fmt::format("there is no kernel '{}'{}; the file holds {}", name, ir::suggestion(name, module.functions, spell), all));
}

}  // namespace tilewright::cli
