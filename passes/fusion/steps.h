// Counts the steps of a derivation. A budget in steps cuts the same programs on every machine; a budget in seconds would not.
#pragma once
#include <cstdint>

#include "passes/fusion/derivation_failed.h"

namespace tilewright::passes::fusion {

/// Thrown when a derivation has taken more steps than it may.
struct TooManySteps : DerivationFailed {
  TooManySteps() : DerivationFailed("the derivation takes too many steps") {}
};

class Steps {
 public:
  void limit(std::uint64_t most) { most_ = most; }
  void take(std::uint64_t count) {
    taken_ += count;
    if (taken_ > most_) throw TooManySteps();
  }
  std::uint64_t taken() const { return taken_; }

 private:
  std::uint64_t taken_ = 0, most_ = UINT64_MAX;
};

}  // namespace tilewright::passes::fusion
