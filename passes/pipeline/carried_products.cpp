// Follows each carried accumulator through the products and waits of the loop's body.
#include "passes/pipeline/carried_products.h"

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// The position of an operand that the op uses once.
int index_of(const Function& f, OpId id, ValueId v) {
  const auto& operands = f.op(id).operands;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] == v) return static_cast<int>(i);
  return -1;
}

/// Whether carried value k passes only through products, as their sums, and waits; counts the products.
bool is_accumulator(const Function& f, OpId loop, int k, std::size_t& products) {
  const BlockId body = f.region(loop);
  ValueId sum = f.arg(body, k + 1);
  const std::size_t before = products;
  while (f.value(sum).users.size() == 1) {
    const OpId user = f.value(sum).users[0];
    if (f.op(user).parent != body) return false;
    const int at = index_of(f, user, sum);
    if (user == f.terminator(body)) return at == k && products > before;
    if (f.kind(user) == OpKind::mma_async_ && at == 2)
      sum = f.result(user), ++products;
    else if (f.kind(user) == OpKind::mma_wait_)
      sum = f.result(user, at);
    else
      return false;
  }
  return false;
}

}  // namespace

std::optional<CarriedProducts> carried_products(const Function& f, OpId loop) {
  CarriedProducts found;
  const BlockId body = f.region(loop);
  bool all_fit = true;
  f.walk(body, [&](OpId id) {
    const bool is_product = f.kind(id) == OpKind::mma_async_, is_wait = f.kind(id) == OpKind::mma_wait_;
    if (!is_product && !is_wait) return;
    all_fit =
        all_fit && f.op(id).parent == body && (is_product ? f.type(f.operand(id, 0)).is_buffer() : f.attr(id, AttrName::pending) == 0);
    (is_product ? found.products : found.waits).push_back(id);
  });
  if (!all_fit || found.products.empty()) return std::nullopt;
  std::size_t products = 0;
  for (int k = 0; k < static_cast<int>(f.op(loop).results.size()); ++k) {
    std::size_t with_it = products;
    if (!is_accumulator(f, loop, k, with_it)) continue;
    products = with_it;
    found.carried.push_back(k);
  }
  if (products != found.products.size()) return std::nullopt;
  return found;
}

}  // namespace tilewright::passes
