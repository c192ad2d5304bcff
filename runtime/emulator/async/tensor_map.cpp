// The rules for tensor maps, and the pieces of a box.
#include "runtime/emulator/async/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::rt::emulator {
namespace {

bool is_floating(TensorElement element) {
  return element == TensorElement::f16 || element == TensorElement::f32 || element == TensorElement::f64 || element == TensorElement::bf16;
}

u32 swizzle_bytes(TensorSwizzle swizzle) { return swizzle == TensorSwizzle::none ? 0 : u32{16} << static_cast<int>(swizzle); }

/// The part of the box's elements in a dimension that is inside of the tensor.
struct Inside {
  u64 begin, end;
  bool has(u64 element) const { return element >= begin && element < end; }
};

Inside inside_of(const TensorMap& map, std::size_t d, s32 coordinate, u64 extent) {
  if (d >= static_cast<std::size_t>(map.rank())) return {0, extent};
  const s64 first = coordinate, last = map.last[d], step = d == 0 ? 1 : map.element_strides[d];
  const s64 begin = first < 0 ? (-first + step - 1) / step : 0, end = last < first ? 0 : (last - first) / step + 1;
  return {std::min(static_cast<u64>(begin), extent), std::min(static_cast<u64>(end), extent)};
}

/// Adds pieces for rows that begin at an offset of shared memory and at addresses that are `stride` apart. `inside`: the bytes of a row
/// that are in the tensor.
void add_rows(CopyPieces& pieces, u64 offset, u64 address, u64 stride, u32 row_bytes, u64 rows, const Inside& inside) {
  const auto add = [&](u64 begin, u64 end, bool is_outside, u64 count) {
    if (begin < end && count > 0)
      pieces.list.push_back({offset + begin, address + begin, static_cast<u32>(end - begin), is_outside, static_cast<u32>(count), stride});
  };
  const bool is_outside = inside.begin >= inside.end;
  // The common case: each row is completely inside or completely outside of the tensor, so all rows form one piece.
  if (is_outside || (inside.begin == 0 && inside.end == row_bytes)) return add(0, row_bytes, is_outside, rows);
  for (u64 row = 0; row < rows; ++row, offset += row_bytes, address += stride) {
    add(0, inside.begin, true, 1);
    add(inside.begin, inside.end, false, 1);
    add(inside.end, row_bytes, true, 1);
  }
}

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
  if (map.magic != TensorMap::kMagic) return "these 128 bytes are not a tensor map";
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

CopyPieces box_pieces(const TensorMap& map, const std::array<s32, 5>& coordinates, u64 offset) {
  const std::array<u32, 5> extents = box_extents(map);
  const u64 element = static_cast<u64>(bytes_of(map.element)), row_bytes = extents[0] * element;
  std::array<Inside, 5> inside;
  std::array<u64, 5> step{};  // bytes between elements
  u64 address = map.address + static_cast<u64>(s64{coordinates[0]}) * element;
  for (std::size_t d = 0; d < 5; ++d) {
    inside[d] = inside_of(map, d, coordinates[d], extents[d]);
    if (d == 0 || d >= static_cast<std::size_t>(map.rank())) continue;
    step[d] = map.element_strides[d] * map.strides[d - 1];
    address += static_cast<u64>(s64{coordinates[d]}) * map.strides[d - 1];
  }
  const Inside bytes{inside[0].begin * element, inside[0].end * element}, none{0, 0};
  CopyPieces pieces;
  pieces.swizzle = swizzle_bytes(map.swizzle);
  const auto add_plane = [&](u64 plane, bool is_inside) {
    const auto [begin, end] = is_inside ? inside[1] : none;
    const auto add = [&](u64 from, u64 to, const Inside& of_row) {
      add_rows(pieces, offset + from * row_bytes, plane + from * step[1], step[1], static_cast<u32>(row_bytes), to - from, of_row);
    };
    add(0, begin, none);
    add(begin, end, bytes);
    add(end, extents[1], none);
    offset += extents[1] * row_bytes;
  };
  for (u64 w = 0; w < extents[4]; ++w)
    for (u64 z = 0; z < extents[3]; ++z)
      for (u64 y = 0; y < extents[2]; ++y)
        add_plane(address + w * step[4] + z * step[3] + y * step[2], inside[4].has(w) && inside[3].has(z) && inside[2].has(y));
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
