// Conversions between 16- and 8-bit floats and the types the target computes in, as integer arithmetic. Each rounds once, to nearest
// even, as tilewright/small_float.h says.
#pragma once
#include "passes/math/emitter.h"
#include "tilewright/small_float.h"

namespace tilewright::passes::math {

/// f16, bf16, f8e4m3, f8e5m2.
inline bool is_small_float(ir::Element e) { return ir::is_float(e) && ir::bits(e) < 32; }
/// The layout of a small float.
detail::FloatFormat layout_of(ir::Element);

/// Small float -> f32, exactly. With `f16_instruction`, f16 stays a cast.
Expr widen(Expr x, bool f16_instruction);
/// f32 -> small float.
Expr narrow(Expr x, ir::Element to, bool f16_instruction);
/// f32 -> small float of a value that it can hold.
Expr narrow_exact(Expr x, ir::Element to, bool f16_instruction);
/// f64 -> an f32 that rounds to every small float as x itself does.
Expr shorten(Expr x);
/// Any cast from or to a small float.
Expr convert(Expr x, ir::Element to, bool f16_instruction);
/// a b + c of f16 or bf16, rounded once.
Expr fma_small(Expr a, Expr b, Expr c, bool f16_instruction);

}  // namespace tilewright::passes::math
