// Float arithmetic in the rounding modes that processors only reach by switching a mode.
#pragma once
#include <cfenv>

#include "runtime/emulator/simd/small_float.h"

namespace tilewright::rt::emulator {

/// Sets the host's rounding for the life of the object.
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

/// One operation of float or double in a rounding mode; c counts for fma only, and b not for sqrt.
float rounded(FloatOp, Rounding, float a, float b, float c);
double rounded(FloatOp, Rounding, double a, double b, double c);

}  // namespace tilewright::rt::emulator
