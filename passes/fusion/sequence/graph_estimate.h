// How long the kernels of a graph take, by the estimates with which a cover chooses them.
#pragma once
#include <cstddef>

namespace tilewright::passes::fusion {

struct GraphEstimate {
  double seconds = 0;                                 // where symbols have typical values
  double seconds_if_small = 0, seconds_if_large = 0;  // where they have their least values, and kLargeExtent
  std::size_t kernels = 0;                            // kernels of a run

  GraphEstimate& operator+=(const GraphEstimate& e) {
    seconds += e.seconds, seconds_if_small += e.seconds_if_small, seconds_if_large += e.seconds_if_large, kernels += e.kernels;
    return *this;
  }
};

}  // namespace tilewright::passes::fusion
