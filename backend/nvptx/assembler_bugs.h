// What NVIDIA's assembler gets wrong, and the PTX that it gets right.
#pragma once
#include <string>

namespace tilewright::backend::nvptx {

/// Replaces what ptxas miscompiles, seen in 12.9, 13.0 and 13.4, and on an H100 with driver 580:
///
/// bfe.s32 of a whole byte or half and a conversion of the result to floating point as an unsigned number become one I2F of a signed byte
/// or half: 237 - 256 = -19 gives -19.0 and not 4294967277.0. A prmt that repeats the sign means the same and is no slower.
///
/// min and max of 16 bits and a comparison of the result with one of the operands become one VIMNMX.U16x2 on sm_90, which writes what the
/// two halves of its registers say to one predicate: that of the upper half, which holds anything, stays. So they are taken of 32
/// bits. 13.4 has it right.
///
/// neg.s16 and abs.s16 of -32768, and a conversion to more bits or a comparison of the result: 32768 and not -32768. Likewise of 32 bits;
/// 13.4 has it right.
///
/// A conversion from floating point to 16 bits that is computed again where registers are short: 32 bits are kept for it in memory, the
/// lower half is written and all are read, by what took them for sign-extended (F2I.S16, PRMT 0x7610, STL.S16, LDL, VIMNMX).
///
/// What needs more than other text is avoided where code is made: conversions (math.cpp), pairs of f16 (packed.cpp), loops that wrap around
/// (control_flow.cpp).
std::string avoid_assembler_bugs(std::string ptx);

}  // namespace tilewright::backend::nvptx
