// Checks that the kernels of a program fit together, and collects the proofs of its parts.
#pragma once
#include "passes/fusion/check/field_check.h"
#include "passes/fusion/program/program.h"

namespace tilewright::passes::fusion {

/// Checks that every buffer is given or written before a kernel reads it, and that every output is written. Throws CompilerBug.
void check_buffers(const Program&);

/// Adds the proof of a kernel, or of a segment, to the program's.
void add_proof(ProgramProof&, const ProofResult&);
/// Notes, once, something that no proof covers.
void leave_open(ProgramProof&, const std::string& what);

}  // namespace tilewright::passes::fusion
