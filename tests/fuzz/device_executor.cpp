// One compilation, one module and one launch a program.
#include "tests/fuzz/device_executor.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/compile.h"
#include "runtime/assembler_log.h"
#include "runtime/devices.h"
#include "tests/fuzz/report_buffer.h"

namespace tilewright::fuzz {

namespace {

constexpr std::uint64_t kGuard = 256, kAlignment = 64;  // alignment in Memory
constexpr std::byte kGuardByte{0x5a};
constexpr std::size_t kMostPtxBytes = 256 << 10;

/// Memory of the device, given back at the end.
class Allocation {
 public:
  Allocation(rt::Device& device, std::size_t bytes) : device_(device), bytes_(bytes), address_(device.allocate(bytes)) {}
  ~Allocation() { device_.release(address_, bytes_); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  std::uint64_t address() const { return address_; }

 private:
  rt::Device& device_;
  std::size_t bytes_;
  std::uint64_t address_;
};

/// The offset of a buffer of this process in the image of all buffers that is copied to the device.
struct ImageRange {
  std::uint64_t host;
  std::size_t bytes, offset;
};

}  // namespace

DeviceExecutor::DeviceExecutor(const std::string& device, int num_warps) : device_(rt::open_device(device, {})), num_warps_(num_warps) {}

void DeviceExecutor::run(const ir::Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  if (!memory_) throw std::runtime_error("a GPU needs to know the memory of a program");
  backend::CompileOptions options;
  options.target = device_->target();
  options.num_warps = num_warps_;
  backend::CompiledKernel compiled = backend::compile(f, options);
  if (compiled.image.size() > kMostPtxBytes) throw std::runtime_error(std::string(kTooLong));

  // As misaligned as in this process: widths of accesses hang on it.
  std::vector<ImageRange> ranges;
  std::size_t end = kGuard;
  for (const auto& [host, bytes] : memory_->buffers()) {
    const std::size_t offset = (end + kAlignment - 1) / kAlignment * kAlignment + host % kAlignment;
    ranges.push_back({host, bytes, offset});
    end = offset + bytes + kGuard;
  }
  std::vector<std::byte> image(end, kGuardByte);
  for (const ImageRange& p : ranges) std::memcpy(&image[p.offset], reinterpret_cast<const void*>(p.host), p.bytes);
  const std::vector<std::byte> before = image;
  const Allocation memory(*device_, image.size());
  rt::Stream& stream = device_->default_stream();
  device_->copy_in(memory.address(), image.data(), image.size(), stream);

  std::vector<std::uint64_t> arguments(words.begin(), words.end());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!f.type(f.block(f.body()).args[i]).is_pointer()) continue;
    const auto range = std::find_if(ranges.begin(), ranges.end(),
                                    [&](const ImageRange& p) { return p.host <= arguments[i] && arguments[i] <= p.host + p.bytes; });
    if (range != ranges.end()) arguments[i] += memory.address() + range->offset - range->host;  // else the pointer is not accessed
  }
  // The device would read reports itself, and print them: here they are one more buffer.
  std::optional<ReportBuffer> reports;
  std::optional<Allocation> report_memory;
  const std::vector<backend::ReportSite> sites = std::exchange(compiled.reports, {});
  if (!sites.empty()) {
    reports.emplace();
    report_memory.emplace(*device_, reports->bytes());
    device_->copy_in(report_memory->address(), reports->data(), reports->bytes(), stream);
    compiled.params.push_back(ir::Type(ir::Element::i64));
    arguments.push_back(report_memory->address());
  }

  const auto executable = device_->load(compiled, {});
  for (const std::string& remark : executable->remarks())
    if (rt::is_performance_fault(remark)) throw std::runtime_error(remark);
  device_->launch(*executable, {.grid = grid, .num_warps = num_warps_, .check = false, .where = {}}, arguments, stream);
  device_->copy_out(image.data(), memory.address(), image.size(), stream);
  if (reports) device_->copy_out(reports->data(), report_memory->address(), reports->bytes(), stream);
  reports_ = reports ? reports->texts(sites) : std::vector<std::string>();

  std::vector<bool> is_buffer(image.size());
  for (const ImageRange& p : ranges) {
    std::fill_n(is_buffer.begin() + static_cast<std::ptrdiff_t>(p.offset), p.bytes, true);
    std::memcpy(reinterpret_cast<void*>(p.host), &image[p.offset], p.bytes);
  }
  for (std::size_t i = 0; i < image.size(); ++i)
    if (!is_buffer[i] && image[i] != before[i]) throw std::runtime_error("a write outside of the buffers");
}

}  // namespace tilewright::fuzz
