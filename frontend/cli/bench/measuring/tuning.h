// Tunes a case before it is measured: what the search chose, beside the first choice of the model.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

/// One search: a function of the library may make several.
struct Tuned {
  std::string kernel;         // "kernels::matmul"
  std::string chosen, model;  // configurations as the tuner has them: "64,128,32,4,2,8,1"
  double microseconds = 0;    // of the chosen one
  std::size_t measured = 0, candidates = 0;
};

/// "bm 64, bn 128": the members by which configurations may differ.
std::string configuration_text(const std::string& configuration);
/// {"bm": 64, "bn": 128, ...}
std::string configuration_json(const std::string& configuration);

/// Measures the configurations of our kernel of a case, whether or not they were measured before, and writes the wisdom file. Calls
/// progress(share, what) meanwhile; an exception of it ends the search. None for a kernel with one configuration.
std::vector<Tuned> tune(const Setting&, const Case&, const std::function<void(double, const std::string&)>& progress);

}  // namespace tilewright::cli::bench
