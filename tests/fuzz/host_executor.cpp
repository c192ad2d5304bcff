// One compilation, one load and one call a program.
#include "tests/fuzz/host_executor.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/compile.h"
#include "backend/host_abi.h"
#include "tests/fuzz/report_texts.h"

namespace tilewright::fuzz {

void HostExecutor::run(const ir::Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  backend::CompileOptions options;
  options.target = target_;
  const backend::CompiledKernel kernel = backend::compile(f, options);
  const auto object = loader_.load(kernel.image, kernel.entry, {});
  // A cache of 1 KiB: larger results are stored around it, smaller ones are not.
  ReportTexts reports{kernel.reports, {}, {}};
  const backend::HostLaunch launch{{grid[0], grid[1], grid[2]}, 1, nullptr, nullptr, ReportTexts::take, &reports};
  const std::size_t bytes = (kernel.scratch_bytes + 63) / 64 * 64 + 64;
  const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes), &std::free);
  std::memset(scratch.get(), 0xa5, bytes);  // makes reads of uninitialized memory visible
  reinterpret_cast<backend::HostEntry>(object->entry())(words.data(), &launch, 0, std::int64_t{grid[0]} * grid[1] * grid[2],
                                                        static_cast<std::byte*>(scratch.get()));
  reports_ = std::move(reports.texts);
}

}  // namespace tilewright::fuzz
