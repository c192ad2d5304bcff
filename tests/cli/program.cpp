// fork and exec with files for the three streams.
#include "tests/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tilewright::test {

namespace fs = std::filesystem;

namespace {
std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// True if the child is `tilewright`, no copy of this test any more, and has a handler for the signal; also true if it has ended. Source:
/// proc(5), where SigCgt is a mask in hexadecimal digits.
bool handles(pid_t process, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::string word, value;
  while (status >> word) {
    if (word == "Name:" && status >> value && value != fs::path(TW_PROGRAM).filename()) return false;
    if (word == "State:" && status >> value && value == "Z") return true;
    if (word == "SigCgt:" && status >> value) return std::stoull(value, nullptr, 16) >> (signal - 1) & 1;
  }
  throw std::runtime_error("/proc does not say which signals a process handles");
}
}  // namespace

Folder::Folder() {
  std::string path = (fs::temp_directory_path() / "tilewright-cli-XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp failed");
  path_ = path;
}
Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
std::string Folder::write(const std::string& name, const std::string& contents) const {
  std::ofstream(path_ / name, std::ios::binary) << contents;
  return name;
}
std::string Folder::read(const std::string& name) const { return contents(path_ / name); }

Outcome tilewright(const std::vector<std::string>& arguments, const std::string& input, const fs::path& folder,
                   const std::vector<SentSignal>& signals) {
  const Folder streams;
  streams.write("in", input);
  const std::string in = (streams.path() / "in").string(), out = (streams.path() / "out").string(), err = (streams.path() / "err").string();
  std::vector<char*> words{const_cast<char*>("tilewright")};
  for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int files[] = {open(in.c_str(), O_RDONLY), open(out.c_str(), O_WRONLY | O_CREAT, 0600),
                         open(err.c_str(), O_WRONLY | O_CREAT, 0600)};
    for (int i = 0; i < 3; ++i)
      if (dup2(files[i], i) < 0) _exit(125);
    if (chdir(folder.c_str()) != 0) _exit(126);
    execv(TW_PROGRAM, words.data());
    _exit(127);
  }
  if (child > 0 && !signals.empty()) {
    while (!handles(child, SIGINT)) usleep(1000);
    for (const SentSignal& s : signals) {
      usleep(s.after_ms * 1000);
      kill(child, s.number);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("the program could not be started");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out), contents(err)};
}

std::string kernel_text(const std::string& name) { return contents(fs::path(TW_CLI_KERNELS) / (name + ".tile")); }

}  // namespace tilewright::test
