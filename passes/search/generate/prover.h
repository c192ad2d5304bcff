// Proves equations between labelled terms from rules, and checks proofs.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "passes/search/generate/explanation.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

using ProverLimits = SaturationLimits;

/// Whether the rules entail that two terms are equal: both are put into an e-graph, and all rules are applied to all classes in both
/// directions, round by round, until the terms are in one class, nothing changes, or a limit is met.
bool is_entailed(const TermTable&, const Ref& left, const Ref& right, std::span<const Rule>, const ProverLimits& = {});

/// A search for a proof: how it ended, and after how many rounds with how many nodes in the e-graph.
struct ProofSearch {
  std::optional<Proof> proof;
  Saturation::Outcome outcome{};
  int rounds = 0;
  std::size_t nodes = 0;
};

/// The proof that the terms are equal, if there is one. Its steps are not checked.
ProofSearch prove(const TermTable&, const Ref& left, const Ref& right, std::span<const Rule>, const ProverLimits& = {});
/// What was tried: "29 laws reach nothing new after 4 rounds, with 120 nodes".
std::string text(const ProofSearch&, std::size_t laws);

/// Replays a proof without an e-graph: at each step, a subterm of one of the two terms is an instance of a side of the rule, and with the
/// other side put there it is the other term; and the values of both are equal. Returns the number of the first step that is wrong.
std::optional<std::size_t> wrong_step(const Proof&, const Ref& end, std::span<const Rule>);

/// One line a step, with the rule's name.
std::string text(const Proof&, std::span<const Rule>);

}  // namespace tilewright::passes::search
