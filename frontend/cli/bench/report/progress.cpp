// Draws the progress bar.
#include "frontend/cli/bench/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tilewright::cli::bench {

namespace {

constexpr int kBarWidth = 24;

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(std::size_t total) : total_(total), is_terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(std::size_t done, double share, const std::string& what) {
  if (!is_terminal_ || total_ == 0) return;
  const double part = std::min(1.0, (static_cast<double>(done) + share) / static_cast<double>(total_));
  const int full = static_cast<int>(part * kBarWidth);
  // The line is ASCII only, so cutting it to the width of the terminal does not cut a character in two.
  std::string line = fmt::format("[{:#<{}}{:.<{}}] {}/{}  {}", "", full, "", kBarWidth - full, done, total_, what);
  line.resize(std::min(line.size(), terminal_width() - 1));
  fmt::print(stderr, "\r\x1b[2K{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[2K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tilewright::cli::bench
