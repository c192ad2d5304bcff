// The attributes that ops have: names, kinds and the numbers of symbols.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

enum class AttrName : std::uint8_t {
#define TW_ATTR(name, kind) name,
#include "tileir/attrs.def"
#undef TW_ATTR
};
enum class AttrKind : std::uint8_t { integer, integers, flag, bits, symbol, string };

std::string_view text(AttrName);
AttrKind kind(AttrName);
std::optional<AttrName> parse_attr(std::string_view name);
/// The values of an attribute of kind symbol; the index of one is the attribute's number.
std::span<const std::string_view> symbols(AttrName);

// Numbers of the symbols, in the order of symbols().
enum class Cache : std::uint8_t { standard, all, global, streaming, write_back, write_through };
enum class Evict : std::uint8_t { normal, first, last };
enum class Precision : std::uint8_t { standard, tf32, tf32x3, bf16x3, ieee };
enum class Order : std::uint8_t { acq_rel, relaxed, acquire, release };
enum class Scope : std::uint8_t { device, block, system };
enum class Reduction : std::uint8_t { none, add, min, max };
/// The reason of a device_assert: the user's own assertion, or a hint or index that checked mode tests.
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
