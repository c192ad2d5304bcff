// Tables of the element types, and the shapes of types.
#include "tileir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {
struct ElementRow {
  std::string_view text;
  int bits;
  char kind;
};
constexpr ElementRow kElements[] = {
#define X(name, text, bits, kind) {text, bits, #kind[0]},
    TW_ELEMENTS(X)
#undef X
};
static_assert(std::size(kElements) == kElementCount);
const ElementRow& row(Element e) { return kElements[static_cast<int>(e)]; }
}  // namespace

int bits(Element e) { return row(e).bits; }
std::string_view text(Element e) { return row(e).text; }
bool is_float(Element e) { return row(e).kind == 'f'; }
bool is_signed(Element e) { return row(e).kind == 's'; }
bool is_unsigned(Element e) { return row(e).kind == 'u'; }

std::optional<Element> parse_element(std::string_view word) {
  for (int i = 0; i < kElementCount; ++i)
    if (kElements[i].text == word) return static_cast<Element>(i);
  return std::nullopt;
}

Element integer(int width, bool is_signed) {
  switch (width) {
    case 8: return is_signed ? Element::i8 : Element::u8;
    case 16: return is_signed ? Element::i16 : Element::u16;
    case 32: return is_signed ? Element::i32 : Element::u32;
    case 64: return is_signed ? Element::i64 : Element::u64;
    default: TW_UNREACHABLE("no integer of this width");
  }
}

Type::Type(Element e, std::span<const std::int64_t> shape) : element_(e) {
  TW_CHECK(shape.size() <= kMaxRank, "rank above 5");
  rank_ = static_cast<std::uint8_t>(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    TW_CHECK(shape[i] > 0 && std::has_single_bit(static_cast<std::uint64_t>(shape[i])), "extent is not a power of two");
    log2_[i] = static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(shape[i])));
  }
}

Type Type::pointer(Element pointee, bool is_const, std::span<const std::int64_t> shape) {
  Type t(pointee, shape);
  t.kind_ = is_const ? Kind::const_pointer : Kind::pointer;
  return t;
}

Type Type::buffer(Element e, int slots, std::span<const std::int64_t> shape) {
  TW_CHECK(!shape.empty() && shape.size() <= kMaxBufferRank && slots >= 1 && slots <= kMaxSlots, "no buffer has this shape");
  Type t(e, shape);
  t.kind_ = Kind::buffer;
  t.log2_[kMaxRank - 1] = static_cast<std::uint8_t>(slots);
  return t;
}

Type Type::mbarrier(int slots) {
  TW_CHECK(slots >= 1 && slots <= kMaxSlots, "there are 1 to 16 mbarriers in one allocation");
  Type t(Element::u64);
  t.kind_ = Kind::mbarrier;
  t.log2_[kMaxRank - 1] = static_cast<std::uint8_t>(slots);
  return t;
}

Type Type::tensor_map(Element e, std::span<const std::int64_t> box) {
  TW_CHECK(!box.empty() && box.size() <= kMaxRank, "a tensor map has 1 to 5 axes");
  Type t(e);
  t.kind_ = Kind::tensor_map;
  for (std::size_t i = 0; i < box.size(); ++i) {
    TW_CHECK(box[i] <= kMaxBoxExtent && std::has_single_bit(static_cast<std::uint64_t>(box[i])), "no box of a bulk copy has this extent");
    t.log2_[i] = static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(box[i])) + 1);
  }
  return t;
}

std::vector<std::int64_t> Type::box() const {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < log2_.size() && log2_[i] != 0; ++i) extents.push_back(std::int64_t{1} << (log2_[i] - 1));
  return extents;
}

std::vector<std::int64_t> Type::shape() const {
  std::vector<std::int64_t> s(rank_);
  for (int i = 0; i < rank_; ++i) s[i] = extent(i);
  return s;
}

int Type::log2_elements() const {
  int n = 0;
  for (int i = 0; i < rank_; ++i) n += log2_[i];
  return n;
}

Type Type::with_element(Element e) const { return Type(e, shape()); }

Type Type::with_shape(std::span<const std::int64_t> shape) const {
  if (is_buffer()) return buffer(element_, slots(), shape);
  if (is_mbarrier() || is_tensor_map()) return *this;
  Type t(element_, shape);
  t.kind_ = kind_;
  return t;
}

Type Type::pointee() const {
  TW_CHECK(is_pointer(), "pointee of a type that is not a pointer");
  return with_element(element_);
}

std::string text(const Type& t) {
  if (t.is_mbarrier()) return fmt::format("mbarrier<{}>", t.slots());
  if (t.is_tensor_map()) return fmt::format("tensor_map<{}>[{}]", text(t.element()), fmt::join(t.box(), ", "));
  std::string s{text(t.element())};
  if (t.is_buffer()) s = fmt::format("buffer<{}, {}>", t.slots(), s);
  if (t.is_pointer()) s = fmt::format("ptr<{}{}>", t.is_const_pointer() ? "const " : "", s);
  if (t.rank() > 0) s += fmt::format("[{}]", fmt::join(t.shape(), ", "));
  return s;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return shape.empty() ? std::string("a scalar") : fmt::format("[{}]", fmt::join(shape, ", "));
}
std::string shape_text(const Type& t) { return shape_text(t.shape()); }

}  // namespace tilewright::ir
