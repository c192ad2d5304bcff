// What a step of a derivation throws if it cannot go on.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "tileir/rational.h"

namespace tilewright::passes::fusion {

/// The base of all that steps throw to give up one plan of a value. It is caught where another plan is known; what is left,
/// build_sequence() catches: a segment is then derived node by node. So none of them leaves a compilation.
struct DerivationFailed : std::exception {
  explicit DerivationFailed(std::string why) : reason(std::move(why)) {}
  const char* what() const noexcept override { return reason.c_str(); }

  std::string reason;  // completes a sentence that ends in "because"
};

/// Runs steps that compute with exact fractions: one that leaves their range where no step has an alternative is a derivation that failed.
template <class Steps>
auto within_fractions(Steps&& steps) {
  try {
    return steps();
  } catch (const ir::RationalOverflow&) {
    throw DerivationFailed("a coefficient leaves the range of exact fractions");
  }
}

}  // namespace tilewright::passes::fusion
