// Element types and tile types. A type is a value of eight bytes.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

// name in C++, spelling in text, bits, kind (b bool, s signed, u unsigned, f float)
#define TW_ELEMENTS(X)      \
  X(boolean, "i1", 1, b)    \
  X(i8, "i8", 8, s)         \
  X(i16, "i16", 16, s)      \
  X(i32, "i32", 32, s)      \
  X(i64, "i64", 64, s)      \
  X(u8, "u8", 8, u)         \
  X(u16, "u16", 16, u)      \
  X(u32, "u32", 32, u)      \
  X(u64, "u64", 64, u)      \
  X(f16, "f16", 16, f)      \
  X(bf16, "bf16", 16, f)    \
  X(f32, "f32", 32, f)      \
  X(f64, "f64", 64, f)      \
  X(f8e4m3, "f8e4m3", 8, f) \
  X(f8e5m2, "f8e5m2", 8, f)

/// The element types. Public headers mirror their order.
enum class Element : std::uint8_t {
#define X(name, text, bits, kind) name,
  TW_ELEMENTS(X)
#undef X
};
inline constexpr int kElementCount = 15;

/// Bits of one element; 1 for bool, which takes a byte in memory.
int bits(Element);
/// Bytes of one element in memory.
inline int bytes(Element e) { return (bits(e) + 7) / 8; }
std::string_view text(Element);
std::optional<Element> parse_element(std::string_view);

bool is_float(Element);   // fp8 included
bool is_signed(Element);  // signed integers
bool is_unsigned(Element);
inline bool is_integer(Element e) { return is_signed(e) || is_unsigned(e); }
inline bool is_fp8(Element e) { return e == Element::f8e4m3 || e == Element::f8e5m2; }
/// The integer element of this many bits (8 to 64).
Element integer(int bits, bool is_signed);

inline constexpr int kMaxRank = 5;
inline constexpr int kMaxLog2Elements = 20;
inline constexpr int kMaxBufferRank = 4;
inline constexpr int kMaxSlots = 16;
inline constexpr int kMaxBoxExtent = 256;  // of a bulk copy

/// A type is one of four kinds. A tile has elements, or pointers to elements, and 0 to 5 extents that are powers of two (at most 2^20
/// elements). A buffer is shared memory for tiles of 1 to 4 extents, in one or several slots of one tile each. Then there are mbarriers, one
/// for each slot of a buffer, and tensor maps, by which bulk copies read boxes of a tensor in global memory.
class Type {
 public:
  Type() = default;
  /// A scalar.
  explicit Type(Element e) : element_(e) {}
  /// Requires: at most five extents, each a power of two, and 2^20 elements. The front end and the parser check this first.
  Type(Element e, std::span<const std::int64_t> shape);

  static Type pointer(Element pointee, bool is_const, std::span<const std::int64_t> shape = {});
  /// `slots`: 1 to kMaxSlots.
  static Type buffer(Element e, int slots, std::span<const std::int64_t> shape);
  static Type mbarrier(int slots);
  /// `box`: 1 to 5 extents, each a power of two and at most 256.
  static Type tensor_map(Element e, std::span<const std::int64_t> box);

  Element element() const { return element_; }  // of a pointer: the pointee
  bool is_pointer() const { return kind_ == Kind::pointer || kind_ == Kind::const_pointer; }
  bool is_const_pointer() const { return kind_ == Kind::const_pointer; }
  bool is_buffer() const { return kind_ == Kind::buffer; }
  bool is_mbarrier() const { return kind_ == Kind::mbarrier; }
  bool is_tensor_map() const { return kind_ == Kind::tensor_map; }
  bool is_bool() const { return kind_ == Kind::plain && element_ == Element::boolean; }
  bool is_float() const { return kind_ == Kind::plain && ir::is_float(element_); }
  bool is_integer() const { return kind_ == Kind::plain && ir::is_integer(element_); }
  /// How many tiles a buffer holds, or how many mbarriers there are. Requires: a buffer, or mbarriers.
  int slots() const { return log2_[kMaxRank - 1]; }
  /// The extents of a copy by a tensor map, the axis along which elements are neighbours last. Requires: a tensor map.
  std::vector<std::int64_t> box() const;
  /// Bits of one element in a register: 1 for bool, 64 for a pointer.
  int element_bits() const { return is_pointer() ? 64 : bits(element_); }
  /// Bytes of one element in memory: 1 for bool, 8 for a pointer.
  int element_bytes() const { return is_pointer() ? 8 : bytes(element_); }

  int rank() const { return rank_; }
  bool is_scalar() const { return rank_ == 0; }
  std::int64_t extent(int axis) const { return std::int64_t{1} << log2_[axis]; }
  int log2_extent(int axis) const { return log2_[axis]; }
  std::vector<std::int64_t> shape() const;
  int log2_elements() const;
  std::int64_t elements() const { return std::int64_t{1} << log2_elements(); }

  bool same_shape(const Type& o) const { return rank_ == o.rank_ && log2_ == o.log2_; }
  /// Whether the extents are equal; the number of slots may differ.
  bool same_extents(const Type& o) const { return shape() == o.shape(); }
  /// The type with the same shape and other elements.
  Type with_element(Element e) const;
  /// The type with the same elements (pointer or not) in another shape.
  Type with_shape(std::span<const std::int64_t> shape) const;
  /// The type that a pointer tile loads: the same shape of pointees.
  Type pointee() const;
  Type scalar() const { return with_shape({}); }

  std::uint64_t key() const { return std::bit_cast<std::uint64_t>(*this); }
  friend bool operator==(const Type& a, const Type& b) { return a.key() == b.key(); }

 private:
  Element element_ = Element::i32;
  enum class Kind : std::uint8_t { plain, pointer, const_pointer, buffer, mbarrier, tensor_map };
  Kind kind_ = Kind::plain;
  std::uint8_t rank_ = 0;
  /// Of the extents; the last is the number of slots of a buffer or of mbarriers. Of a tensor map: one more than those of its box, 0 behind
  /// them.
  std::array<std::uint8_t, kMaxRank> log2_{};
};
static_assert(sizeof(Type) == 8);

/// "f32[64, 32]", "ptr<const f16>", "i32", "buffer<3, f16>[64, 32]", "mbarrier<3>", "tensor_map<f16>[128, 64]": the spelling of the textual
/// IR.
std::string text(const Type&);
/// "[64, 32]"; a scalar is "a scalar".
std::string shape_text(const Type&);
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace tilewright::ir

template <>
struct std::hash<tilewright::ir::Type> {
  std::size_t operator()(const tilewright::ir::Type& t) const { return std::hash<std::uint64_t>{}(t.key()); }
};
