// The columns of the table of tensor ops as data.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

enum class Family : std::uint8_t { leaf, map, shape, reduce, product, index, memory, call };

/// Where the type of an integer result comes from. The interpreter's and fusion's translations convert results to that type.
enum class Integers : std::uint8_t {
  stated,    // they are in memory or in the graph, in the node's type
  position,  // positions and extents, of 64 bits: converted to the node's type, which may be a float
  operand,   // they are elements of operand 0, whose type is the node's
  computed,  // exact integers or integers of the node's type: wrapped to it
  none,      // the result is never of integers
};

struct AttributeInfo {
  std::string_view name;
  bool optional;
};

struct OpInfo {
  std::string_view name;
  Family family;
  std::vector<std::string_view> operands;
  bool is_variadic;  // the last operand stands for any number of operands
  Integers integers;
  std::vector<AttributeInfo> attributes;
  std::string_view documentation;

  /// The name of operand i as it appears in messages.
  std::string_view operand_name(std::size_t i) const { return operands[i < operands.size() ? i : operands.size() - 1]; }
};

const OpInfo& info(Op);
inline std::string_view text(Op op) { return info(op).name; }
std::optional<Op> parse_op(std::string_view name);
/// Every op of the table, in its order.
std::span<const Op> all_ops();
/// Whether an op has no operands, that is whether it is of the family `leaf`.
bool is_leaf(Op);
/// Whether an op combines elements along axes: a reduction, a scan or a product.
bool combines_elements(Op);
/// Whether operand 1 of an op holds positions along an axis of operand 0.
bool takes_index(Op);
/// Whether every element of an op's result is an element of its one operand: the op only changes indices.
bool is_view(Op);

/// The op of tile IR with this name that a map can apply; none for ops that are not element-wise.
std::optional<ir::OpKind> parse_function(std::string_view name);
bool is_function(ir::OpKind);

std::string_view text(Combine);
std::optional<Combine> parse_combine(std::string_view);
std::string_view text(ProductPrecision);
std::optional<ProductPrecision> parse_precision(std::string_view);

}  // namespace tilewright::graph
