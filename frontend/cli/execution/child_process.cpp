// Uses fork, a pipe for the returned text, files for standard output and error, and waitpid.
#include "frontend/cli/execution/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontend/cli/files/errors.h"

namespace tilewright::cli {

namespace fs = std::filesystem;

namespace {

void redirect(int descriptor, const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) dup2(file, descriptor);
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n <= 0) return;  // the reader notices the truncation
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

ChildProcesses::ChildProcesses() {
  std::string path = (fs::temp_directory_path() / "tilewright-reduce-XXXXXX").string();
  if (!mkdtemp(path.data())) throw Failure(fmt::format("cannot make the folder '{}': {}", path, std::strerror(errno)));
  folder_ = path;
}

ChildProcesses::~ChildProcesses() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

ChildResult ChildProcesses::run(const std::function<std::string()>& check, unsigned seconds) const {
  const std::string errors = folder_ + "/errors";
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw Failure(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) {
    close(ends[0]);
    redirect(STDOUT_FILENO, "/dev/null");
    redirect(STDERR_FILENO, errors.c_str());
    setenv("TMPDIR", folder_.c_str(), 1);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(seconds);
    try {
      write_all(ends[1], check());
    } catch (const std::exception& e) {
      write_all(STDERR_FILENO, e.what());
      std::abort();
    }
    _exit(0);  // does not run destructors of objects that belong to the parent
  }
  close(ends[1]);
  ChildResult result;
  std::array<char, 4096> block{};
  for (ssize_t n; (n = read(ends[0], block.data(), block.size())) > 0;) result.text.append(block.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  std::ifstream in(errors, std::ios::binary);
  result.errors.assign(std::istreambuf_iterator<char>(in), {});
  return result;
}

}  // namespace tilewright::cli
