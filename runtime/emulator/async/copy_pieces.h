// Pieces of bulk copies: rows that are contiguous in global memory, whose 16-byte chunks the engine may swizzle in shared memory.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "runtime/emulator/shadow/deferred_reads.h"
#include "runtime/emulator/shadow/shared_shadow.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Rows, each contiguous in global memory; in shared memory all of them together are, but for the swizzle.
struct CopyPiece {
  u64 shared = 0;           // offset in the shared memory of its side
  u64 global = 0;           // address; of a copy between blocks, offset in the source's shared memory
  u32 bytes = 0;            // a row
  bool is_outside = false;  // of the tensor: nothing is read or written there, and loads fill it
  u32 rows = 1;
  u64 stride = 0;  // from one row to the next in global memory

  u64 all_bytes() const { return u64{bytes} * rows; }
};

struct CopyPieces {
  std::vector<CopyPiece> list;
  u32 swizzle = 0;  // bytes within which 16-byte chunks are permuted: 32, 64 or 128; 0: none are

  u64 bytes() const;
};

/// The address in shared memory after swizzling: bits 4 to 6 are combined by xor with as many of bits 7 to 9.
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

/// The global memory of a copy: contiguous rows are one run.
std::vector<GlobalRun> global_runs(const CopyPieces&);

/// The shared memory that a store reads or a load writes, in the order of the pieces. Contiguous chunks are one span: they may share a
/// granule.
std::vector<SharedSpan> read_spans(const CopyPieces&);
std::vector<SharedSpan> written_spans(const CopyPieces&);
/// The shared memory that a load writes, if it is contiguous; 0 bytes if it is not. No two pieces overlap.
SharedSpan whole_span(const CopyPieces&);

/// Copies from global memory to a block's shared memory, and from there to contiguous rows.
void copy_to_shared(std::byte* shared, const CopyPiece&, u32 swizzle);
void copy_from_shared(std::byte* to, const CopyPiece&, u32 swizzle, const std::byte* shared);

}  // namespace tilewright::rt::emulator
