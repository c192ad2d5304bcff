// The exceptions of a step of a derivation that cannot go on.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "tileir/rational.h"

namespace tilewright::passes::fusion {

/// The base of what steps throw to give up one plan of a value. Callers that know another plan catch it. build_sequence() catches all others,
/// and derives the segment as it is written, else node by node, so no such exception leaves a compilation.
struct DerivationFailed : std::exception {
  explicit DerivationFailed(std::string why) : reason(std::move(why)) {}
  const char* what() const noexcept override { return reason.c_str(); }

  std::string reason;  // completes a sentence that ends in "because"
};

/// Runs steps that compute with exact fractions. If a fraction leaves the range and no step catches that, the derivation has failed.
template <class Steps>
auto within_fractions(Steps&& steps) {
  try {
    return steps();
  } catch (const ir::RationalOverflow&) {
    throw DerivationFailed("a coefficient leaves the range of exact fractions");
  }
}

}  // namespace tilewright::passes::fusion
