// Canonical buffers: the layouts in shared memory that bulk tensor copies write and asynchronous products read, and the parameters of such
// a layout that the hardware needs.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// Rows along axis `inner`, which is contiguous in global memory, are cut into slabs of `slab_bytes` (32, 64 or 128): first all rows of one
/// slab, then those of the next. The chunks of 16 bytes of a row are permuted, so that one chunk of 8 rows is in different banks: the
/// number of a chunk in its slab is XORed with row mod 8 (128 bytes), row / 2 mod 4 (64) or row / 4 mod 2 (32).
///
/// Example: f16 [128, 128] of 128-byte slabs: element (1, 72) is in slab 1, which starts at byte 128 * 128, row 1, chunk 1 ^ 1 = 0.
///
/// The other axes together are the rows, the last one varying fastest. Requires: a row of whole slabs. A slot must be aligned to
/// 8 * slab_bytes, the pattern being one of addresses.
LinearLayout canonical_buffer(const std::vector<int>& log2_extents, int inner, int element_bytes, int slab_bytes);

/// What `matrix_descriptor` and `copy_boxes` return if the hardware cannot use the layout: the reason.
struct NotCanonical {
  std::string reason;
};

/// How asynchronous products address a factor in a buffer (PTX ISA 9.0, section 9.7.15.5.1, "Matrix Descriptor"). An instruction multiplies
/// 32 bytes along K of 64 rows of a, or of the columns of b.
struct MatrixDescriptor {
  bool along_k = true;          // elements are neighbours along K; else along the other axis: the instruction transposes
  int leading = 0, stride = 0;  // bytes
  int slab_bytes = 0;           // width of the swizzle: 32, 64 or 128
  int k_step = 0;               // bytes from an instruction's start to that of the next one along K in the same slab
  int k_steps_of_slab = 0;      // number of steps along K in one slab
  int k_slab = 0;               // bytes from one slab along K to the next
  int group = 0;                // bytes between groups of 64 elements along the other axis

  /// Bytes from the slot to the start of an instruction: step `k` of K, group `m` of 64 rows or columns.
  int offset(int k, int m) const { return k / k_steps_of_slab * k_slab + k % k_steps_of_slab * k_step + m * group; }
  /// Bytes from the slot to row or column `index`. Requires: a multiple of 8, or of the elements of a slab if these are not along K.
  int across(int index) const { return index * (group / 64); }
  /// The least alignment of a slot.
  int alignment() const { return 8 * slab_bytes; }
  /// The 64 bits for an instruction that starts at this address of shared memory.
  std::uint64_t bits(std::uint32_t address) const;
};
/// The descriptor of any layout, or the reason why there is none. `only_k_major`: the instruction cannot transpose (Major::k). Requires: a
/// tile of two axes, of which K is `k_axis`.
std::variant<MatrixDescriptor, NotCanonical> matrix_descriptor(const LinearLayout&, int k_axis, int element_bytes, bool only_k_major);

/// The bulk tensor copies that fill a slot: boxes of one tensor map.
struct CopyBoxes {
  struct Box {
    std::vector<int> first;  // the coordinates in the tile of the box's first element, by axis
    int offset;              // bytes from the slot
  };
  int inner = 0;             // the axis that is contiguous in global memory
  int slab_bytes = 0;        // width of the swizzle
  std::vector<int> extents;  // of every box, by axis
  std::vector<Box> boxes;
};
/// The boxes for any layout, or the reason why there are none.
std::variant<CopyBoxes, NotCanonical> copy_boxes(const LinearLayout&, int element_bytes);

}  // namespace tilewright::ir
