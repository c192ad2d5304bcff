// Tunes a case before it is measured, and compares the search's choice with the model's first choice.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

/// The result of one search; one function of the library may make several.
struct Tuned {
  std::string kernel;         // "kernels::matmul"
  std::string chosen, model;  // configurations as texts of the tuner: "64,128,32,4,2,8,1"
  double microseconds = 0;    // time of the chosen configuration
  std::size_t measured = 0, candidates = 0;
};

/// "bm 64, bn 128": the members that may differ between configurations.
std::string configuration_text(const std::string& configuration);
/// {"bm": 64, "bn": 128, ...}
std::string configuration_json(const std::string& configuration);

/// Measures the configurations of the library's kernel for a case, even if they were measured before, and writes the wisdom file. Calls
/// progress(share, what) meanwhile; an exception from it ends the search. Returns nothing for a kernel with only one configuration.
std::vector<Tuned> tune(const Setting&, const Case&, const std::function<void(double, const std::string&)>& progress);

}  // namespace tilewright::cli::bench
