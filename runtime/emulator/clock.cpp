// Joins of what warps know of other blocks.
#include "runtime/emulator/clock.h"

namespace tilewright::rt::emulator {

ForeignRef join(const ForeignRef& a, const ForeignRef& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto both = std::make_shared<Foreign>(*a);
  for (const auto& [ticket, clock] : *b) (*both)[ticket].join(clock);
  return both;
}

}  // namespace tilewright::rt::emulator
