// Asks the type rules about every combination of elements, once.
#include "tests/fuzz/signatures.h"

#include "tileir/type_rules/type_rules.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

bool is_elementwise(OpKind k) {
  const Family f = info(k).family;
  return f == Family::unary || f == Family::binary || f == Family::ternary || f == Family::convert;
}

std::vector<Signature> find_signatures(OpKind k) {
  std::vector<Signature> found;
  const std::size_t n = info(k).operands.size();
  std::vector<Type> types(n);
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < n; ++i) combinations *= kElementCount;
  for (std::size_t c = 0; c < combinations; ++c) {
    std::vector<Element> elements(n);
    for (std::size_t i = 0, rest = c; i < n; ++i, rest /= kElementCount)
      types[i] = Type(elements[i] = static_cast<Element>(rest % kElementCount));
    if (const RuleResult r = infer({k, types, {}, {}}); r.ok()) {
      found.push_back({elements, r.types[0].element()});
      continue;
    }
    if (info(k).family != Family::convert) continue;  // only conversions have a result that the writer chooses
    for (int e = 0; e < kElementCount; ++e) {
      const Type declared(static_cast<Element>(e));
      if (infer({k, types, {}, std::span(&declared, 1)}).ok()) found.push_back({elements, declared.element()});
    }
  }
  return found;
}

}  // namespace

std::span<const Signature> signatures(OpKind kind) {
  static const auto table = [] {
    std::vector<std::vector<Signature>> t(all_ops().size());
    for (OpKind k : all_ops())
      if (is_elementwise(k)) t[static_cast<std::size_t>(k)] = find_signatures(k);
    return t;
  }();
  return table[static_cast<std::size_t>(kind)];
}

std::span<const OpKind> elementwise_ops() {
  static const auto ops = [] {
    std::vector<OpKind> v;
    for (OpKind k : all_ops())
      if (!signatures(k).empty()) v.push_back(k);
    return v;
  }();
  return ops;
}

void Coverage::count(const Function& f) {
  f.walk([&](OpId id) { ++counts_[static_cast<std::size_t>(f.kind(id))]; });
}

std::vector<OpKind> Coverage::missing() const {
  std::vector<OpKind> v;
  for (OpKind k : all_ops())
    if (of(k) == 0 && !is_made_by_passes(k)) v.push_back(k);
  return v;
}

}  // namespace tilewright::fuzz
