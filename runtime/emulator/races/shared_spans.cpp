// One check of races for all spans.
#include "runtime/emulator/races/shared_spans.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "runtime/emulator/memory/written_bytes.h"
#include "runtime/emulator/races/access_stamp.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u32 kLineBytes = SharedLines::kLineBytes, kPageBytes = SharedLines::kPageBytes;

/// Whether there are mbarriers anywhere between the first and the last of these bytes.
bool may_meet_mbarriers(const Block& block, PlacedLines lines) {
  const u32 begin = lines.begin();
  const auto next = block.mbarriers.lower_bound(begin < 8 ? 0 : begin - 7);
  return next != block.mbarriers.end() && next->first < lines.end();
}

/// Whether an engine's access comes after both writes or neither, where it comes after all that the agent did: lanes and instructions make
/// no difference then.
bool are_alike(u64 write, u64 other) { return ((write ^ other) & ~(kLane | kStrong | kInstruction)) == 0; }

bool is_list(const SharedCell& cell) { return cell.reads[0] & kMany; }

/// Calls f(cell) for the cells of these lines until it returns false, once for those with the same history.
template <class F>
bool each_history(SharedCells& cells, std::size_t page, u64 lines, F f) {
  if (!cells.is_apart(page)) {
    for (const SharedCells::Group& group : cells.groups(page))
      if ((group.lines & lines) != 0 && !f(group.cell)) return false;
    return true;
  }
  // Cells side by side mostly have the same one.
  const SharedCell* last = nullptr;
  return cells.each_cell(page, lines, [&](const SharedCell& cell) {
    if (last != nullptr && cell == *last) return true;
    last = &cell;
    return f(cell);
  });
}

bool are_written(const Block& block, std::size_t page, u64 lines) {
  if (!block.cells.is_apart(page)) return (lines & ~block.cells.written(page)) == 0;
  const u8* const first = block.cells.written() + page * kPageBytes;
  if (lines == ~u64{0}) return find_unwritten(first, kPageBytes) == nullptr;
  for (; lines != 0; lines &= lines - 1)
    if (find_unwritten(first + static_cast<u32>(std::countr_zero(lines)) * kLineBytes, kLineBytes) != nullptr) return false;
  return true;
}

/// The writes that a read comes after, where another warp that does it for the same engine need not look at their cells again. Nothing if
/// there is something to find, or too much to remember.
class WritesBefore {
 public:
  explicit WritesBefore(const SharedCheck& check) : check_(check) {}
  void add(u64 write) {
    if (!is_good_ || (last_ != 0 && are_alike(write, last_))) return;
    last_ = write;
    const auto end = writes_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::any_of(writes_.begin(), end, [&](u64 other) { return are_alike(other, write); })) return;
    is_good_ = write != 0 && count_ < writes_.size() && check_.all_may_read_after(write);
    if (is_good_) writes_[count_++] = write;
  }
  std::optional<EngineRead> as_read(u32 epoch, u64 writes) const {
    return is_good_ ? std::optional(EngineRead{epoch, writes, writes_}) : std::nullopt;
  }

 private:
  const SharedCheck& check_;
  std::array<u64, std::tuple_size_v<decltype(EngineRead::after)>> writes_{};
  std::size_t count_ = 0;
  u64 last_ = 0;
  bool is_good_ = true;
};

/// Whether there is nothing to find about a lane's reads of these lines, which have been remembered then. If not, so have been some.
/// `before`: null if nobody asks.
bool read_lines(SharedCheck& check, Block& block, int lane, PlacedLines lines, WritesBefore* before) {
  if (!lines.are_whole() || may_meet_mbarriers(block, lines)) return false;
  return lines.each_page([&](std::size_t page, u64 of_page) {
    if (!are_written(block, page, of_page)) return false;
    bool may_be_many = false;
    const bool may = each_history(block.cells, page, of_page, [&](const SharedCell& cell) {
      may_be_many |= cell.reads.back() != 0;
      if (before != nullptr) before->add(cell.write);
      return !is_list(cell) && check.may_read_after(cell.write, lane);
    });
    if (!may) return false;
    // Cells have lists of their own.
    if (may_be_many && !block.cells.is_apart(page)) block.cells.take_apart(page);
    block.cells.update(page, of_page, [&](SharedCell& cell) { check.remember_read(cell, lane); });
    return true;
  });
}

bool write_lines(SharedCheck& check, Block& block, int lane, PlacedLines lines) {
  if (!lines.are_whole() || may_meet_mbarriers(block, lines)) return false;
  const bool is_good = lines.each_page([&](std::size_t page, u64 of_page) {
    return each_history(block.cells, page, of_page,
                        [&](const SharedCell& cell) { return !is_list(cell) && check.may_write_after(cell, lane); });
  });
  if (!is_good) return false;
  lines.each_page([&](std::size_t page, u64 of_page) {
    block.cells.assign(page, of_page, check.written_by(lane));
    return true;
  });
  ++block.writes;
  return true;
}

}  // namespace

void check_shared_reads(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedCheck check(by, block);
  if (read_lines(check, block, lane, SharedLines(spans), nullptr)) return;
  for (const SharedSpan& at : spans) check.read(lane, at.offset, static_cast<int>(at.bytes));
}

std::optional<EngineRead> check_shared_reads(const Accessor& by, Block& block, int lane, PlacedLines lines, bool asked) {
  SharedCheck check(by, block);
  WritesBefore before(check);
  if (read_lines(check, block, lane, lines, asked ? &before : nullptr))
    return asked ? before.as_read(by.epoch, block.writes) : std::nullopt;
  lines.each_page([&](std::size_t page, u64 of_page) {
    for (; of_page != 0; of_page &= of_page - 1)
      check.read(lane, page * kPageBytes + static_cast<u32>(std::countr_zero(of_page)) * kLineBytes, kLineBytes);
    return true;
  });
  return std::nullopt;
}

bool write_without_findings(const Accessor& by, Block& block, int lane, const SharedSpan& at) {
  SharedCheck check(by, block);
  block.undefined.define(at.offset, at.bytes);
  return write_lines(check, block, lane, SharedLines({&at, 1}));
}

void check_shared_writes(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedCheck check(by, block);
  for (const SharedSpan& at : spans) block.undefined.define(at.offset, at.bytes);
  if (write_lines(check, block, lane, SharedLines(spans))) return;
  for (const SharedSpan& at : spans) check.write(lane, at.offset, static_cast<int>(at.bytes), nullptr);
}

bool is_read_already(const Accessor& by, Block& block, const EngineRead& read) {
  if (read.epoch != by.epoch || read.writes != block.writes) return false;
  SharedCheck check(by, block);
  return std::all_of(read.after.begin(), std::ranges::find(read.after, u64{0}), [&](u64 write) { return check.all_may_read_after(write); });
}

}  // namespace tilewright::rt::emulator
