// Checks spans one by one, unless the fast path has handled all of them.
#include "runtime/emulator/races/engine_checks.h"

#include <bit>

#include "runtime/emulator/races/checker_fast.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

bool has_fast_paths(const Accessor& by) { return by.warp->worker->launch->fast_paths; }

}  // namespace

void check_shared_reads(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedChecker check(by, block);
  if (has_fast_paths(by) && read_fast(check, lane, ShiftedLines(SharedLines(spans)), nullptr)) return;
  for (const SharedSpan& at : spans) check.read(lane, at.offset, static_cast<int>(at.bytes));
}

void check_shared_writes(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  SharedChecker check(by, block);
  for (const SharedSpan& at : spans) block.undefined.define(at.offset, at.bytes);
  if (has_fast_paths(by) && write_fast(check, lane, ShiftedLines(SharedLines(spans)))) return;
  for (const SharedSpan& at : spans) check.write(lane, at.offset, static_cast<int>(at.bytes), nullptr);
}

bool write_in_order(const Accessor& by, Block& block, int lane, const SharedSpan& at) {
  SharedChecker check(by, block);
  block.undefined.define(at.offset, at.bytes);
  return has_fast_paths(by) && write_fast(check, lane, ShiftedLines(SharedLines({&at, 1})));
}

std::optional<EngineRead> check_shared_reads(const Accessor& by, Block& block, int lane, const ShiftedLines& lines) {
  SharedChecker check(by, block);
  std::optional<EngineRead> found;
  if (has_fast_paths(by) && read_fast(check, lane, lines, &found)) return found;
  lines.each_page([&](std::size_t page, u64 of_page) {
    for (; of_page != 0; of_page &= of_page - 1)
      check.read(lane, page * SharedLines::kPageBytes + static_cast<u32>(std::countr_zero(of_page)) * SharedLines::kLineBytes,
                 SharedLines::kLineBytes);
    return true;
  });
  return std::nullopt;
}

}  // namespace tilewright::rt::emulator
