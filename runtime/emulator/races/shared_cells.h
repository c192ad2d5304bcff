// What is remembered of each granule of a block's shared memory. Engines access thousands of them at once, which have few histories: where
// only engines have been, lines with the same history share one cell.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/emulator/memory/shared_span.h"

namespace tilewright::rt::emulator {

/// The last write and the reads of a granule of shared memory. See access_stamp.h.
struct SharedCell {
  static constexpr std::size_t kReads = 3;
  u64 write;
  std::array<u64, kReads> reads;  // by different agents; zeros follow the last one. Of more agents, the first one numbers a list

  /// Whether these bits of all stamps are the same. By hand, because arrays compare by a call of memcmp.
  bool is_like(const SharedCell& other, u64 bits) const {
    u64 differing = write ^ other.write;
    for (std::size_t k = 0; k < kReads; ++k) differing |= reads[k] ^ other.reads[k];
    return (differing & bits) == 0;
  }
  bool operator==(const SharedCell& other) const { return is_like(other, ~u64{0}); }
};

/// A set of lines, by pages.
class SharedLines {
 public:
  static constexpr u32 kLineBytes = 16, kPageLines = 64, kPageBytes = kLineBytes * kPageLines;

  explicit SharedLines(std::span<const SharedSpan>);
  /// Whether the spans consist of whole lines. If not, the set is of no use.
  bool are_whole() const { return are_whole_; }
  /// Bytes that all lines lie between.
  u32 begin() const { return begin_; }
  u32 end() const { return end_; }
  /// Calls f(page, lines), a bit each, until it returns false; false then.
  template <class F>
  bool each_page(F f) const;

 private:
  static constexpr std::size_t kPages = 256;
  void add(u32 first, u32 last);

  bool are_whole_ = true;
  u32 begin_ = ~0u, end_ = 0;
  std::array<u64, kPages> lines_{};
};

template <class F>
bool SharedLines::each_page(F f) const {
  for (std::size_t page = begin_ / kPageBytes; page * kPageBytes < end_; ++page)
    if (lines_[page] != 0 && !f(page, lines_[page])) return false;
  return true;
}

/// The set, moved by whole pages.
class PlacedLines {
 public:
  PlacedLines(const SharedLines& lines, u32 pages = 0) : lines_(lines), pages_(pages) {}  // NOLINT: a set is where it is
  bool are_whole() const { return lines_.are_whole(); }
  u32 begin() const { return lines_.begin() + pages_ * SharedLines::kPageBytes; }
  u32 end() const { return lines_.end() + pages_ * SharedLines::kPageBytes; }
  template <class F>
  bool each_page(F f) const {
    return lines_.each_page([&](std::size_t page, u64 lines) { return f(page + pages_, lines); });
  }

 private:
  const SharedLines& lines_;
  u32 pages_;
};

class SharedCells {
 public:
  struct Group {
    u64 lines;  // of the page, a bit each
    SharedCell cell;
  };

  /// Nobody has accessed any of these bytes. Without engines, all granules get cells of their own at once.
  void reset(u64 bytes, int granule, bool has_engines);
  /// A granule's own cell.
  SharedCell& operator[](u64 granule) {
    if (!are_all_apart_) take_apart(granule, 1);
    return cells_[granule];
  }
  /// The cells of `count` granules that follow each other.
  SharedCell* run(u64 granule, u64 count) {
    if (!are_all_apart_) take_apart(granule, count);
    return cells_.get() + granule;
  }
  /// The cells of a page's lines, which have to be apart.
  template <class F>
  bool each_cell(std::size_t page, u64 lines, F f);

  bool is_apart(std::size_t page) const { return is_apart_[page]; }
  /// Of the bytes of pages that are apart, which have been written: 1 or 0 each. See written_bytes.h.
  u8* written() { return written_.data(); }
  const u8* written() const { return written_.data(); }
  /// The groups of a page that is not apart, and which of its lines have been written.
  std::span<const Group> groups(std::size_t page) const { return {pages_[page].groups.data(), pages_[page].count}; }
  u64 written(std::size_t page) const { return pages_[page].written; }
  /// Gives each granule of the page a cell of its own.
  void take_apart(std::size_t page);
  /// Changes what is remembered of these lines by f(cell), whole groups at once.
  template <class F>
  void update(std::size_t page, u64 lines, F f);
  /// Remembers the same of these lines, which have been written.
  void assign(std::size_t page, u64 lines, const SharedCell&);

 private:
  static constexpr std::size_t kMostGroups = 8;
  struct Page {
    u32 count;
    u64 written;
    std::array<Group, kMostGroups> groups;
  };
  void take_apart(u64 granule, u64 count);
  /// Makes groups of those lines that have one with others, or takes the page apart. Lines of no group are left out.
  void separate(std::size_t page, u64 lines);

  std::unique_ptr<SharedCell[]> cells_;
  std::vector<u8> written_;
  std::size_t capacity_ = 0;
  u32 page_shift_ = 0;  // of granules, to pages
  u32 cells_of_line_ = 1;
  bool are_all_apart_ = false;
  std::vector<u8> is_apart_;  // by page
  std::vector<Page> pages_;
};

template <class F>
bool SharedCells::each_cell(std::size_t page, u64 lines, F f) {
  SharedCell* const first = cells_.get() + (page << page_shift_);
  for (; lines != 0; lines &= lines - 1) {
    SharedCell* const cell = first + static_cast<u32>(std::countr_zero(lines)) * cells_of_line_;
    for (u32 k = 0; k < cells_of_line_; ++k)
      if (!f(cell[k])) return false;
  }
  return true;
}

template <class F>
void SharedCells::update(std::size_t page, u64 lines, F f) {
  if (!is_apart_[page]) separate(page, lines);
  if (is_apart_[page]) {
    each_cell(page, lines, [&](SharedCell& cell) { return f(cell), true; });
    return;
  }
  for (Group& group : std::span(pages_[page].groups).first(pages_[page].count))
    if ((group.lines & lines) != 0) f(group.cell);
}

}  // namespace tilewright::rt::emulator
