// What the op table says of each op, as constexpr data; and the attributes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

enum class OpKind : std::uint8_t {
#define TW_OP(name, ...) name##_,
#include "tileir/ops.def"
#undef TW_OP
};

enum class Family : std::uint8_t {
  program, create, shape, unary, binary, ternary, convert, memory, atomic, reduce, index, linalg, control, debug, hint, escape, layout
};

enum Trait : std::uint32_t {
  kElementwise = 1u << 0,
  kPure = 1u << 1,
  kCommutative = 1u << 2,
  kReads = 1u << 3,
  kWrites = 1u << 4,
  kTerminator = 1u << 5,
  kObserved = 1u << 6,
};
inline constexpr int kAny = -1;

enum class AttrName : std::uint8_t {
#define TW_ATTR(name, kind) name,
#include "tileir/attrs.def"
#undef TW_ATTR
};
enum class AttrKind : std::uint8_t { integer, integers, flag, bits, symbol, string };

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
  int regions;
  std::vector<AttrInfo> attributes;
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
/// Whether the op's region is a function of its own, from an earlier and a later element of each tile to the combined ones.
constexpr bool combines(OpKind k) { return k == OpKind::reduce_ || k == OpKind::scan_ || k == OpKind::atomic_update_; }
std::optional<OpKind> parse_op(std::string_view name);
/// Every op of the table, in its order.
std::span<const OpKind> all_ops();

std::string_view text(AttrName);
AttrKind kind(AttrName);
std::optional<AttrName> parse_attr(std::string_view name);
/// The symbols an attribute of kind symbol may be; their index is the attribute's number.
std::span<const std::string_view> symbols(AttrName);

// Numbers of the symbols, in the order of symbols().
enum class Cache : std::uint8_t { standard, all, global, streaming, write_back, write_through };
enum class Evict : std::uint8_t { normal, first, last };
enum class Precision : std::uint8_t { standard, tf32, tf32x3, bf16x3, ieee };
enum class Order : std::uint8_t { acq_rel, relaxed, acquire, release };
enum class Scope : std::uint8_t { device, block, system };
/// Why a device_assert is there: the user's own, or what checked mode makes of a hint or an index.
enum class Reason : std::uint8_t { assertion, assume, multiple_of, max_contiguous, gather };

/// One attribute of one op. `number` holds an integer, a flag, a symbol's index or a constant's bits; `list` integers;
/// `text` a string.
struct Attr {
  AttrName name;
  std::int64_t number = 0;
  std::vector<std::int64_t> list = {};
  std::string text = {};
  friend bool operator==(const Attr&, const Attr&) = default;
};

}  // namespace tilewright::ir
