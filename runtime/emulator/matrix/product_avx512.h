// Matrix products by AVX-512, with the same bits as the scalar code.
#pragma once
#include "runtime/emulator/matrix/product_steps.h"

namespace tilewright::rt::emulator {

#if defined(__x86_64__)
/// Requires: a processor that has AVX-512 F and BW.
ProductSteps steps_by_avx512();
#endif

}  // namespace tilewright::rt::emulator
