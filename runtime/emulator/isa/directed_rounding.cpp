// Arithmetic with the host's rounding modes.
#include "runtime/emulator/isa/directed_rounding.h"

#include <cmath>

namespace tilewright::rt::emulator {
namespace {

// Compilers move arithmetic across changes of the rounding mode; volatile operands and results prevent this.
template <class T>
T compute(FloatOp op, Rounding rounding, T a, T b, T c) {
  const HostRounding scope(rounding);
  volatile T x = a, y = b, z = c;
  volatile T result = 0;
  switch (op) {
    case FloatOp::add: result = x + y; break;
    case FloatOp::sub: result = x - y; break;
    case FloatOp::mul: result = x * y; break;
    case FloatOp::fma: result = std::fma(static_cast<T>(x), static_cast<T>(y), static_cast<T>(z)); break;
    case FloatOp::div: result = x / y; break;
    case FloatOp::sqrt: result = std::sqrt(static_cast<T>(x)); break;
  }
  return result;
}

}  // namespace

float rounded(FloatOp op, Rounding rounding, float a, float b, float c) { return compute<float>(op, rounding, a, b, c); }
double rounded(FloatOp op, Rounding rounding, double a, double b, double c) { return compute<double>(op, rounding, a, b, c); }

}  // namespace tilewright::rt::emulator
