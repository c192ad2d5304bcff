// Passes under test: the interpreter runs a program before and after them.
#pragma once
#include <cstddef>
#include <string>

#include "tests/fuzz/differential.h"
#include "tileir/target_desc.h"

namespace tilewright::fuzz {

/// Replaces what passes may round otherwise: elementary functions by arithmetic, as expand_math does, and f32 quotients by exact ones.
/// Every pass must keep each bit of what is left.
void fix_rounding(Program&, const ir::TargetDesc&);

/// The interpreter after the first `count` passes of the target's pipeline, without contraction, each verified.
RewritingExecutor after_passes(const ir::TargetDesc&, std::size_t count);
std::size_t pass_count(const ir::TargetDesc&);

/// How many passes of the pipeline it takes until the program gives something else; 0 if it never does.
std::size_t first_wrong_prefix(const Program&, const ir::TargetDesc&);
/// "licm (pass 5)".
std::string pass_name(const ir::TargetDesc&, std::size_t prefix);

}  // namespace tilewright::fuzz
