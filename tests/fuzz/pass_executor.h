// Tests passes: the interpreter runs a program before and after them.
#pragma once
#include <cstddef>
#include <string>

#include "tests/fuzz/differential.h"
#include "tileir/target/target_desc.h"

namespace tilewright::fuzz {

/// Replaces ops that passes and targets may round differently: elementary functions by arithmetic, as expand_math does for processors, and
/// f32 quotients by exact ones. Passes must keep each bit of the result, except for exact_passes().
void fix_rounding(Program&, const ir::TargetDesc&);

/// The interpreter after the first `count` passes of the target's pipeline, without contraction, each verified.
RewritingExecutor after_passes(const ir::TargetDesc&, std::size_t count);
/// How many passes of the pipeline must keep each bit: all, or those before the first one that adds floats of the program in another order.
std::size_t exact_passes(const Program&, const ir::TargetDesc&);

/// How many of these passes it takes until the program gives something else; 0 if it never does.
std::size_t first_wrong_prefix(const Program&, const ir::TargetDesc&);
/// "licm (pass 5)".
std::string pass_name(const ir::TargetDesc&, std::size_t prefix);

}  // namespace tilewright::fuzz
