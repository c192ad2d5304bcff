// A line at the bottom of a terminal that says how far a measurement is.
#pragma once
#include <cstddef>
#include <string>

namespace tilewright::cli::bench {

/// Draws on standard error if that is a terminal, and else does nothing. No library: Debian 12 packages none for C++ that is more than
/// these few lines.
class Progress {
 public:
  explicit Progress(std::size_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total, and `share` of the next.
  void show(std::size_t done, double share, const std::string& what);
  /// Takes the line away, before other output.
  void clear();

 private:
  const std::size_t total_;
  const bool is_terminal_;
  bool shown_ = false;
};

}  // namespace tilewright::cli::bench
