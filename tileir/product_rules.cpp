// Checks the uses of the operands and results of asynchronous products.
#include "tileir/product_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

bool passes_on(const Function& f, OpId user, ValueId v) {
  switch (f.kind(user)) {
    case OpKind::mma_async_: return f.operand(user, 0) != v && f.operand(user, 1) != v;
    case OpKind::mma_wait_:
    case OpKind::for_:
    case OpKind::while_:
    case OpKind::yield_:
    case OpKind::condition_: return true;
    default: return false;
  }
}

}  // namespace

std::vector<std::pair<OpId, std::string>> product_problems(const Function& f) {
  std::vector<std::pair<OpId, std::string>> problems;
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::mma_async_) return;
    const ValueId sums = f.result(id), a = f.operand(id, 0);
    for (OpId user : f.value(sums).users)
      if (!passes_on(f, user, sums)) problems.emplace_back(user, "it uses an accumulator in flight; an mma_wait is missing");
    const auto waits = [&](OpId user) { return f.kind(user) == OpKind::mma_wait_; };
    if (!f.type(a).is_buffer() && std::ranges::none_of(f.value(a).users, waits))
      problems.emplace_back(id, "'a' is in registers, so it must be an operand of an mma_wait");
  });
  return problems;
}

}  // namespace tilewright::ir
