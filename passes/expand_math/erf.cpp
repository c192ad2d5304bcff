// erf: an odd polynomial around 0, and 1 - erfc elsewhere, where erfc is small enough that its error does not matter.
#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

// erf(x) / x - 1 in x^2, for x <= 0.93: 2^-25.8, and for x <= 1: 2^-56.3.
constexpr double kNear32[] = {0x1.06eba6p-3, -0x1.8126e2p-2, 0x1.ce1984p-4, -0x1.b67bdp-6, 0x1.46d852p-8, -0x1.386ca8p-11};
constexpr double kNear64[] = {0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2,  0x1.ce2f21a042b2p-4,   -0x1.b82ce3128499cp-6,
                              0x1.565bcd0db02dp-8,  -0x1.c02db3d8ecf46p-11, 0x1.f9a321a1191d4p-14, -0x1.f4d1df38f7cc9p-17,
                              0x1.b9def199c126p-20, -0x1.5f1d369c52acdp-23, 0x1.f7a4106ae587cp-27, -0x1.386abaa7e8799p-30,
                              0x1.0579982459a0fp-34};
// (log(erfc(x)) + x) / x for 0.92 <= x <= 4, error relative to erf: 2^-30.3.
constexpr double kFar32[] = {-0x1.0778dep-3, -0x1.45328cp-1, -0x1.b32582p-4, 0x1.85517ap-6,
                             -0x1.dd6ceep-9, 0x1.527bc6p-12, -0x1.78d82ep-17};
// e^(x^2) erfc(x) in (x - 2) / (x + 2) for 1 <= x <= 6, error relative to 1: 2^-60.1.
constexpr double kFar64[] = {0x1.058671b52c776p-2,  -0x1.b57034efd3f4cp-2, 0x1.eeea7dc8a7c9bp-3,   -0x1.437f0b68cb952p-4,
                             0x1.e94715813d4e1p-9,  0x1.ca95ed5bd4fefp-8,  -0x1.bc258b91ac21ep-11, -0x1.016b31a0ed2eap-10,
                             0x1.6d43946a92921p-15, 0x1.6d7c3feed403p-13,  0x1.cd6ab0fd9f5b2p-16,  -0x1.c30daed2488a1p-16,
                             -0x1.af5a3185e8298p-17};

constexpr double kLog2E = 0x1.71547652b82fep+0;

}  // namespace

Expr erf(Expr x) {
  const bool single = x.element() == ir::Element::f32;
  const Expr magnitude = abs(x), z = x * x;
  const Expr near = single ? mad(magnitude, polynomial(z, kNear32), magnitude) : mad(magnitude, polynomial(z, kNear64), magnitude);
  // Beyond the bound erf rounds to 1. NaN passes through the far branch.
  const Expr far = at_most(magnitude, single ? 4.0 : 6.0);
  Expr complement;
  if (single) {
    const Expr exponent = mad(far, polynomial(far, kFar32), -far);
    complement = x.emitter->has_exp2() ? exp2_instruction(exponent * kLog2E) : exp_moderate(exponent);
  } else {
    const Expr t = (far - 2.0) / (far + 2.0);
    complement = exp_moderate(-(far * far)) * polynomial(t, kFar64);
  }
  return copysign(select(magnitude < (single ? 0.925 : 1.0), near, 1.0 - complement), x);
}

}  // namespace tilewright::passes::math
