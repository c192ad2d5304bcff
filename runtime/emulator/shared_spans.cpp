// One check of races for all spans.
#include "runtime/emulator/shared_spans.h"

namespace tilewright::rt::emulator {

void check_shared_reads(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  for (const auto& [offset, bytes] : spans) check_shared_read(by, block, lane, offset, static_cast<int>(bytes));
}

void check_shared_writes(const Accessor& by, Block& block, int lane, std::span<const SharedSpan> spans) {
  for (const auto& [offset, bytes] : spans) check_shared_write(by, block, lane, offset, static_cast<int>(bytes), nullptr);
}

}  // namespace tilewright::rt::emulator
