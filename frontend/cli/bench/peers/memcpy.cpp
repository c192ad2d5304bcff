// The peer memcpy copies as many bytes as a kernel moves, with all cores, or with the driver of a GPU.
#include <fmt/format.h>

#include <cstring>

#include "frontend/cli/bench/measuring/gpu_context.h"
#include "frontend/cli/bench/peers/peers.h"
#include "runtime/host/cpu_model.h"
#include "runtime/host/thread_pool.h"

namespace tilewright::cli::bench {

namespace {

class HostCopy final : public Contender {
 public:
  HostCopy(const Device& device, std::size_t bytes)
      : device_(device), pool_(rt::cpu_threads()), from_(bytes, std::byte{1}), to_(bytes, std::byte{2}) {}

  double time(int launches) override {
    return time_calls(device_, launches, [&] { copy(); });
  }
  Contents results() override { return {}; }

 private:
  static constexpr std::size_t kPart = std::size_t{64} << 10;

  void copy() {
    if (from_.size() <= kPart) {
      std::memcpy(to_.data(), from_.data(), from_.size());
      return;
    }
    pool_.run(static_cast<std::int64_t>((from_.size() + kPart - 1) / kPart), [&](rt::Chunks& chunks) {
      rt::Chunks::Range parts{};
      while (chunks.next(parts)) {
        const std::size_t begin = static_cast<std::size_t>(parts.begin) * kPart;
        const std::size_t end = std::min(static_cast<std::size_t>(parts.end) * kPart, from_.size());
        std::memcpy(to_.data() + begin, from_.data() + begin, end - begin);
      }
    });
  }

  const Device device_;
  rt::ThreadPool pool_;
  std::vector<std::byte> from_, to_;
};

class GpuCopy final : public Contender {
 public:
  GpuCopy(const Device& device, std::size_t bytes)
      : device_(device),
        driver_(use_primary_context(device)),
        bytes_(bytes),
        from_(device.allocate<std::int8_t>(bytes)),
        to_(device.allocate<std::int8_t>(bytes)) {
    from_.fill(1);
    to_.fill(2);
  }

  double time(int launches) override {
    return time_calls(device_, launches, [&] {
      if (driver_.cuMemcpyDtoDAsync(address_of(to_.data()), address_of(from_.data()), bytes_, nullptr) != 0)
        throw std::runtime_error("the driver does not copy");
    });
  }
  Contents results() override { return {}; }

 private:
  static rt::cuda::CUdeviceptr address_of(const void* memory) { return reinterpret_cast<rt::cuda::CUdeviceptr>(memory); }

  const Device device_;
  const rt::cuda::Driver& driver_;
  const std::size_t bytes_;
  Buffer<std::int8_t> from_, to_;
};

class Memcpy final : public Peer {
 public:
  explicit Memcpy(const Setting& setting) : setting_(setting) {}
  std::string name() const override { return "memcpy"; }
  std::string version() const override {
    return is_gpu(setting_.device) ? "a copy of as many bytes, by the driver"
                                   : fmt::format("a copy of as many bytes, on {} threads", rt::cpu_threads());
  }
  std::unique_ptr<Contender> prepare(const Case& c) override { return copy_of(setting_, c.problem.bytes); }

 private:
  const Setting& setting_;
};

}  // namespace

std::unique_ptr<Contender> copy_of(const Setting& setting, double bytes) {
  const auto half = static_cast<std::size_t>(bytes / 2);
  if (is_gpu(setting.device)) return std::make_unique<GpuCopy>(setting.device, half);
  return std::make_unique<HostCopy>(setting.device, half);
}

std::unique_ptr<Peer> open_memcpy(const Setting& setting, const PeerOptions&) { return std::make_unique<Memcpy>(setting); }

}  // namespace tilewright::cli::bench
