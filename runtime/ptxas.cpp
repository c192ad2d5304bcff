// Runs ptxas as a process, with temporary files for input and output.
#include "runtime/ptxas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "runtime/environment.h"
#include "runtime/log.h"
#include "tilewright/error.h"

extern char** environ;

namespace tilewright::rt {

namespace fs = std::filesystem;

namespace {

bool can_run(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

/// A temporary folder, which the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "tilewright-ptxas-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error({}, fmt::format("cannot make the folder '{}': {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs a program and returns its exit code; standard output and standard error go to `log`.
int run(const std::string& program, std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed) throw Error({}, fmt::format("cannot run '{}': {}", program, std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error({}, fmt::format("cannot wait for '{}': {}", program, std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::optional<std::string> find_ptxas() {
  if (const std::string named = environment_ptxas(); !named.empty()) return can_run(named) ? std::optional(named) : std::nullopt;
  const std::string path = environment_path() + ":/usr/local/cuda/bin";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (std::string file = path.substr(begin, end - begin) + "/ptxas"; end > begin && can_run(file)) return file;
    begin = end + 1;
  }
  return std::nullopt;
}

std::string why_no_ptxas() {
  if (const std::string named = environment_ptxas(); !named.empty())
    return fmt::format("TILEWRIGHT_PTXAS is '{}', which is not a program that can be run", named);
  return "there is no ptxas on PATH or in /usr/local/cuda/bin; it comes with the CUDA toolkit, and TILEWRIGHT_PTXAS can name it";
}

Assembled assemble(const std::string& ptxas, const std::string& ptx, const std::string& target) {
  const TemporaryFolder folder;
  const std::string in = folder.file("kernel.ptx"), out = folder.file("kernel.cubin"), log = folder.file("log");
  std::ofstream(in, std::ios::binary) << ptx;
  // Facts of the device may follow the name of its chip.
  const std::string chip = target.substr(0, target.find('+'));
  const int code = run(ptxas, {"-v", "--generate-line-info", "--gpu-name=" + chip, in, "-o", out}, log);
  const std::string said = contents(log);
  if (code != 0) throw Error({}, fmt::format("'{}' ended with code {}:\n{}", ptxas, code, said));
  return {contents(out), read_assembler_log(said)};
}

std::optional<AssembledKernel> assembled_kernel(const std::string& ptx, const std::string& target) {
  const std::optional<std::string> ptxas = find_ptxas();
  if (!ptxas) return std::nullopt;
  try {
    Assembled assembled = assemble(*ptxas, ptx, target);
    if (assembled.kernels.size() == 1) return std::move(assembled.kernels[0]);
  } catch (const Error& e) {
    log(LogLevel::warning, fmt::format("registers and spills are not known: {}", e.what()));
  }
  return std::nullopt;
}

backend::Resources measured_resources(const std::string& ptx, const std::string& target, backend::Resources known) {
  if (const auto kernel = assembled_kernel(ptx, target)) {
    known.registers = kernel->registers;
    known.spill_bytes = kernel->spill_store_bytes;
  }
  return known;
}

}  // namespace tilewright::rt
