// Slices of bulk copies with several rows, compared with one slice for each row.
#include <doctest/doctest.h>

#include "runtime/emulator/async/copy_pieces.h"

namespace tilewright::rt::emulator {
namespace {

CopyPieces row_by_row(const CopyPieces& pieces) {
  CopyPieces rows{{}, pieces.swizzle};
  for (const CopyPiece& piece : pieces.list)
    for (u64 row = 0; row < piece.rows; ++row)
      rows.list.push_back({piece.shared + row * piece.bytes, piece.global + row * piece.stride, piece.bytes, piece.is_outside});
  return rows;
}

std::vector<std::pair<u64, u64>> rows_of(const std::vector<GlobalRun>& runs) {
  std::vector<std::pair<u64, u64>> rows;
  for (const GlobalRun& run : runs) run.each_row([&](u64 address, u64 bytes) { rows.emplace_back(address, bytes); });
  return rows;
}

std::vector<std::pair<u32, u32>> bytes_of(const std::vector<SharedSpan>& spans) {
  std::vector<std::pair<u32, u32>> bytes;
  for (const auto& [offset, count] : spans) bytes.emplace_back(offset, count);
  return bytes;
}

}  // namespace

TEST_CASE("emulator copy pieces: rows of one piece are the runs and spans that they would be as pieces of their own") {
  const std::vector<std::vector<CopyPiece>> boxes = {
      {{0, 4096, 128, false, 8, 512}},
      {{0, 4096, 128, false, 8, 128}},
      {{0, 4096, 128, false, 8, 0}},
      {{0, 4096, 64, false, 4, 256}, {256, 8192, 64, false, 4, 256}},
      // Each begins where the one before it ends.
      {{0, 4096, 64, false, 4, 256}, {256, 4096 + 3 * 256 + 64, 64, false, 4, 256}},
      {{0, 4096, 64, false, 4, 64}, {256, 4096 + 256, 64, false, 4, 256}},
      {{0, 4096, 64, false, 4, 64}, {256, 4096 + 256, 64, false, 4, 64}},
      {{0, 4096, 64, false, 4, 256}, {256, 4096 + 3 * 256 + 64, 16, false}},
      {{0, 0, 64, true, 2, 256}, {128, 4096, 64, false, 2, 256}, {256, 0, 64, true, 3, 256}, {448, 9000, 64, false, 1, 256}},
  };
  for (const auto& list : boxes)
    for (const u32 swizzle : {0u, 64u, 128u}) {
      const CopyPieces pieces{list, swizzle}, rows = row_by_row(pieces);
      CHECK(rows_of(global_runs(pieces)) == rows_of(global_runs(rows)));
      CHECK(bytes_of(read_spans(pieces)) == bytes_of(read_spans(rows)));
      CHECK(bytes_of(written_spans(pieces)) == bytes_of(written_spans(rows)));
      CHECK(pieces.bytes() == rows.bytes());
      CHECK(whole_span(pieces).bytes == whole_span(rows).bytes);
    }
}

TEST_CASE("emulator copy pieces: rows of one piece are copied as pieces of their own are, and come back as they were") {
  std::vector<std::byte> global(4096);
  for (std::size_t i = 0; i < global.size(); ++i) global[i] = static_cast<std::byte>(i * 7 + i / 256);
  const auto first = reinterpret_cast<u64>(global.data());
  for (const u32 bytes : {16u, 32u, 48u, 64u, 128u, 256u})
    for (const u32 swizzle : {0u, 32u, 64u, 128u})
      for (const u64 shared : {u64{0}, u64{128}, u64{48}}) {
        const CopyPiece piece{shared, first + 16, bytes, false, 8, 336};
        std::vector<std::byte> as_one(4096), by_row(4096), chunks(4096), back(8 * bytes);
        copy_to_shared(as_one.data(), piece, swizzle);
        for (const CopyPiece& row : row_by_row({{piece}, swizzle}).list) copy_to_shared(by_row.data(), row, swizzle);
        each_chunk(piece, swizzle, [&](u64 offset, u64 address, u32 count) {
          for (u32 i = 0; i < count; ++i) chunks[offset + i] = global[address - first + i];
        });
        CHECK(as_one == by_row);
        CHECK(as_one == chunks);
        copy_from_shared(back.data(), piece, swizzle, as_one.data());
        for (u32 row = 0; row < 8; ++row)
          CHECK(std::equal(back.begin() + row * bytes, back.begin() + (row + 1) * bytes, global.begin() + 16 + row * 336));
      }
}

}  // namespace tilewright::rt::emulator
