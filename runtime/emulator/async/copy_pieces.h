// Pieces of bulk copies: rows that are contiguous in global memory, and whose 16-byte chunks may be swizzled in shared memory.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "runtime/emulator/shadow/deferred_reads.h"
#include "runtime/emulator/shadow/shared_shadow.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Rows, each contiguous in global memory; in shared memory all rows together are contiguous, apart from the swizzle.
struct CopyPiece {
  u64 shared = 0;           // offset in the shared memory of the block that is read or written
  u64 global = 0;           // address; for a copy between blocks: the offset in the source's shared memory
  u32 bytes = 0;            // bytes of a row
  bool is_outside = false;  // outside of the tensor: nothing is read or written there, and loads fill it
  u32 rows = 1;
  u64 stride = 0;  // distance between rows in global memory

  u64 all_bytes() const { return u64{bytes} * rows; }
};

struct CopyPieces {
  std::vector<CopyPiece> list;
  u32 swizzle = 0;  // bytes within which 16-byte chunks are permuted: 32, 64 or 128; 0: no swizzle

  u64 bytes() const;
};

/// The address after swizzling: 1, 2 or 3 bits from bit 4 up (swizzles of 32, 64, 128 bytes) are XORed with the bits three above.
inline u64 swizzled(u64 address, u32 swizzle) { return swizzle == 0 ? address : address ^ ((address >> 3) & (swizzle - 16)); }

/// Calls f(offset, global, bytes) for each part that is contiguous in both memories.
template <class F>
void each_chunk(const CopyPiece& piece, u32 swizzle, F f) {
  u64 at = piece.shared;
  for (u64 row = 0; row < piece.rows; ++row) {
    const u64 end = at + piece.bytes;
    for (u64 global = piece.global + row * piece.stride; at < end;) {
      const u64 stop = swizzle == 0 ? end : std::min((at | 15) + 1, end);
      f(swizzled(at, swizzle), global, static_cast<u32>(stop - at));
      global += stop - at;
      at = stop;
    }
  }
}

/// The runs of global memory that a copy accesses; contiguous rows form one run.
std::vector<GlobalRun> global_runs(const CopyPieces&);

/// The spans of shared memory that a store reads or a load writes, in the order of the pieces. Contiguous chunks form one span, since they
/// may share a granule.
std::vector<SharedSpan> read_spans(const CopyPieces&);
std::vector<SharedSpan> written_spans(const CopyPieces&);
/// The shared memory that a load writes, if it is contiguous; else 0 bytes. No two pieces overlap.
SharedSpan whole_span(const CopyPieces&);

/// Copies from global memory to a block's shared memory, and from shared memory to contiguous rows.
void copy_to_shared(std::byte* shared, const CopyPiece&, u32 swizzle);
void copy_from_shared(std::byte* to, const CopyPiece&, u32 swizzle, const std::byte* shared);

}  // namespace tilewright::rt::emulator
