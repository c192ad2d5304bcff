// Expands the op table into data, once, from the texts of its rows.
#include "tileir/op_info.h"

#include <array>
#include <string>
#include <unordered_map>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool take_suffix(std::string_view& word, std::string_view suffix) {
  if (!word.ends_with(suffix)) return false;
  word.remove_suffix(suffix.size());
  return true;
}

OpInfo make(std::string_view name, Family family, std::uint32_t traits, std::string_view operands, int results, int regions,
            std::string_view attributes, LayoutRule layout, std::string_view documentation) {
  OpInfo op{name, family, traits, {}, results, regions, {}, layout, documentation};
  for (std::string_view word : words(operands)) {
    const bool variadic = take_suffix(word, "..."), optional = take_suffix(word, "?");
    op.operands.push_back({word, optional, variadic});
  }
  for (std::string_view word : words(attributes)) {
    const bool optional = take_suffix(word, "?");
    const auto attr = parse_attr(word);
    TW_CHECK(attr.has_value(), "ops.def names an attribute that attrs.def lacks");
    op.attributes.push_back({*attr, !optional});
  }
  return op;
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> rows = {
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, doc) \
  make(#name, Family::family, traits, operands, results, regions, attributes, LayoutRule::layout, doc),
#include "tileir/ops.def"
#undef TW_OP
  };
  return rows;
}

constexpr OpKind kAllOps[] = {
#define TW_OP(name, ...) OpKind::name##_,
#include "tileir/ops.def"
#undef TW_OP
};

}  // namespace

int OpInfo::min_operands() const {
  int n = 0;
  for (const auto& o : operands) n += !o.optional && !o.variadic;
  return n;
}

int OpInfo::max_operands() const { return !operands.empty() && operands.back().variadic ? kAny : static_cast<int>(operands.size()); }

std::string_view OpInfo::operand_name(int i) const {
  if (operands.empty()) return "operand";
  return operands[std::min<std::size_t>(i, operands.size() - 1)].name;
}

const OpInfo& info(OpKind k) { return table()[static_cast<int>(k)]; }
std::span<const OpKind> all_ops() { return kAllOps; }

bool combines(OpKind k) { return k == OpKind::reduce_ || k == OpKind::scan_ || k == OpKind::atomic_update_; }

std::optional<OpKind> parse_op(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, OpKind> map;
    for (OpKind k : kAllOps) map.emplace(info(k).name, k);
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace tilewright::ir
