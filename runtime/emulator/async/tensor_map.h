// The emulated devices' tensor maps: what a bulk tensor copy knows of a tensor and of the box that it copies.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "runtime/emulator/async/copy_pieces.h"

namespace tilewright::rt::emulator {

enum class TensorElement : u8 { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16, tf32, tf32_ftz };  // as tensormap.replace counts
enum class TensorSwizzle : u8 { none, bytes32, bytes64, bytes128 };

/// The 128 bytes of a map. As on a GPU, their format is the device's own.
struct TensorMap {
  static constexpr u64 kMagic = 0x70616d20726f736e;  // "nsor map"
  u64 magic = kMagic;
  u64 reserved = 0;  // programs clear a bit of the second word, for drivers that set it wrongly
  u64 address = 0;
  std::array<u64, 4> strides{};  // bytes, of the dimensions above the first
  std::array<u32, 5> last{};     // extents less one
  std::array<u16, 5> box{};
  std::array<u8, 5> element_strides{};
  u8 rank_less_one = 0;
  TensorElement element = TensorElement::u8;
  u8 interleave = 0;
  TensorSwizzle swizzle = TensorSwizzle::none;
  u8 fills_nan = 0;

  int rank() const { return rank_less_one + 1; }
};
static_assert(sizeof(TensorMap) <= 128);

int bytes_of(TensorElement);
/// What is wrong with the map by the rules of the driver, or with what this device knows; empty if nothing is.
std::string fault_of(const TensorMap&);
/// Elements of the box in each dimension: those that the strides do not leave out.
std::array<u32, 5> box_extents(const TensorMap&);
/// Bytes of the box in shared memory, parts outside of the tensor included.
u64 box_bytes(const TensorMap&);
/// What a copy of the box at these coordinates copies, with the box at `offset` of shared memory.
CopyPieces box_pieces(const TensorMap&, const std::array<s32, 5>& coordinates, u64 offset);
/// What loads write outside of the tensor.
u64 fill_of(const TensorMap&);

}  // namespace tilewright::rt::emulator
