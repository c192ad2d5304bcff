// Checks that the kernels of a sequence fit together, and collects the proofs of its parts.
#pragma once
#include "passes/fusion/check/field_check.h"
#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::passes::fusion {

/// Checks that every buffer is given or written before a kernel reads it, and that every output is written. Throws CompilerBug.
void check_buffers(const KernelSequence&);

/// Adds the proof of a kernel, or of a segment, to that of the sequence.
void add_proof(SequenceProof&, const ProofResult&);
/// Notes, once, something that no proof covers.
void leave_open(SequenceProof&, const std::string& what);

}  // namespace tilewright::passes::fusion
