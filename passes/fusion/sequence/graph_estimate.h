// The time that the kernels of a graph take, by the estimates with which a cover chooses them.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::passes::fusion {

struct GraphEstimate {
  double seconds = 0;                                 // the seconds if symbols have typical values
  double seconds_if_small = 0, seconds_if_large = 0;  // the seconds if they have their least values, and kLargeExtent
  std::vector<double> kernels;                        // the seconds of each kernel of a run

  GraphEstimate& operator+=(const GraphEstimate& e) {
    seconds += e.seconds, seconds_if_small += e.seconds_if_small, seconds_if_large += e.seconds_if_large;
    kernels.insert(kernels.end(), e.kernels.begin(), e.kernels.end());
    return *this;
  }
};

/// The result of a derivation without emission, in place of a sequence of kernels.
struct EstimatedFormulas {
  /// The formulas of all kernels so far, as a text; none if one of them has no key (formula_key.h).
  std::optional<std::string> formulas = std::string();
  GraphEstimate estimate = {};
  /// The estimates of formulas, by formula_key, to which new ones are added. Null: formulas are not divided into kernels and estimated.
  std::map<std::string, GraphEstimate>* known = nullptr;
};

}  // namespace tilewright::passes::fusion
