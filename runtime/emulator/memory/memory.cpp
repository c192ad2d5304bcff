// Allocations by address, and their shadow memory, which becomes real as kernels touch it.
#include "runtime/emulator/memory/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/emulator/shadow/global_shadow.h"
#include "runtime/emulator/shadow/written_bytes.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr u64 kTickets = u64{1} << 24;
// A gap after each allocation: an access that misses one allocation by less must not hit the next. Untouched pages take no memory.
constexpr std::size_t kGap = 32 << 10;

// Shadow cells take up to 33 times the memory they describe; since they are mapped, only pages that kernels touch become real.
void* map_zeros(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

Memory::~Memory() {
  for (auto& [address, allocation] : allocations_) release(allocation);
}

void Memory::release_cells(Allocation& allocation) {
  Range& range = allocation.range;
  if (range.cells != nullptr) ::munmap(range.sectors, allocation.cell_bytes);
  range.sectors = range.cells = nullptr;
  range.reads = nullptr;
}

void Memory::release(Allocation& allocation) {
  release_cells(allocation);
  std::free(allocation.range.written);
  if (allocation.is_owned) {
    std::free(reinterpret_cast<void*>(allocation.range.begin));
    total_ -= allocation.range.bytes;
  }
}

u64 Memory::allocate(std::size_t bytes) {
  const std::size_t padded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (padded + kGap < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(kAlignment, padded + kGap);
  if (memory == nullptr) throw std::bad_alloc();
  Allocation allocation;
  allocation.range.begin = reinterpret_cast<u64>(memory);
  allocation.range.bytes = bytes;
  if (track_writes_) {
    allocation.range.written = static_cast<u8*>(std::calloc(std::max<std::size_t>(bytes, 1), 1));
    if (allocation.range.written == nullptr) {
      std::free(memory);
      throw std::bad_alloc();
    }
  }
  const std::lock_guard lock(mutex_);
  total_ += bytes;
  allocations_.emplace(allocation.range.begin, allocation);
  return allocation.range.begin;
}

void Memory::free(u64 address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  release(found->second);
  allocations_.erase(found);
}

Range Memory::find(u64 address) const {
  const std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return {};
  const Range& range = std::prev(after)->second.range;
  return address < range.end() || address == range.begin ? range : Range{};
}

bool Memory::contains(u64 address, std::size_t bytes) const {
  const Range range = find(address);
  return range.begin != 0 && address - range.begin <= range.bytes && bytes <= range.bytes - (address - range.begin);
}

void Memory::write(u64 to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  mark_written(to, bytes);
}

void Memory::mark_written(u64 address, std::size_t bytes) {
  const Range range = find(address);
  if (range.written != nullptr) std::memset(range.written + (address - range.begin), 1, bytes);
}

void Memory::adopt(u64 address, std::size_t bytes) {
  Allocation allocation;
  allocation.range.begin = address;
  allocation.range.bytes = bytes;
  allocation.is_owned = false;
  const std::lock_guard lock(mutex_);
  allocations_.emplace(address, allocation);
}

void Memory::forget(u64 address) { free(address); }

std::size_t Memory::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

std::vector<Range> Memory::snapshot(int granule, bool with_cells) {
  const std::lock_guard lock(mutex_);
  std::vector<Range> ranges;
  for (auto& [address, allocation] : allocations_) {
    Range& range = allocation.range;
    if (with_cells && range.bytes > 0 && (range.cells == nullptr || range.granule != granule)) {
      release_cells(allocation);
      // An allocation need not start or end at a sector boundary.
      const u64 sectors = range.bytes / GlobalShadow::kSectorBytes + 2;
      const u64 cells = sectors * (1 + GlobalShadow::kSectorBytes / static_cast<u64>(granule));
      allocation.cell_bytes = cells * (sizeof(GlobalShadowCell) + sizeof(GlobalShadowReads));
      range.sectors = static_cast<GlobalShadowCell*>(map_zeros(allocation.cell_bytes));
      range.cells = range.sectors + sectors;
      range.reads = reinterpret_cast<GlobalShadowReads*>(range.sectors + cells);
      range.granule = granule;
    }
    ranges.push_back(range);
  }
  return ranges;
}

u32 Memory::take_tickets(u64 count) {
  const std::lock_guard lock(mutex_);
  if (next_ticket_ + count > kTickets) {
    for (auto& [address, allocation] : allocations_) release_cells(allocation);
    next_ticket_ = 1;
  }
  const u32 first = static_cast<u32>(next_ticket_);
  next_ticket_ += std::min(count, kTickets - 1);
  return first;
}

}  // namespace tilewright::rt::emulator
