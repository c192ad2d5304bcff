// Exponentials, logarithms and what is made of them.
#include "passes/fusion/transcendental.h"

namespace tilewright::passes::fusion {

using ir::OpKind;

bool is_transcendental(OpKind op) {
  switch (op) {
    case OpKind::exp_:
    case OpKind::exp2_:
    case OpKind::exp10_:
    case OpKind::log_:
    case OpKind::log2_:
    case OpKind::log10_:
    case OpKind::tanh_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::erf_: return true;
    default: return false;
  }
}

}  // namespace tilewright::passes::fusion
