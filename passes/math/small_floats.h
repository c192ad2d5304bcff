// Conversions between 16- and 8-bit floats and the types in which the target computes, as integer arithmetic. Each rounds once, to nearest
// even, as tilewright/small_float.h does.
#pragma once
#include "passes/math/emitter.h"
#include "tilewright/small_float.h"

namespace tilewright::passes::math {

/// Whether the element type is f16, bf16, f8e4m3 or f8e5m2.
inline bool is_small_float(ir::Element e) { return ir::is_float(e) && ir::bits(e) < 32; }
/// The format of a small float.
detail::FloatFormat layout_of(ir::Element);

/// Conversions for which the target has instructions: they stay casts.
struct SmallFloatCasts {
  bool f16 = false;   // f16 <-> f32
  bool bf16 = false;  // f32 -> bf16; the reverse is a shift
  bool fp8 = false;   // both fp8 types <-> f32
};

/// Small float -> f32, exactly.
Expr widen(Expr x, SmallFloatCasts);
/// f32 -> small float.
Expr narrow(Expr x, ir::Element to, SmallFloatCasts);
/// f32 -> small float, for a value that the small float can hold exactly.
Expr narrow_exact(Expr x, ir::Element to, SmallFloatCasts);
/// f64 -> an f32 that rounds to every small float in the same way as x.
Expr shorten(Expr x);
/// Any cast from or to a small float.
Expr convert(Expr x, ir::Element to, SmallFloatCasts);
/// a b + c for f16 or bf16, rounded once.
Expr fma_small(Expr a, Expr b, Expr c, SmallFloatCasts);

}  // namespace tilewright::passes::math
