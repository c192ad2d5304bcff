// A line at the bottom of a terminal that shows the progress of a measurement.
#pragma once
#include <cstddef>
#include <string>

namespace tilewright::cli::bench {

/// Draws on standard error if that is a terminal, and otherwise does nothing. Debian 12 has no package of a C++ library for this beyond
/// these few lines.
class Progress {
 public:
  explicit Progress(std::size_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` cases of the total are complete, and `share` of the next one.
  void show(std::size_t done, double share, const std::string& what);
  /// Removes the line, before other output.
  void clear();

 private:
  const std::size_t total_;
  const bool is_terminal_;
  bool shown_ = false;
};

}  // namespace tilewright::cli::bench
