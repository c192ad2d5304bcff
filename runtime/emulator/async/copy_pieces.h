// What a bulk copy touches of both memories: rows that lie together, which the engine may take apart in shared memory.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "runtime/emulator/races/late_reads.h"
#include "runtime/emulator/races/shared_cells.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Rows, each of which lies together in global memory; in shared memory all of them would, if the engine did not exchange chunks.
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
  u32 swizzle = 0;  // bytes within which 16-byte chunks are exchanged: 32, 64 or 128; 0: none are

  u64 bytes() const;
};

/// Chunks of shared memory change places: bits 4 to 6 of an address with as many of bits 7 to 9.
inline u64 swizzled(u64 address, u32 swizzle) { return swizzle == 0 ? address : address ^ ((address >> 3) & (swizzle - 16)); }

/// Calls f(offset, global, bytes) for what lies together in both memories.
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

/// What the copy touches of global memory: rows that follow each other there are one run.
std::vector<GlobalRun> global_runs(const CopyPieces&);

/// What the copy touches of shared memory in the order of its pieces, or all that loads write there. Chunks that follow each other are one:
/// they may meet within a granule.
std::vector<SharedSpan> read_spans(const CopyPieces&);
std::vector<SharedSpan> written_spans(const CopyPieces&);
/// All that loads write, if it lies together; 0 bytes if it does not. No two pieces overlap.
SharedSpan whole_span(const CopyPieces&);

/// From global memory to a block's shared memory, and from there to where all rows follow each other.
void copy_to_shared(std::byte* shared, const CopyPiece&, u32 swizzle);
void copy_from_shared(std::byte* to, const CopyPiece&, u32 swizzle, const std::byte* shared);

}  // namespace tilewright::rt::emulator
