// Locates the elements of a wgmma operand in shared memory, by its 64-bit matrix descriptor and the layouts that it selects.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

// PTX ISA, "Matrix Descriptor Format": addresses and distances have 18 bits and are stored without their low 4 bits.
struct MatrixDescriptor {
  u64 start, leading, stride;  // bytes
  u32 base_offset;
  u32 swizzle;  // 0: none; 1, 2, 3: rows of 128, 64 or 32 bytes

  explicit MatrixDescriptor(u64 bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<u32>(bits >> 49 & 7)),
        swizzle(static_cast<u32>(bits >> 62)) {}

  /// The descriptor `bits` with another start address.
  static u64 moved_to(u64 bits, u64 start) { return (bits & ~u64{0x3fff}) | (start >> 4 & 0x3fff); }

  u64 row_bytes() const { return swizzle == 0 ? 16 : 256 >> swizzle; }

  /// The address of 16 bytes of one row along k: chunk 0 or 1 of the 32 bytes that an instruction multiplies.
  u64 chunk_along_k(u64 row, u64 chunk) const {
    const u64 across = row / 8 * stride + row % 8 * row_bytes();
    return swizzled(start + across + chunk * (swizzle == 0 ? leading : 16));
  }

  /// The address of 8 consecutive elements of 16 bits along m or n, at one k.
  u64 chunk_across(u64 k, u64 first) const {
    const u64 across = first / 8;
    const u32 per_row = swizzle == 0 ? 0 : 4 - swizzle;  // chunks in a row, as a power of two
    // Without a swizzle, the two distances exchange their roles (CUTLASS, "mma_sm90_desc.hpp": canonical layouts).
    const u64 offset = swizzle == 0 ? across * stride + k / 8 * leading
                                    : (across >> per_row) * leading + (across & ((1u << per_row) - 1)) * 16 + k / 8 * stride;
    return swizzled(start + offset + k % 8 * row_bytes());
  }

 private:
  /// XORs the chunk's number within a row with the row's number, for rows of 8, 4 or 2 chunks. The pattern depends on the address.
  u64 swizzled(u64 address) const {
    constexpr u64 kChunks[] = {0, 0x70, 0x30, 0x10};
    return address ^ (address >> 3 & kChunks[swizzle]);
  }
};

}  // namespace tilewright::rt::emulator
