// Float arithmetic in rounding modes that processors offer only by switching a mode.
#pragma once
#include <cfenv>

#include "runtime/emulator/simd/small_float.h"

namespace tilewright::rt::emulator {

/// Sets the host's rounding mode for the lifetime of the object.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
    std::fesetround(rounding == Rounding::zero   ? FE_TOWARDZERO
                    : rounding == Rounding::down ? FE_DOWNWARD
                    : rounding == Rounding::up   ? FE_UPWARD
                                                 : FE_TONEAREST);
  }
  ~HostRounding() { std::fesetround(before_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  int before_;
};

enum class FloatOp : u8 { add, sub, mul, fma, div, sqrt };

/// One operation on float or double in a rounding mode; c is used only by fma, and b is not used by sqrt.
float rounded(FloatOp, Rounding, float a, float b, float c);
double rounded(FloatOp, Rounding, double a, double b, double c);

}  // namespace tilewright::rt::emulator
