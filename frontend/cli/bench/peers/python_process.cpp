// Starts the interpreter with a socket for requests and answers.
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>

#include "frontend/cli/bench/peers/python_peer.h"
#include "frontend/cli/execution/interruption.h"

namespace tilewright::cli::bench {

namespace {

constexpr int kAnswerSeconds = 120;

/// The last line of a file that is not empty. In a traceback it is the exception.
std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

[[noreturn]] void become_interpreter(const std::string& interpreter, const std::string& script, int socket, const std::string& errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);  // Ctrl-C goes only to the parent, which ends this process
  const int log = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  if (log >= 0) dup2(log, STDERR_FILENO);
  execlp(interpreter.c_str(), interpreter.c_str(), "-u", script.c_str(), static_cast<char*>(nullptr));
  fmt::print(stderr, "cannot start '{}': {}\n", interpreter, std::strerror(errno));
  _exit(127);
}

}  // namespace

PythonProcess::PythonProcess(const std::string& interpreter, const std::string& folder, const std::string& name, std::string_view script)
    : name_(name), errors_(folder + "/" + name + ".errors") {
  const std::string path = folder + "/" + name + "_peer.py";
  std::ofstream(path, std::ios::binary) << script;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Unavailable(fmt::format("no socket for it: {}", std::strerror(errno)));
  process_ = fork();
  if (process_ == 0) become_interpreter(interpreter.empty() ? "python3" : interpreter, path, ends[1], errors_);
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) give_up(fmt::format("no process for it: {}", std::strerror(errno)));
}

PythonProcess::~PythonProcess() {
  if (socket_ >= 0) close(socket_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
}

void PythonProcess::give_up(const std::string& why) {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  process_ = -1;
  const std::string error = last_line(errors_);
  ended_ = error.empty() ? why : fmt::format("{}: {}", why, error);
  throw Unavailable(ended_);
}

std::string PythonProcess::read_line() {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (const auto end = unread_.find('\n'); end != unread_.npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (Interruption::flag()) give_up("interrupted");
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(kAnswerSeconds))
      give_up(fmt::format("its process does not answer within {} s", kAnswerSeconds));
    pollfd wait{socket_, POLLIN, 0};
    if (poll(&wait, 1, 100) <= 0) continue;  // a signal also ends the wait
    std::array<char, 4096> block{};
    const ssize_t n = read(socket_, block.data(), block.size());
    if (n <= 0) give_up("its process ended");
    unread_.append(block.data(), static_cast<std::size_t>(n));
  }
}

std::string PythonProcess::ask(const std::string& request) {
  if (process_ < 0) throw Unavailable(ended_);
  const std::string line = request + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0 && errno != EINTR) give_up("its process ended");
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  for (;;) {
    const std::string answer = read_line();
    if (answer == "@ok") return "";
    if (answer.starts_with("@ok ")) return answer.substr(4);
    if (answer.starts_with("@no ")) throw Unavailable(answer.substr(4));
    // Output of libraries is not an answer.
  }
}

}  // namespace tilewright::cli::bench
