// Reads and sets the control registers of floating-point arithmetic.
#include "runtime/float_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tilewright::rt {

#if defined(__x86_64__)

namespace {

// Intel SDM vol. 1, 10.2.3: bit 6 reads subnormal numbers as zeros, bits 7 to 12 mask exceptions, 13 and 14 are the rounding, 15 makes results
// that are subnormal zeros. The other bits are flags.
constexpr unsigned kModes = 0xffc0, kDefaultModes = 0x1f80;
// 8.1.5: all exceptions masked, 64 bits of precision, round to nearest.
constexpr unsigned short kDefaultControlWord = 0x037f;

}  // namespace

bool DefaultFloatEnvironment::is_set() noexcept {
  unsigned short control_word = 0;
  asm volatile("fnstcw %0" : "=m"(control_word));
  return (_mm_getcsr() & kModes) == kDefaultModes && control_word == kDefaultControlWord;
}

void DefaultFloatEnvironment::set() noexcept {
  std::fegetenv(&before_);
  is_changed_ = true;
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kDefaultModes);  // C does not say that FE_DFL_ENV keeps subnormal numbers
}

#else

// The modes that C++ can name; how a processor treats subnormal numbers is not one of them.
bool DefaultFloatEnvironment::is_set() noexcept { return std::fegetround() == FE_TONEAREST; }

void DefaultFloatEnvironment::set() noexcept {
  std::fegetenv(&before_);
  is_changed_ = true;
  std::fesetenv(FE_DFL_ENV);
}

#endif

void DefaultFloatEnvironment::restore() noexcept { std::fesetenv(&before_); }

}  // namespace tilewright::rt
