// Implements sets of lines, and pages of shared memory whose lines share cells.
#include "runtime/emulator/shadow/shared_shadow.h"

#include <algorithm>
#include <cstring>

namespace tilewright::rt::emulator {
namespace {

constexpr u32 kLineBytes = SharedLines::kLineBytes, kPageBytes = SharedLines::kPageBytes, kPageLines = SharedLines::kPageLines;

}  // namespace

SharedLines::SharedLines(std::span<const SharedSpan> spans) {
  u32 bits = 0;  // the bits of all offsets and sizes
  for (const auto& [offset, bytes] : spans) {
    const u32 end = offset + bytes;
    if (bytes == 0 || end < offset || end > kPages * kPageBytes) {
      are_whole_ = false;
      return;
    }
    bits |= offset | bytes;
    begin_ = std::min(begin_, offset);
    end_ = std::max(end_, end);
    if (bytes == kLineBytes)
      lines_[offset / kPageBytes] |= u64{1} << offset / kLineBytes % kPageLines;
    else
      add(offset / kLineBytes, (end - 1) / kLineBytes);
  }
  are_whole_ = bits % kLineBytes == 0;
}

void SharedLines::add(u32 first, u32 last) {
  for (u32 page = first / kPageLines; page <= last / kPageLines; ++page) {
    u64 lines = ~u64{0};
    if (page == first / kPageLines) lines &= ~u64{0} << first % kPageLines;
    if (page == last / kPageLines) lines &= ~u64{0} >> (kPageLines - 1 - last % kPageLines);
    lines_[page] |= lines;
  }
}

void SharedShadow::reset(u64 bytes, int granule, bool groups_lines) {
  lists_.clear();
  free_lists_.clear();
  const std::size_t pages = bytes / kPageBytes + 1, needed = pages * kPageBytes / static_cast<std::size_t>(granule);
  if (needed > capacity_) {
    // Cells of a page are read only after it is split.
    cells_ = std::make_unique_for_overwrite<SharedShadowCell[]>(needed);
    capacity_ = needed;
  }
  page_shift_ = static_cast<u32>(std::countr_zero(kPageBytes / static_cast<u32>(granule)));
  cells_of_line_ = kLineBytes / static_cast<u32>(granule);
  are_all_split_ = !groups_lines;
  is_split_.assign(pages, are_all_split_);
  if (are_all_split_) {
    std::fill_n(cells_.get(), needed, SharedShadowCell{});
    written_.assign(pages * kPageBytes, 0);
    return;
  }
  written_.resize(pages * kPageBytes);
  pages_.resize(pages);
  for (Page& page : pages_) {
    page.count = 1;
    page.written = 0;
    page.groups[0] = {~u64{0}, {}};
  }
}

u32 SharedShadow::add_list() {
  if (free_lists_.empty()) {
    lists_.emplace_back();
    return static_cast<u32>(lists_.size() - 1);
  }
  const u32 number = free_lists_.back();
  free_lists_.pop_back();
  return number;
}

void SharedShadow::split(std::size_t page) {
  for (const Group& group : groups(page)) each_cell(page, group.lines, [&](SharedShadowCell& cell) { return cell = group.cell, true; });
  for (u32 line = 0; line < kPageLines; ++line)
    std::memset(written_.data() + page * kPageBytes + line * kLineBytes, static_cast<int>(pages_[page].written >> line & 1), kLineBytes);
  is_split_[page] = 1;
}

void SharedShadow::split(u64 granule, u64 count) {
  for (std::size_t page = granule >> page_shift_; page <= (granule + count - 1) >> page_shift_; ++page)
    if (!is_split_[page]) split(page);
}

void SharedShadow::separate(std::size_t page, u64 lines) {
  Page& at = pages_[page];
  const std::span<Group> before = std::span(at.groups).first(at.count);
  const auto has_others = [&](const Group& group) { return (group.lines & lines) != 0 && (group.lines & ~lines) != 0; };
  if (at.count + static_cast<std::size_t>(std::count_if(before.begin(), before.end(), has_others)) > kMostGroups) return split(page);
  for (Group& group : before) {
    if (!has_others(group)) continue;
    at.groups[at.count++] = {group.lines & lines, group.cell};
    group.lines &= ~lines;
  }
}

void SharedShadow::assign(std::size_t page, u64 lines, const SharedShadowCell& cell) {
  Page& at = pages_[page];
  if (lines == ~u64{0} && !are_all_split_) {
    is_split_[page] = 0;
    at.count = 1;
    at.written = lines;
    at.groups[0] = {lines, cell};
    return;
  }
  if (!is_split_[page]) separate(page, lines);
  if (is_split_[page]) {
    each_cell(page, lines, [&](SharedShadowCell& own) { return own = cell, true; });
    for (; lines != 0; lines &= lines - 1)
      std::memset(written_.data() + page * kPageBytes + static_cast<u32>(std::countr_zero(lines)) * kLineBytes, 1, kLineBytes);
    return;
  }
  const auto begin = at.groups.begin();
  const auto end = std::remove_if(begin, begin + at.count, [&](const Group& group) { return (group.lines & lines) != 0; });
  at.count = static_cast<u32>(end - begin);
  at.groups[at.count++] = {lines, cell};
  at.written |= lines;
}

}  // namespace tilewright::rt::emulator
