// Runs ptxas as a process, with temporary files for input and output.
#include "runtime/ptxas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
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

/// A temporary folder, removed by the destructor.
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

/// The number before `what` in a line of text; 0 if there is none.
int number_before(std::string_view line, std::string_view what) {
  const auto end = line.find(what);
  if (end == line.npos) return 0;
  auto begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int n = 0;
  std::from_chars(line.data() + begin, line.data() + end, n);
  return n;
}

/// A warning or a numbered remark, without the program's name; else nothing:
///   ptxas a.ptx, line 22; warning : .minnctapersm is ignored when neither .maxntid nor .reqntid is specified.
///   ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
std::string_view remark_of(std::string_view line) {
  constexpr std::string_view kInfo = "ptxas info    : (C", kWarning = "warning";
  if (line.starts_with(kInfo)) return line.substr(kInfo.size() - 2);
  const auto at = line.starts_with("ptxas ") ? line.find(kWarning) : line.npos;
  return at == line.npos || line.find(':', at) == line.npos ? std::string_view() : line.substr(at);
}

/// Reads lines of `ptxas -v`:
///   ptxas info    : Compiling entry function 'add' for 'sm_80'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 12 registers, used 1 barriers, 16 bytes smem, 384 bytes cmem[0]
std::vector<AssembledKernel> kernels_of(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<AssembledKernel> kernels;
  std::vector<std::string> remarks;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (const std::string_view remark = remark_of(line); !remark.empty()) {
      remarks.emplace_back(remark);
    } else if (const auto at = line.find(kEntry); at != line.npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      kernels.push_back({.name = std::string(name.substr(0, name.find('\'')))});
    } else if (!kernels.empty() && line.find("bytes stack frame") != line.npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (!kernels.empty() && line.find(" registers") != line.npos) {
      kernels.back().registers = number_before(line, " registers");
      kernels.back().barriers = number_before(line, " barriers");
      kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  for (const std::string& remark : remarks) {
    const bool names_one = remark.find("function '") != remark.npos;
    for (AssembledKernel& k : kernels)
      if (!names_one || remark.find(fmt::format("function '{}'", k.name)) != remark.npos) k.remarks.push_back(remark);
  }
  return kernels;
}

}  // namespace

bool is_performance_fault(std::string_view remark) { return remark.starts_with("(C75") && !remark.starts_with("(C7519)"); }

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
    return fmt::format("TILEWRIGHT_PTXAS is '{}', which is no program that can be run", named);
  return "there is no ptxas on PATH or in /usr/local/cuda/bin; it comes with the CUDA toolkit, and TILEWRIGHT_PTXAS can name it";
}

Assembled assemble(const std::string& ptxas, const std::string& ptx, const std::string& target) {
  const TemporaryFolder folder;
  const std::string in = folder.file("kernel.ptx"), out = folder.file("kernel.cubin"), log = folder.file("log");
  std::ofstream(in, std::ios::binary) << ptx;
  // The facts of a device may follow the name of its chip.
  const std::string chip = target.substr(0, target.find('+'));
  const int code = run(ptxas, {"-v", "--generate-line-info", "--gpu-name=" + chip, in, "-o", out}, log);
  const std::string said = contents(log);
  if (code != 0) throw Error({}, fmt::format("'{}' ended with code {}:\n{}", ptxas, code, said));
  return {contents(out), kernels_of(said)};
}

backend::Resources measured_resources(const std::string& ptx, const std::string& target, backend::Resources known) {
  const std::optional<std::string> ptxas = find_ptxas();
  if (!ptxas) return known;
  try {
    const Assembled assembled = assemble(*ptxas, ptx, target);
    if (assembled.kernels.size() != 1) return known;
    known.registers = assembled.kernels[0].registers;
    known.spill_bytes = assembled.kernels[0].spill_store_bytes;
  } catch (const Error& e) {
    log(LogLevel::warning, fmt::format("registers and spills are not known: {}", e.what()));
  }
  return known;
}

}  // namespace tilewright::rt
