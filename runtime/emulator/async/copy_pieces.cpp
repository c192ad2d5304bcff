// Finds the runs of global memory and the spans of shared memory that copies access, and copies their bytes.
#include "runtime/emulator/async/copy_pieces.h"

#include <cstring>

#include "runtime/emulator/simd/cpu_dispatch.h"

namespace tilewright::rt::emulator {
namespace {

void append(std::vector<SharedSpan>& spans, u64 offset, u32 bytes) {
  if (bytes == 0) return;
  if (!spans.empty() && spans.back().offset + spans.back().bytes == offset)
    spans.back().bytes += bytes;
  else
    spans.push_back({static_cast<u32>(offset), bytes});
}

/// Most swizzled chunks have 16 bytes, which do not need a call of memcpy.
void copy_chunk(std::byte* to, const std::byte* from, u32 bytes) {
  if (bytes == 16)
    std::memcpy(to, from, 16);
  else
    std::memcpy(to, from, bytes);
}

constexpr u64 kLine = 128, kChunk = 16;
using Pair = u64 __attribute__((vector_size(2 * kChunk)));

/// Whether the rows consist of whole lines of shared memory, within which the swizzle permutes chunks.
bool has_whole_lines(const CopyPiece& piece, u32 swizzle) { return swizzle != 0 && piece.shared % kLine == 0 && piece.bytes % kLine == 0; }

void copy_lines_to_shared(std::byte* shared, const CopyPiece& piece, u32 swizzle) {
  u64 at = piece.shared;
  for (u64 row = 0; row < piece.rows; ++row) {
    const auto* from = reinterpret_cast<const std::byte*>(piece.global + row * piece.stride);
    for (const u64 end = at + piece.bytes; at < end; at += kLine, from += kLine) {
      const u64 exchanged = swizzled(at, swizzle) ^ at;
      for (u64 pair = 0; pair < kLine; pair += sizeof(Pair)) {
        Pair chunks;
        std::memcpy(&chunks, from + pair, sizeof chunks);
        if ((exchanged & kChunk) != 0) chunks = __builtin_shufflevector(chunks, chunks, 2, 3, 0, 1);
        std::memcpy(shared + at + (pair ^ (exchanged & ~kChunk)), &chunks, sizeof chunks);
      }
    }
  }
}

/// One run for each row; contiguous rows form one run.
std::vector<GlobalRun> runs_of_rows(const CopyPieces& pieces) {
  std::vector<GlobalRun> runs;
  for (const CopyPiece& piece : pieces.list)
    for (u64 row = 0; row < piece.rows && !piece.is_outside; ++row) {
      const u64 address = piece.global + row * piece.stride;
      if (!runs.empty() && runs.back().end() == address)
        runs.back().bytes += piece.bytes;
      else
        runs.push_back({address, piece.bytes});
    }
  return runs;
}

}  // namespace

u64 CopyPieces::bytes() const {
  u64 sum = 0;
  for (const CopyPiece& piece : list) sum += piece.all_bytes();
  return sum;
}

std::vector<GlobalRun> global_runs(const CopyPieces& pieces) {
  std::vector<GlobalRun> runs;
  runs.reserve(pieces.list.size());
  for (const CopyPiece& piece : pieces.list) {
    if (piece.is_outside || piece.bytes == 0) continue;
    const bool is_one = piece.rows == 1 || piece.stride == piece.bytes;
    const GlobalRun run =
        is_one ? GlobalRun{piece.global, piece.all_bytes()} : GlobalRun{piece.global, piece.bytes, piece.rows, piece.stride};
    if (runs.empty() || runs.back().end() != run.address) {
      runs.push_back(run);
      continue;
    }
    // Only some of the rows would form one run with the rows after them.
    if (!is_one || runs.back().rows > 1) return runs_of_rows(pieces);
    runs.back().bytes += run.bytes;
  }
  return runs;
}

std::vector<SharedSpan> read_spans(const CopyPieces& pieces) {
  std::vector<SharedSpan> spans;
  for (const CopyPiece& piece : pieces.list)
    if (!piece.is_outside) each_chunk(piece, pieces.swizzle, [&](u64 offset, u64, u32 bytes) { append(spans, offset, bytes); });
  return spans;
}

std::vector<SharedSpan> written_spans(const CopyPieces& pieces) {
  std::vector<SharedSpan> spans;
  for (const CopyPiece& piece : pieces.list)
    each_chunk(piece, pieces.swizzle, [&](u64 offset, u64, u32 bytes) { append(spans, offset, bytes); });
  return spans;
}

SharedSpan whole_span(const CopyPieces& pieces) {
  u64 begin = ~u64{0}, end = 0, bytes = 0;
  for (const CopyPiece& piece : pieces.list) {
    begin = std::min(begin, piece.shared);
    end = std::max(end, piece.shared + piece.all_bytes());
    bytes += piece.all_bytes();
  }
  const u64 unit = std::max<u64>(pieces.swizzle, 1);
  if (bytes == 0 || bytes != end - begin || begin % unit != 0 || end % unit != 0) return {0, 0};
  return {static_cast<u32>(begin), static_cast<u32>(bytes)};
}

void copy_to_shared(std::byte* shared, const CopyPiece& piece, u32 swizzle) {
  if (has_whole_lines(piece, swizzle)) return call_dispatched<copy_lines_to_shared>(shared, piece, swizzle);
  each_chunk(piece, swizzle,
             [&](u64 offset, u64 global, u32 bytes) { copy_chunk(shared + offset, reinterpret_cast<const std::byte*>(global), bytes); });
}

void copy_from_shared(std::byte* to, const CopyPiece& piece, u32 swizzle, const std::byte* shared) {
  const CopyPiece whole{piece.shared, 0, static_cast<u32>(piece.all_bytes())};
  each_chunk(whole, swizzle, [&](u64 offset, u64 done, u32 bytes) { copy_chunk(to + done, shared + offset, bytes); });
}

}  // namespace tilewright::rt::emulator
