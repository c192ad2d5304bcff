// The table of tensor ops as data, and the names of attribute values.
#include "tileir/graph/graph_op_info.h"

#include <algorithm>
#include <array>

#include "tileir/diagnostics.h"
#include "tileir/op_info.h"

namespace tilewright::graph {

namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

OpInfo row(std::string_view name, Family family, std::string_view operands, Integers integers, std::string_view attributes,
           std::string_view documentation) {
  OpInfo info{name, family, words(operands), false, integers, {}, documentation};
  for (std::string_view& operand : info.operands)
    if (operand.ends_with("...")) operand.remove_suffix(3), info.is_variadic = true;
  for (std::string_view attribute : words(attributes)) {
    const bool optional = attribute.ends_with("?");
    info.attributes.push_back({attribute.substr(0, attribute.size() - (optional ? 1 : 0)), optional});
  }
  return info;
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> rows = {
#define TW_GRAPH_OP(name, family, operands, integers, attributes, documentation) \
  row(#name, Family::family, operands, Integers::integers, attributes, documentation),
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  };
  return rows;
}

constexpr std::string_view kCombines[] = {"sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "combine"};
constexpr std::string_view kPrecisions[] = {"standard", "tf32", "tf32x3", "bf16x3", "ieee"};

template <class E, std::size_t N>
std::optional<E> find(const std::string_view (&names)[N], std::string_view name) {
  const auto at = std::find(std::begin(names), std::end(names), name);
  return at == std::end(names) ? std::nullopt : std::optional(static_cast<E>(at - std::begin(names)));
}

}  // namespace

const OpInfo& info(Op op) { return table()[static_cast<std::size_t>(op)]; }

bool is_leaf(Op op) { return info(op).family == Family::leaf; }
bool combines_elements(Op op) { return info(op).family == Family::reduce || info(op).family == Family::product; }
bool takes_index(Op op) { return info(op).family == Family::index; }
bool is_view(Op op) { return info(op).family == Family::shape && info(op).operands.size() == 1 && !info(op).is_variadic; }

std::span<const Op> all_ops() {
  static constexpr Op ops[] = {
#define TW_GRAPH_OP(name, ...) Op::name,
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  };
  return ops;
}

std::optional<Op> parse_op(std::string_view name) {
  for (Op op : all_ops())
    if (text(op) == name) return op;
  return std::nullopt;
}

bool is_function(ir::OpKind kind) {
  switch (ir::info(kind).family) {
    case ir::Family::unary:
    case ir::Family::binary:
    case ir::Family::ternary: return true;
    case ir::Family::convert: return ir::text(kind) != "add_ptr";  // there are no tensors of pointers
    default: return false;
  }
}

std::optional<ir::OpKind> parse_function(std::string_view name) {
  const std::optional<ir::OpKind> kind = ir::parse_op(name);
  return kind && is_function(*kind) ? kind : std::nullopt;
}

std::string_view text(Combine kind) { return kCombines[static_cast<std::size_t>(kind)]; }
std::optional<Combine> parse_combine(std::string_view name) { return find<Combine>(kCombines, name); }
std::string_view text(ProductPrecision precision) { return kPrecisions[static_cast<std::size_t>(precision)]; }
std::optional<ProductPrecision> parse_precision(std::string_view name) { return find<ProductPrecision>(kPrecisions, name); }

}  // namespace tilewright::graph
