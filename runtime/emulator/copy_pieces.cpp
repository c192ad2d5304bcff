// Runs and spans of pieces, and their bytes.
#include "runtime/emulator/copy_pieces.h"

#include <cstring>

namespace tilewright::rt::emulator {
namespace {

constexpr u64 kLine = 128, kChunk = 16;

void append(std::vector<SharedSpan>& spans, u64 offset, u32 bytes) {
  if (bytes == 0) return;
  if (!spans.empty() && spans.back().offset + spans.back().bytes == offset)
    spans.back().bytes += bytes;
  else
    spans.push_back({static_cast<u32>(offset), bytes});
}

/// Calls copy(offset of shared memory, done, bytes) for all chunks of a piece. Whole lines are what almost all pieces consist of: the size
/// of their chunks is known here, which saves a call each, and they change places alike.
template <class Copy>
void each_copy(const CopyPiece& piece, u32 swizzle, Copy copy) {
  if (swizzle == 0 || piece.shared % kLine != 0 || piece.bytes % kLine != 0)
    return each_chunk(piece, swizzle, [&](u64 offset, u64 done, u32 bytes) { copy(offset, done, bytes); });
  for (u64 line = 0; line < piece.bytes; line += kLine) {
    const u64 at = piece.shared + line, exchange = swizzled(at, swizzle) ^ at;
    for (u64 chunk = 0; chunk < kLine; chunk += kChunk) copy(at + (chunk ^ exchange), line + chunk, std::integral_constant<u32, kChunk>{});
  }
}

}  // namespace

u64 CopyPieces::bytes() const {
  u64 sum = 0;
  for (const CopyPiece& piece : list) sum += piece.bytes;
  return sum;
}

std::vector<GlobalRun> global_runs(const CopyPieces& pieces) {
  std::vector<GlobalRun> runs;
  runs.reserve(pieces.list.size());
  for (const CopyPiece& piece : pieces.list) {
    if (piece.is_outside || piece.bytes == 0) continue;
    if (!runs.empty() && piece.global == runs.back().address + runs.back().bytes)
      runs.back().bytes += piece.bytes;
    else
      runs.push_back({piece.global, piece.bytes});
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
    end = std::max(end, piece.shared + piece.bytes);
    bytes += piece.bytes;
  }
  const u64 unit = std::max<u64>(pieces.swizzle, 1);
  if (bytes == 0 || bytes != end - begin || begin % unit != 0 || end % unit != 0) return {0, 0};
  return {static_cast<u32>(begin), static_cast<u32>(bytes)};
}

void copy_to_shared(std::byte* shared, const CopyPiece& piece, u32 swizzle, const std::byte* from) {
  each_copy(piece, swizzle, [&](u64 offset, u64 done, auto bytes) { std::memcpy(shared + offset, from + done, bytes); });
}

void copy_from_shared(std::byte* to, const CopyPiece& piece, u32 swizzle, const std::byte* shared) {
  each_copy(piece, swizzle, [&](u64 offset, u64 done, auto bytes) { std::memcpy(to + done, shared + offset, bytes); });
}

}  // namespace tilewright::rt::emulator
