// The table of chips.
#include "runtime/emulator/machine/chips.h"

namespace tilewright::rt::emulator {
namespace {

struct Row {
  int capability;
  u64 shared_kib;  // of a multiprocessor; from 8.0 on the system takes one KiB for each block
  int threads;
};
constexpr Row kRows[] = {{75, 64, 1024},  {80, 164, 2048}, {86, 100, 1536},  {87, 164, 1536},
                         {89, 100, 1536}, {90, 228, 2048}, {100, 228, 2048}, {120, 100, 1536}};

}  // namespace

Chip chip_of(std::string_view target) {
  Chip chip;
  for (const char c : target)
    if (c >= '0' && c <= '9') chip.capability = chip.capability * 10 + (c - '0');
  chip.shared_of_block = chip.shared_of_sm = 48 << 10;
  chip.threads_of_sm = 1024;
  for (const Row& row : kRows)
    if (row.capability == chip.capability) {
      chip.shared_of_sm = row.shared_kib << 10;
      chip.shared_of_block = (row.shared_kib - (row.capability >= 80 ? 1 : 0)) << 10;
      chip.threads_of_sm = row.threads;
    }
  return chip;
}

}  // namespace tilewright::rt::emulator
