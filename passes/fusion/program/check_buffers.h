// Checks that the kernels of a program fit together, and collects what proofs of its parts say.
#pragma once
#include "passes/fusion/program/program.h"

namespace tilewright::passes::fusion {

/// What a kernel reads is given, or was written by a kernel before it, and each output is written. Throws CompilerBug.
void check_buffers(const Program&);

/// Adds the proof of a kernel, or of a segment, to the program's.
void add_proof(ProgramProof&, const ProofResult&);
/// Notes what no proof covers, once.
void leave_open(ProgramProof&, const std::string& what);

}  // namespace tilewright::passes::fusion
