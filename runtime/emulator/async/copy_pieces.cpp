// Runs and spans of pieces, and their bytes.
#include "runtime/emulator/async/copy_pieces.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

/// Rows of whole lines on their way, the one side of which is shared memory from `offset` on.
struct Rows {
  std::byte* to;
  const std::byte* from;
  u64 to_stride, from_stride;
  u64 bytes, count;  // a row, and rows
  u64 offset;
  u32 swizzle;
};

using CopyLine = void (*)(std::byte* to, const std::byte* from, u64 exchange);

/// Chunk by chunk. Chunks change places in pairs: it does not matter which side they do so on.
[[gnu::always_inline]] inline void copy_line(std::byte* to, const std::byte* from, u64 exchange) {
  for (u64 chunk = 0; chunk < kLine; chunk += kChunk) std::memcpy(to + (chunk ^ exchange), from + chunk, kChunk);
}

template <CopyLine Copy>
[[gnu::always_inline]] inline void copy_rows_by(const Rows& rows) {
  u64 at = rows.offset;
  for (u64 row = 0; row < rows.count; ++row)
    for (u64 line = 0; line < rows.bytes; line += kLine, at += kLine)
      Copy(rows.to + row * rows.to_stride + line, rows.from + row * rows.from_stride + line, swizzled(at, rows.swizzle) ^ at);
}

#if defined(__x86_64__)
/// Two chunks at a time.
__attribute__((target("avx2"))) inline void copy_line_by_avx2(std::byte* to, const std::byte* from, u64 exchange) {
  constexpr u64 kPair = 2 * kChunk;
  const __m256i words =
      _mm256_xor_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(exchange % kPair / sizeof(u32))));
  for (u64 pair = 0; pair < kLine; pair += kPair) {
    const __m256i chunks = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + pair));
    const u64 place = pair ^ (exchange / kPair * kPair);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + place), _mm256_permutevar8x32_epi32(chunks, words));
  }
}

__attribute__((target("avx2"), flatten)) void copy_rows_by_avx2(const Rows& rows) { copy_rows_by<copy_line_by_avx2>(rows); }
#endif

void copy_rows(const Rows& rows) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return copy_rows_by_avx2(rows);
#endif
  copy_rows_by<copy_line>(rows);
}

/// Whole lines, as almost all pieces consist of.
bool exchanges_lines(const CopyPiece& piece, u32 swizzle) { return swizzle != 0 && piece.shared % kLine == 0 && piece.bytes % kLine == 0; }

/// The rows one by one, those that follow each other as one.
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
    // Only a part of the rows would be one with what follows.
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
  const auto* from = reinterpret_cast<const std::byte*>(piece.global);
  if (exchanges_lines(piece, swizzle))
    return copy_rows({shared + piece.shared, from, piece.bytes, piece.stride, piece.bytes, piece.rows, piece.shared, swizzle});
  each_chunk(piece, swizzle,
             [&](u64 offset, u64 global, u32 bytes) { std::memcpy(shared + offset, reinterpret_cast<const void*>(global), bytes); });
}

void copy_from_shared(std::byte* to, const CopyPiece& piece, u32 swizzle, const std::byte* shared) {
  const CopyPiece whole{piece.shared, 0, static_cast<u32>(piece.all_bytes())};
  if (exchanges_lines(whole, swizzle)) return copy_rows({to, shared + whole.shared, 0, 0, whole.bytes, 1, whole.shared, swizzle});
  each_chunk(whole, swizzle, [&](u64 offset, u64 done, u32 bytes) { std::memcpy(to + done, shared + offset, bytes); });
}

}  // namespace tilewright::rt::emulator
