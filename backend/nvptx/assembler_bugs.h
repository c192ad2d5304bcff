// Works around instructions that NVIDIA's assembler miscompiles.
#pragma once
#include <string>

namespace tilewright::backend::nvptx {

/// Replaces PTX instructions that ptxas 12.9, 13.0 and 13.4 miscompile (also seen on an H100 with driver 580):
///
/// 1. bfe.s32 of a whole byte or half, then a conversion of the result to floating point as an unsigned number: ptxas emits one I2F of a
///    signed byte or half, so 237 - 256 = -19 gives -19.0 instead of 4294967277.0. The replacement, a prmt that repeats the sign, is as
///    fast.
///
/// 2. min and max of 16 bits, followed by a comparison of the result with one of the operands: on sm_90 ptxas emits one VIMNMX.U16x2, which
///    writes the predicate for both halves of its registers; the value for the upper half, which is undefined, remains. The replacement
///    uses 32 bits. Fixed in 13.4.
///
/// 3. neg.s16 and abs.s16 of -32768, followed by a conversion to more bits or a comparison of the result: 32768 instead of -32768. The
///    replacement uses 32 bits. Fixed in 13.4.
///
/// Other bugs cannot be avoided by replacing text; the lowering avoids them: conversions from floating point to 16 bits that ptxas spills
/// (math.cpp; it stores 16 bits and loads 32, as if they were sign-extended: F2I.S16, PRMT 0x7610, STL.S16, LDL, VIMNMX), pairs of f16
/// (packed.cpp), loops whose counters wrap around (control_flow.cpp).
std::string avoid_assembler_bugs(std::string ptx);

}  // namespace tilewright::backend::nvptx
