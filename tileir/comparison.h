// Which ops compare.
#pragma once
#include "tileir/op_kind.h"

namespace tilewright::ir {

/// Whether an op compares two values: ==, !=, <, <=, > or >=.
inline bool is_comparison(OpKind k) {
  switch (k) {
    case OpKind::eq_:
    case OpKind::ne_:
    case OpKind::lt_:
    case OpKind::le_:
    case OpKind::gt_:
    case OpKind::ge_: return true;
    default: return false;
  }
}

}  // namespace tilewright::ir
