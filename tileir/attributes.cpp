// The table of attributes, from attrs.def.
#include "tileir/attributes.h"

#include <iterator>

namespace tilewright::ir {

namespace {
constexpr std::string_view kAttrNames[] = {
#define TW_ATTR(name, kind) #name,
#include "tileir/attrs.def"
#undef TW_ATTR
};
constexpr AttrKind kAttrKinds[] = {
#define TW_ATTR(name, kind) AttrKind::kind,
#include "tileir/attrs.def"
#undef TW_ATTR
};
constexpr std::string_view kCaches[] = {"standard", "all", "global", "streaming", "write_back", "write_through"};
constexpr std::string_view kEvicts[] = {"normal", "first", "last"};
constexpr std::string_view kPrecisions[] = {"standard", "tf32", "tf32x3", "bf16x3", "ieee"};
constexpr std::string_view kOrders[] = {"acq_rel", "relaxed", "acquire", "release"};
constexpr std::string_view kScopes[] = {"device", "block", "system"};
constexpr std::string_view kReasons[] = {"assertion", "assume", "multiple_of", "max_contiguous", "gather"};
constexpr std::string_view kReductions[] = {"none", "add", "min", "max"};
constexpr std::string_view kInstructions[] = {
#define TW_MATRIX_INSTRUCTION(name, ...) #name,
#include "tileir/target/matrix_instructions.def"
#undef TW_MATRIX_INSTRUCTION
};
}  // namespace

std::string_view text(AttrName a) { return kAttrNames[static_cast<int>(a)]; }
AttrKind kind(AttrName a) { return kAttrKinds[static_cast<int>(a)]; }

std::optional<AttrName> parse_attr(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kAttrNames); ++i)
    if (kAttrNames[i] == name) return static_cast<AttrName>(i);
  return std::nullopt;
}

std::span<const std::string_view> symbols(AttrName a) {
  switch (a) {
    case AttrName::cache: return kCaches;
    case AttrName::evict: return kEvicts;
    case AttrName::precision: return kPrecisions;
    case AttrName::order: return kOrders;
    case AttrName::scope: return kScopes;
    case AttrName::reason: return kReasons;
    case AttrName::instruction: return kInstructions;
    case AttrName::reduction: return kReductions;
    default: return {};
  }
}

}  // namespace tilewright::ir
