// One check of races for all spans.
#include "runtime/emulator/shared_spans.h"

#include <algorithm>
#include <bit>

#include "runtime/emulator/access_stamp.h"
#include "runtime/emulator/written_bytes.h"

namespace tilewright::rt::emulator {
namespace {

int shift_of(const Accessor& by) { return std::countr_zero(static_cast<u32>(by.warp->kernel->shared_granule)); }

/// Whether there are mbarriers anywhere between the first and the last of these bytes.
bool may_meet_mbarriers(const Block& block, std::span<const SharedSpan> spans) {
  u32 begin = ~0u, end = 0;
  for (const auto& [offset, bytes] : spans) {
    begin = std::min(begin, offset);
    end = std::max(end, offset + bytes);
  }
  const auto next = block.mbarriers.lower_bound(begin < 8 ? 0 : begin - 7);
  return next != block.mbarriers.end() && next->first < end;
}

std::span<SharedCell> cells_of(Block& block, int shift, const SharedSpan& at) {
  const std::size_t first = at.offset >> shift, last = (at.offset + at.bytes - 1) >> shift;
  return {block.cells.data() + first, last - first + 1};
}

/// Whether an engine's access comes after both writes or neither, where it comes after all that the agent did: lanes and instructions make
/// no difference then.
bool are_alike(u64 write, u64 other) { return ((write ^ other) & ~(kLane | kStrong | kInstruction)) == 0; }

bool is_list(const SharedCell& cell) { return cell.reads[0] & kMany; }

/// What an access makes of a cell where there is nothing to find.
struct Change {
  SharedCell before, after;

  bool applies_to(std::span<const SharedCell> cells) const {
    return std::all_of(cells.begin(), cells.end(), [&](const SharedCell& cell) { return cell == before; });
  }
};

/// Cells near each other mostly have the same history and come to have the same: of one copy, or of two whose boxes lie side by side.
class Changes {
 public:
  /// Null if there is none that applies to all cells.
  const Change* find(std::span<const SharedCell> cells) const {
    for (std::size_t k = 0; k < std::min(added_, kept_.size()); ++k)
      if (kept_[k].applies_to(cells)) return &kept_[k];
    return nullptr;
  }
  void add(const Change& change) { kept_[added_++ % kept_.size()] = change; }

 private:
  std::array<Change, 2> kept_;
  std::size_t added_ = 0;
};

/// Calls look(span) for each whose cells have no history yet that was found to be in order, and does what that came to where they have.
/// `may(cell)`: such a history is in order. `skip(span)`: whether a span need not be looked at, as far as its bytes go.
template <class May, class Skip, class Look>
void check_spans(const Accessor& by, Block& block, std::span<const SharedSpan> spans, May may, Skip skip, Look look) {
  const bool meets = may_meet_mbarriers(block, spans);
  Changes changes;
  for (const SharedSpan& at : spans) {
    const std::span<SharedCell> cells = cells_of(block, shift_of(by), at);
    if (const Change* change = changes.find(cells); change != nullptr && skip(at)) {
      std::fill(cells.begin(), cells.end(), change->after);
      continue;
    }
    const SharedCell before = cells.front();
    const bool is_good = !meets && !is_list(before) && may(before);
    look(at);
    if (is_good && !is_list(cells.front())) changes.add({before, cells.front()});
  }
}

}  // namespace

void check_shared_reads(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedCheck check(by, block);
  check_spans(
      by, block, spans, [&](const SharedCell& cell) { return check.may_read_after(cell.write, lane); },
      [&](const SharedSpan& at) { return find_unwritten(block.written.data() + at.offset, static_cast<int>(at.bytes)) == nullptr; },
      [&](const SharedSpan& at) { check.read(lane, at.offset, static_cast<int>(at.bytes)); });
}

void check_shared_writes(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedCheck check(by, block);
  check_spans(
      by, block, spans, [&](const SharedCell& cell) { return check.may_write_after(cell, lane); },
      [&](const SharedSpan& at) {
        mark_written(block.written.data() + at.offset, static_cast<int>(at.bytes));
        return true;
      },
      [&](const SharedSpan& at) { check.write(lane, at.offset, static_cast<int>(at.bytes), nullptr); });
}

bool is_read_already(const Accessor& by, Block& block, const EngineRead& read) {
  if (read.epoch != by.epoch || read.writes != block.writes) return false;
  SharedCheck check(by, block);
  return std::all_of(read.after.begin(), read.after.end(), [&](u64 write) { return check.all_may_read_after(write); });
}

std::optional<EngineRead> as_read(const Accessor& by, Block& block, std::span<const SharedSpan> spans) {
  EngineRead read{by.epoch, block.writes, {}};
  SharedCheck check(by, block);
  std::size_t count = 0;
  u64 last = 0;
  for (const SharedSpan& at : spans)
    for (const SharedCell& cell : cells_of(block, shift_of(by), at)) {
      if (cell.write == 0) return std::nullopt;
      if (last != 0 && are_alike(cell.write, last)) continue;
      last = cell.write;
      if (std::any_of(read.after.begin(), read.after.begin() + count, [&](u64 write) { return are_alike(write, last); })) continue;
      if (count == read.after.size() || !check.all_may_read_after(last)) return std::nullopt;
      read.after[count++] = last;
    }
  if (may_meet_mbarriers(block, spans)) return std::nullopt;
  return read;
}

}  // namespace tilewright::rt::emulator
