// The columns of the op table as data.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tileir/attributes.h"

namespace tilewright::ir {

/// The ops as numbers; op_kind.h names them.
enum class OpKind : std::uint8_t;

enum class Family : std::uint8_t {
  program,
  create,
  shape,
  unary,
  binary,
  ternary,
  convert,
  memory,
  atomic,
  reduce,
  index,
  linalg,
  control,
  debug,
  hint,
  escape,
  layout,
  shared,
  async,
  matrix
};

enum Trait : std::uint32_t {
  kElementwise = 1u << 0,
  kPure = 1u << 1,
  kCommutative = 1u << 2,
  kReads = 1u << 3,
  kWrites = 1u << 4,
  kTerminator = 1u << 5,
  kSideEffect = 1u << 6,
  kExpensive = 1u << 7,
  kKeepsElements = 1u << 8,
};
inline constexpr int kAny = -1;

/// What an op requires of the layouts of its operands and results.
enum class LayoutRule : std::uint8_t {
  same_layout,          // all operands and results of the result's shape have one layout: element-wise, memory, scan, flip, ...
  infer_result,         // the layouts of results follow from the operand's: reshape, permute, reduce, sort, join, split, cat
  infer_operand,        // the operand's layout follows from the result's: broadcast
  like_last_operand,    // results have the layout of the last operand, the other operands have any layout: dot, gather
  same_operand_layout,  // operands of the first one's shape have one layout, results have any layout: histogram, device_assert
  any_layout,           // each tile has any layout: convert_layout, constant, ...
  matrix,               // the layouts follow from the op's matrix instruction: mma
};

/// One operand of an op's row.
struct OperandInfo {
  std::string_view name;
  bool optional = false, variadic = false;
};
/// One attribute of an op's row.
struct AttrInfo {
  AttrName name;
  bool required;
};

struct OpInfo {
  std::string_view name;
  Family family;
  std::uint32_t traits;
  std::vector<OperandInfo> operands;
  int results;  // kAny: as many as the type rule says
  int regions;  // kAny: one or more
  std::vector<AttrInfo> attributes;
  LayoutRule layout;
  std::string_view documentation;

  bool has(Trait t) const { return (traits & t) != 0; }
  int min_operands() const;
  /// kAny if the last operand is variadic.
  int max_operands() const;
  /// The name of operand i as messages say it.
  std::string_view operand_name(int i) const;
};

const OpInfo& info(OpKind);
inline std::string_view text(OpKind k) { return info(k).name; }
/// Whether only passes for GPUs make such ops: they move data between threads, which traced functions do not know.
inline bool is_made_by_passes(OpKind k) { return info(k).family >= Family::layout; }
/// Whether the op's region is a combining function: it maps an earlier and a later element of each tile to the combined ones.
bool combines(OpKind);
std::optional<OpKind> parse_op(std::string_view name);
/// Every op of the table, in its order.
std::span<const OpKind> all_ops();

}  // namespace tilewright::ir
