// Measures candidates on a device, reports each of them, and keeps the fastest in the wisdom file: for tuners, and for graphs that are equal.
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frontend/tuning/search.h"
#include "runtime/device.h"
#include "tilewright/tuner.h"

namespace tilewright::tuning {

/// The right to measure, which one thread of this process has at a time, because searches would disturb each other. Waits for it.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  /// Whether this thread has it: what runs is itself measured.
  static bool is_own();

 private:
  const std::lock_guard<std::mutex> lock_;
};

/// The sink of set_tuning_progress().
void set_progress_sink(std::function<void(const TuningProgress&)>);

/// What is measured. The texts are for reports and for the key of the wisdom file.
struct Candidates {
  std::string kernel, problem;
  std::vector<std::string> configurations;
  std::function<void(std::size_t)> prepare;  // before each launch that is measured
  std::function<void(std::size_t)> launch;
  std::vector<double> predicted = {};  // microseconds of each candidate, if a model predicts them
};

/// One search. Requires: this thread has its turn.
class Measurement {
 public:
  Measurement(Candidates, rt::Device&, rt::Stream&);
  /// Samples launches with the events of the stream, or by the estimate of an emulated device. None if no candidate could be launched.
  /// Throws what launches throw.
  std::optional<SearchResult> run(double budget_ms, std::int64_t max_measured);
  /// Reports that this candidate was chosen, and writes it with its time into the wisdom file as `configuration`.
  void keep(const SearchResult&, std::size_t chosen, const std::string& configuration);

 private:
  double sample(std::size_t);
  void report_step(const SearchStep&);

  const Candidates candidates_;
  rt::Device& device_;
  rt::Stream& stream_;
  const bool is_emulated_;
  TuningProgress progress_;
};

}  // namespace tilewright::tuning
