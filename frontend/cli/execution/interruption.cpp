// The handler of SIGINT and SIGTERM, and the flag that it sets.
#include "frontend/cli/execution/interruption.h"

#include <csignal>
#include <cstdio>

namespace tilewright::cli {
namespace {

// The flag is global because a signal handler has no arguments of its own.
std::atomic<bool> interrupted{false};
std::atomic<int> received{SIGINT};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void handle_both(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, handler);
}

void interrupt(int signal) {
  if (!interrupted) received = signal;
  interrupted = true;
  // `timeout` sends SIGTERM twice, to its child and then to the child's group: the second one must not end the program before it has written
  // its files.
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interruption::Interruption() { handle_both(interrupt); }
Interruption::~Interruption() { handle_both(SIG_DFL); }

const std::atomic<bool>& Interruption::flag() { return interrupted; }

void end_if_interrupted() {
  if (!interrupted) return;
  std::fflush(nullptr);
  handle_both(SIG_DFL);
  std::raise(received);
}

}  // namespace tilewright::cli
