// The emulated devices' tensor maps, which describe a tensor and the box that a bulk tensor copy transfers.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "runtime/emulator/async/copy_pieces.h"

namespace tilewright::rt::emulator {

enum class TensorElement : u8 { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16, tf32, tf32_ftz };  // as in tensormap.replace
enum class TensorSwizzle : u8 { none, bytes32, bytes64, bytes128 };

/// The 128 bytes of a map. As on a GPU, the format is specific to the device.
struct TensorMap {
  static constexpr u64 kMagic = 0x70616d20726f736e;  // "nsor map"
  u64 magic = kMagic;
  u64 reserved = 0;  // programs clear a bit of the second word, which some drivers set wrongly
  u64 address = 0;
  std::array<u64, 4> strides{};  // bytes, for the dimensions above the first
  std::array<u32, 5> last{};     // extents minus one
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
/// The error in the map by the driver's rules, or a feature that this device lacks; empty if there is none.
std::string fault_of(const TensorMap&);
/// The number of the box's elements in each dimension, without those that element strides skip.
std::array<u32, 5> box_extents(const TensorMap&);
/// Bytes of the box in shared memory, including parts outside of the tensor.
u64 box_bytes(const TensorMap&);
/// The pieces of a copy of the box at these coordinates, with the box at `offset` in shared memory.
CopyPieces box_pieces(const TensorMap&, const std::array<s32, 5>& coordinates, u64 offset);
/// The value that loads write outside of the tensor.
u64 fill_of(const TensorMap&);

}  // namespace tilewright::rt::emulator
