// How exponentials are rounded where exp2 is an instruction: exp(x - b) is exp2(fma(x, log2(e), -(b log2(e)))).
#pragma once

namespace tilewright::passes {

/// Below this magnitude of b, rounding b log2(e) moves an exponent by 8 at most: the factor of a row is between 2^-8 and 2^8, which f16 has
/// and any sum. Beyond it the scale is a power of two, which rounds nothing.
inline constexpr double kMostRoundedExponent = 0x1.62p27;

}  // namespace tilewright::passes
