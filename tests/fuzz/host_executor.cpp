// One compilation, one load and one call a program.
#include "tests/fuzz/host_executor.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/compile.h"
#include "backend/host_abi.h"

namespace tilewright::fuzz {

namespace {

struct Reports {
  const std::vector<backend::ReportSite>& sites;
  std::vector<std::string>& texts;
};

/// The elements of a tile that lie in memory, a byte for a bool.
ir::TileValue tile_at(const void* at, ir::Type t) {
  ir::TileValue v{t, std::vector<std::uint64_t>(static_cast<std::size_t>(t.elements()))};
  const auto size = static_cast<std::size_t>(ir::bytes(t.element()));
  for (std::size_t i = 0; i < v.bits.size(); ++i) std::memcpy(&v.bits[i], static_cast<const std::byte*>(at) + i * size, size);
  return v;
}

void take_report(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site) {
  auto& reports = *static_cast<Reports*>(context);
  const backend::ReportSite& s = reports.sites.at(static_cast<std::size_t>(site));
  std::vector<ir::TileValue> values;
  if (s.is_print)
    for (std::size_t i = 0; i < s.operands.size(); ++i) values.push_back(tile_at(operands[i], s.operands[i]));
  reports.texts.push_back(report_text((s.is_print ? "" : "does not hold: ") + s.text, {program[0], program[1], program[2]}, values));
}

}  // namespace

void HostExecutor::run(const ir::Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  backend::CompileOptions options;
  options.target = target_;
  const backend::CompiledKernel kernel = backend::compile(f, options);
  const auto object = loader_.load(kernel.image, kernel.entry, {});
  // A cache of 1 KiB: larger results are stored around it, smaller ones are not.
  reports_.clear();
  Reports reports{kernel.reports, reports_};
  const backend::HostLaunch launch{{grid[0], grid[1], grid[2]}, 1, nullptr, nullptr, take_report, &reports};
  const std::size_t bytes = (kernel.scratch_bytes + 63) / 64 * 64 + 64;
  const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes), &std::free);
  std::memset(scratch.get(), 0xa5, bytes);  // what is read before it is written must show
  reinterpret_cast<backend::HostEntry>(object->entry())(words.data(), &launch, 0, std::int64_t{grid[0]} * grid[1] * grid[2],
                                                        static_cast<std::byte*>(scratch.get()));
}

}  // namespace tilewright::fuzz
