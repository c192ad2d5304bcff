// The handler of SIGINT and its flag.
#include "frontend/cli/interruption.h"

#include <csignal>
#include <cstdio>

namespace tilewright::cli {
namespace {

// Global, since a signal handler has no arguments of its own.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interruption::Interruption() { std::signal(SIGINT, interrupt); }
Interruption::~Interruption() { std::signal(SIGINT, SIG_DFL); }

const std::atomic<bool>& Interruption::flag() { return interrupted; }

void end_if_interrupted() {
  if (!interrupted) return;
  std::fflush(nullptr);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

}  // namespace tilewright::cli
