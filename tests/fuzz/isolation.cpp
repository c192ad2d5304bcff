// fork, a pipe for the text, and waitpid.
#include "tests/fuzz/isolation.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace tilewright::fuzz {

std::optional<std::string> isolated(const std::function<std::optional<std::string>()>& check, unsigned seconds) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);  // what a check of the compiler says of itself is the message
    alarm(seconds);
    const std::optional<std::string> found = check();
    if (found) {
      const ssize_t written = write(ends[1], found->data(), found->size());
      static_cast<void>(written);  // the exit status says enough if the text is cut short
    }
    _exit(found ? 1 : 0);  // without running destructors that belong to the parent
  }
  close(ends[1]);
  std::string message;
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;) message.append(buffer.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return "it did not end in time";
    const std::string first = message.substr(0, message.find('\n'));
    return std::string("it was ended by a signal: ") + strsignal(signal) + (first.empty() ? "" : ": " + first);
  }
  if (WEXITSTATUS(status) == 0) return std::nullopt;
  return message.empty() ? "it failed without a message" : message;
}

}  // namespace tilewright::fuzz
