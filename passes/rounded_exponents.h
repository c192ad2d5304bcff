// Rounds exponentials where exp2 is an instruction: exp(x - b) is computed as exp2(fma(x, log2(e), -(b log2(e)))).
#pragma once

namespace tilewright::passes {

/// If |b| is below this limit, rounding b log2(e) changes an exponent by at most 8: the factor of a row is between 2^-8 and 2^8, which f16
/// and every sum can hold. Beyond it the scale is a power of two, which causes no rounding.
inline constexpr double kMostRoundedExponent = 0x1.62p27;

}  // namespace tilewright::passes
