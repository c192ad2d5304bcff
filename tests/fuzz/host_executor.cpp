// One compilation, one load and one call a program.
#include "tests/fuzz/host_executor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

#include "backend/compile.h"
#include "backend/host_abi.h"
#include "tests/fuzz/report_texts.h"

namespace tilewright::fuzz {

namespace {

/// Whole pages of memory between inaccessible ones.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    bytes_ = (bytes + page_ - 1) / page_ * page_;
    void* const mapped = mmap(nullptr, bytes_ + 2 * guard(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
    if (mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) == 0) return;
    munmap(memory_, bytes_ + 2 * guard());
    throw std::bad_alloc();
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(memory_, bytes_ + 2 * guard()); }
  std::byte* begin() const { return memory_ + guard(); }
  std::size_t bytes() const { return bytes_; }

 private:
  /// More than a row of a factor.
  std::size_t guard() const { return 16 * page_; }
  std::size_t page_, bytes_;
  std::byte* memory_;
};

}  // namespace

void HostExecutor::run(const ir::Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  backend::CompileOptions options;
  options.target = target_;
  const backend::CompiledKernel kernel = backend::compile(f, options);
  const auto object = loader_.load(kernel.image, kernel.entry, {});
  // A cache of 1 KiB: larger results are stored around it, smaller ones are not.
  ReportTexts reports{kernel.reports, {}, {}};
  const backend::HostLaunch launch{{grid[0], grid[1], grid[2]}, 1, nullptr, nullptr, ReportTexts::take, &reports};
  const GuardedMemory scratch((kernel.scratch_bytes + 63) / 64 * 64 + 64);
  std::memset(scratch.begin(), 0xa5, scratch.bytes());  // makes reads of uninitialized memory visible
  reinterpret_cast<backend::HostEntry>(object->entry())(words.data(), &launch, 0, std::int64_t{grid[0]} * grid[1] * grid[2],
                                                        scratch.begin());
  reports_ = std::move(reports.texts);
}

}  // namespace tilewright::fuzz
