// Shadow memory of a block's shared memory: a cell for each granule, which holds the epochs of its last write and of the reads since then.
// Engines access thousands of granules at once, which have few different histories: as long as only engines access a page, its lines with
// the same history share one cell.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// A part of a block's shared memory.
struct SharedSpan {
  u32 offset, bytes;
};

/// The last write to a granule of shared memory, and the reads since then, as epochs (shadow/epoch.h); 0: none.
struct SharedShadowCell {
  static constexpr std::size_t kReads = 3;
  u64 write;
  std::array<u64, kReads> reads;  // by different agents, then zeros; if there are too many, the first entry numbers a list

  // Written by hand, because arrays compare by a call of memcmp.
  bool operator==(const SharedShadowCell& other) const {
    u64 differing = write ^ other.write;
    for (std::size_t k = 0; k < kReads; ++k) differing |= reads[k] ^ other.reads[k];
    return differing == 0;
  }
};

/// A read by an engine that had nothing to report.
struct EngineRead {
  u32 time = 0;                // time of the engine
  u64 writes = 0;              // the block's writes at that time
  std::array<u64, 4> after{};  // the epochs of the writes in its cells
};

/// A set of lines, by pages.
class SharedLines {
 public:
  static constexpr u32 kLineBytes = 16, kPageLines = 64, kPageBytes = kLineBytes * kPageLines;

  explicit SharedLines(std::span<const SharedSpan>);
  /// Whether the spans consist of whole lines. If not, the set must not be used.
  bool are_whole() const { return are_whole_; }
  /// The first byte of the first line, and the end of the last line.
  u32 begin() const { return begin_; }
  u32 end() const { return end_; }
  /// Calls f(page, lines), with a bit for each line, until it returns false; then returns false.
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

/// A set of lines that is moved up by whole pages.
class ShiftedLines {
 public:
  explicit ShiftedLines(const SharedLines& lines, u32 pages = 0) : lines_(lines), pages_(pages) {}
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

/// The shadow cells of one block.
class SharedShadow {
 public:
  struct Group {
    u64 lines;  // lines of the page, one bit each
    SharedShadowCell cell;
  };

  /// Forgets all accesses. `groups_lines`: lines may share cells; otherwise all granules have cells of their own.
  void reset(u64 bytes, int granule, bool groups_lines);
  /// The cell of one granule.
  SharedShadowCell& operator[](u64 granule) {
    if (!are_all_split_) split(granule, 1);
    return cells_[granule];
  }
  /// The cells of `count` consecutive granules.
  SharedShadowCell* run(u64 granule, u64 count) {
    if (!are_all_split_) split(granule, count);
    return cells_.get() + granule;
  }
  /// The cells of a page's lines. Requires: the page is split.
  template <class F>
  bool each_cell(std::size_t page, u64 lines, F f);

  bool is_split(std::size_t page) const { return is_split_[page]; }
  /// For bytes of split pages: whether they were written, as a byte of 1 or 0 each. See written_bytes.h.
  u8* written() { return written_.data(); }
  const u8* written() const { return written_.data(); }
  /// The groups of a page that is not split. They also show which of its lines were written.
  std::span<const Group> groups(std::size_t page) const { return {pages_[page].groups.data(), pages_[page].count}; }
  u64 written(std::size_t page) const { return pages_[page].written; }
  /// Gives each granule of the page a cell of its own.
  void split(std::size_t page);
  /// Applies f(cell) to the cells of these lines, to whole groups at once.
  template <class F>
  void update(std::size_t page, u64 lines, F f);
  /// Gives these lines, which have been written, this cell.
  void assign(std::size_t page, u64 lines, const SharedShadowCell&);

  /// The lists of reads, by number, for cells that too many agents have read.
  std::vector<u64>& list(u32 number) { return lists_[number]; }
  u32 add_list();
  void free_list(u32 number) { free_lists_.push_back(number); }

 private:
  static constexpr std::size_t kMostGroups = 8;
  struct Page {
    u32 count;
    u64 written;
    std::array<Group, kMostGroups> groups;
  };
  void split(u64 granule, u64 count);
  /// Splits groups that contain both these lines and others, or the whole page if it has too many groups.
  void separate(std::size_t page, u64 lines);

  std::unique_ptr<SharedShadowCell[]> cells_;
  std::vector<u8> written_;
  std::size_t capacity_ = 0;
  u32 page_shift_ = 0;  // from granules to pages
  u32 cells_of_line_ = 1;
  bool are_all_split_ = false;
  std::vector<u8> is_split_;  // indexed by page
  std::vector<Page> pages_;
  std::vector<std::vector<u64>> lists_;
  std::vector<u32> free_lists_;
};

template <class F>
bool SharedShadow::each_cell(std::size_t page, u64 lines, F f) {
  SharedShadowCell* const first = cells_.get() + (page << page_shift_);
  for (; lines != 0; lines &= lines - 1) {
    SharedShadowCell* const cell = first + static_cast<u32>(std::countr_zero(lines)) * cells_of_line_;
    for (u32 k = 0; k < cells_of_line_; ++k)
      if (!f(cell[k])) return false;
  }
  return true;
}

template <class F>
void SharedShadow::update(std::size_t page, u64 lines, F f) {
  if (!is_split_[page]) separate(page, lines);
  if (is_split_[page]) {
    each_cell(page, lines, [&](SharedShadowCell& cell) { return f(cell), true; });
    return;
  }
  for (Group& group : std::span(pages_[page].groups).first(pages_[page].count))
    if ((group.lines & lines) != 0) f(group.cell);
}

}  // namespace tilewright::rt::emulator
