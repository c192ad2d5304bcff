// Tensor maps: their rules, and the pieces of a box.
#include "runtime/emulator/tensor_map.h"

#include <fmt/format.h>

namespace tilewright::rt::emulator {
namespace {

bool is_floating(TensorElement element) {
  return element == TensorElement::f16 || element == TensorElement::f32 || element == TensorElement::f64 || element == TensorElement::bf16;
}

u32 swizzle_bytes(TensorSwizzle swizzle) { return swizzle == TensorSwizzle::none ? 0 : u32{16} << static_cast<int>(swizzle); }

}  // namespace

int bytes_of(TensorElement element) {
  switch (element) {
    case TensorElement::u8: return 1;
    case TensorElement::u16:
    case TensorElement::f16:
    case TensorElement::bf16: return 2;
    case TensorElement::u64:
    case TensorElement::s64:
    case TensorElement::f64: return 8;
    default: return 4;
  }
}

std::string fault_of(const TensorMap& map) {
  const int rank = map.rank();
  if (map.magic != TensorMap::kMagic) return "these 128 bytes are no tensor map";
  if (rank > 5) return fmt::format("a rank of {}: expected 1 to 5", rank);
  if (map.element == TensorElement::f32_ftz || map.element >= TensorElement::tf32) return "elements that a copy changes are not supported";
  if (map.interleave != 0) return "interleaved tensors are not supported";
  if (map.swizzle > TensorSwizzle::bytes128) return "an unknown swizzle";
  if (map.address % 16 != 0) return fmt::format("the address 0x{:x} of the tensor: expected a multiple of 16", map.address);
  if (map.fills_nan && !is_floating(map.element)) return "NaN as what lies outside of a tensor of integers";
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (map.box[d] == 0 || map.box[d] > 256) return fmt::format("{} elements of the box in dimension {}: expected 1 to 256", map.box[d], d);
    if (map.element_strides[d] == 0 || map.element_strides[d] > 8)
      return fmt::format("an element stride of {} in dimension {}: expected 1 to 8", map.element_strides[d], d);
    if (d == 0) continue;
    const u64 stride = map.strides[d - 1];
    if (stride % 16 != 0 || stride >= u64{1} << 40)
      return fmt::format("a stride of {} bytes in dimension {}: expected a multiple of 16 below 2^40", stride, d);
  }
  const u64 inner = u64{map.box[0]} * static_cast<u64>(bytes_of(map.element)), most = swizzle_bytes(map.swizzle);
  if (inner % 16 != 0) return fmt::format("a row of the box of {} bytes: expected a multiple of 16", inner);
  if (most != 0 && inner > most) return fmt::format("a row of the box of {} bytes: expected at most the {} of the swizzle", inner, most);
  return "";
}

std::array<u32, 5> box_extents(const TensorMap& map) {
  std::array<u32, 5> extents{1, 1, 1, 1, 1};
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank()); ++d) {
    // Without interleaving, the first dimension has no stride.
    const u32 stride = d == 0 ? 1 : map.element_strides[d];
    extents[d] = (map.box[d] + stride - 1) / stride;
  }
  return extents;
}

u64 box_bytes(const TensorMap& map) {
  u64 bytes = static_cast<u64>(bytes_of(map.element));
  for (const u32 extent : box_extents(map)) bytes *= extent;
  return bytes;
}

CopyPieces box_pieces(const TensorMap& map, std::span<const s32> coordinates, u64 offset) {
  const std::array<u32, 5> extents = box_extents(map);
  const u64 element = static_cast<u64>(bytes_of(map.element)), row_bytes = extents[0] * element;
  const u64 rows = u64{extents[1]} * extents[2] * extents[3] * extents[4];
  CopyPieces pieces;
  pieces.swizzle = swizzle_bytes(map.swizzle);
  // Mostly a row is one piece.
  pieces.list.resize(rows);
  std::size_t count = 0;
  const auto add = [&](u64 shared, u64 global, u64 bytes, bool is_outside) {
    if (bytes == 0) return;
    if (count == pieces.list.size()) pieces.list.resize(count + rows);
    pieces.list[count++] = {shared, global, static_cast<u32>(bytes), is_outside};
  };
  // The part of each row that lies in the tensor, in bytes of the row.
  const s64 first = s64{coordinates[0]}, end = s64{map.last[0]} + 1;
  const u64 inside_begin = std::min(row_bytes, static_cast<u64>(std::max<s64>(0, -first)) * element);
  const u64 inside_end = std::min(row_bytes, static_cast<u64>(std::max<s64>(0, end - first)) * element);
  const auto dimensions = static_cast<std::size_t>(map.rank());
  std::array<u32, 5> in_box{};  // of the row
  for (u64 row = 0; row < rows; ++row, offset += row_bytes) {
    u64 address = map.address + static_cast<u64>(first) * element;
    bool is_outside = false;
    for (std::size_t d = 1; d < dimensions; ++d) {
      const s64 at = s64{coordinates[d]} + s64{in_box[d]} * map.element_strides[d];
      is_outside |= at < 0 || at > s64{map.last[d]};
      address += static_cast<u64>(at) * map.strides[d - 1];
    }
    for (std::size_t d = 1; d < dimensions && ++in_box[d] == extents[d]; ++d) in_box[d] = 0;
    const u64 begin = is_outside ? row_bytes : inside_begin, stop = is_outside ? row_bytes : std::max(inside_begin, inside_end);
    add(offset, address, begin, true);
    add(offset + begin, address + begin, stop - begin, false);
    add(offset + stop, address + stop, row_bytes - stop, true);
  }
  pieces.list.resize(count);
  return pieces;
}

u64 fill_of(const TensorMap& map) {
  if (!map.fills_nan) return 0;
  switch (bytes_of(map.element)) {
    case 2: return 0x7fff;
    case 4: return 0x7fff'ffff;
    default: return 0x7fff'ffff'ffff'ffff;
  }
}

}  // namespace tilewright::rt::emulator
