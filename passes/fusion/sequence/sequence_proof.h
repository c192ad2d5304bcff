// The proof of a sequence: what the checks of its kernels and segments found, together.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/sequence/formulas.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// Adds the proof of a kernel, or of a segment, to that of the sequence.
void add_proof(SequenceProof&, const ProofResult&);
/// Notes, once, something that no proof covers.
void leave_open(SequenceProof&, const std::string& what);
/// Writes the text of the sequence's proof, when all checks have run.
void finish_proof(SequenceContext&);

/// Checks one plan with the exact check, and adds the time that this takes to the times of the sequence.
ProofResult check_exactly(SequenceContext&, const ExprBuilder&, const LoopPlan&);
/// Compares the values that these kernels write with the graph. Throws PlanRefuted.
void check_results(SequenceContext&, const Formulas&, const std::vector<const LoopPlan*>& plans);

}  // namespace tilewright::passes::fusion
