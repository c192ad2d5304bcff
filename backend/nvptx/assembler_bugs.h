// What NVIDIA's assembler gets wrong, and the PTX that it gets right.
#pragma once
#include <string>

namespace tilewright::backend::nvptx {

/// Replaces what ptxas miscompiles, seen in 12.9, 13.0 and 13.4 and on an H100 with driver 580:
///
/// bfe.s32 of a whole byte or half and a conversion of the result to floating point as an unsigned number become one I2F of a signed byte
/// or half: 237 - 256 = -19 gives -19.0 and not 4294967277.0. A prmt that repeats the sign means the same and is no slower.
std::string avoid_assembler_bugs(std::string ptx);

}  // namespace tilewright::backend::nvptx
