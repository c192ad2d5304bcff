// Random well-typed programs whose every access is in bounds and whose programs of one grid write disjoint memory.
#pragma once
#include <cstdint>

#include "tests/fuzz/generator_options.h"
#include "tests/fuzz/program.h"

namespace tilewright::fuzz {

/// The program of a seed: the same on every machine. It verifies, its results do not depend on the bits of NaNs, and its element-wise
/// ops are drawn from the op table by asking the type rules, so an op added there is fuzzed at once.
Program generate(std::uint64_t seed, const GeneratorOptions& = {});

}  // namespace tilewright::fuzz
