// Implements the cpu as a device.
#include "runtime/host/host_device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <optional>

#include "runtime/bounds_check.h"
#include "runtime/device_failure.h"
#include "runtime/host/cpu_model.h"
#include "runtime/host/executor_job.h"
#include "runtime/host/object_loader.h"
#include "runtime/host/scratch.h"
#include "runtime/host/thread_pool.h"
#include "runtime/reports.h"
#include "tileir/diagnostics.h"

namespace tilewright::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Unused bytes after each buffer, so that checked mode finds small overruns even if the heap is dense.
constexpr std::size_t kGap = 256;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

std::size_t alignment_for(std::size_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlignment; }

// The memory that is available without swapping; free pages alone would not include the file cache.
std::size_t available_memory() {
  std::size_t kib = 0;
  if (std::FILE* f = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    while (std::fgets(line, sizeof line, f) && std::sscanf(line, "MemAvailable: %zu kB", &kib) != 1) continue;
    std::fclose(f);
  }
  return kib ? kib * 1024 : static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t total_memory() {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return PTRDIFF_MAX;
  return (static_cast<std::size_t>(info.totalram) + info.totalswap) * info.mem_unit;
}

struct HostExecutable : Executable {
  std::shared_ptr<Device> keep;  // keeps the loader alive, which owns the object
  backend::HostEntry entry = nullptr;
  std::size_t parameters = 0, scratch_bytes = 0;
  std::vector<backend::AccessSite> sites;
  std::vector<backend::ReportSite> reports;
  std::unique_ptr<LoadedObject> object;

  explicit HostExecutable(const backend::CompiledKernel& kernel)
      : parameters(kernel.params.size()), scratch_bytes(kernel.scratch_bytes), sites(kernel.sites), reports(kernel.reports) {}
};

class HostEvent : public Event {
 public:
  explicit HostEvent(std::shared_ptr<Device> device) : Event(std::move(device)), at_(Clock::now()) {}
  double elapsed_ms(const Event& later) const override {
    return std::chrono::duration<double, std::milli>(static_cast<const HostEvent&>(later).at_ - at_).count();
  }

 private:
  Clock::time_point at_;
};

// Work is finished when the call that submits it returns, so a stream must only order the threads that share it.
class HostStream : public Stream {
 public:
  explicit HostStream(Device& device) : device_(device) {}
  void synchronize() override { std::lock_guard lock(mutex_); }
  std::shared_ptr<Event> record() override {
    std::lock_guard lock(mutex_);
    return std::make_shared<HostEvent>(device_.shared_from_this());
  }
  void wait(const Event&) override {}
  void* native() const override { return nullptr; }
  std::mutex& mutex() { return mutex_; }

 private:
  Device& device_;
  std::mutex mutex_;
};

std::unique_lock<std::mutex> enter(Stream& stream) { return std::unique_lock(static_cast<HostStream&>(stream).mutex()); }

class HostDevice : public Device {
 public:
  explicit HostDevice(const std::string& target) : HostDevice(target, target, cpu_threads(), {}) {}
  /// Its name has what measurements and choices of configurations depend on.
  HostDevice(const std::string& target, Executor executor)
      : HostDevice(fmt::format("{} on an executor of {} thread{}", target, executor.threads, executor.threads == 1 ? "" : "s"), target,
                   executor.threads, executor) {}

  std::string description() const override { return cpu_description(threads_); }
  std::string target() const override { return target_; }
  /// Without an executor, all that open this device share it, and plans and models follow TILEWRIGHT_THREADS as it is when they are made.
  int host_threads() const override { return executor_.run ? threads_ : cpu_threads(); }
  std::size_t free_memory() const override { return available_memory(); }

  std::uint64_t allocate(std::size_t bytes) override;
  void release(std::uint64_t address, std::size_t bytes) noexcept override {
    ::operator delete(pointer(address), std::align_val_t{alignment_for(bytes)});
  }
  void copy_in(std::uint64_t to, const void* from, std::size_t bytes, Stream& stream) override {
    const auto turn = enter(stream);
    std::memcpy(pointer(to), from, bytes);
  }
  void copy_out(void* to, std::uint64_t from, std::size_t bytes, Stream& stream) override {
    const auto turn = enter(stream);
    std::memcpy(to, pointer(from), bytes);
  }
  void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream& stream) override {
    const auto turn = enter(stream);
    std::memcpy(pointer(to), pointer(from), bytes);
  }
  void fill(std::uint64_t to, const void* pattern, std::size_t pattern_bytes, std::size_t count, Stream&) override;

  std::shared_ptr<Stream> create_stream() override;
  std::shared_ptr<Stream> wrap_stream(void* native, const Here&) override;
  Stream& default_stream() override { return default_stream_; }
  void synchronize() override { default_stream_.synchronize(); }

  std::shared_ptr<const Executable> load(const backend::CompiledKernel&, const Here&) override;
  void launch(const Executable&, const LaunchConfig&, std::span<const std::uint64_t> arguments, Stream&) override;

 private:
  HostDevice(const std::string& name, std::string target, int threads, Executor executor)
      : Device(name),
        target_(std::move(target)),
        threads_(threads),
        default_stream_(*this),
        pool_(threads_),
        executor_(std::move(executor)) {}
  ObjectLoader& loader(const Here&);

  const std::size_t total_memory_ = total_memory();
  const std::string target_;
  const int threads_;
  const CacheSizes caches_ = cache_sizes();
  HostStream default_stream_;
  ThreadPool pool_;          // starts no threads if there is an executor
  const Executor executor_;  // without a function: there is none
  ScratchPool scratch_;
  std::mutex loader_mutex_;
  std::optional<ObjectLoader> loader_;  // started by the first kernel, not when the device is opened
};

// A user's stream keeps the device alive; the device's own stream must not, since that would be a cycle.
class OwningHostStream : public HostStream {
 public:
  explicit OwningHostStream(std::shared_ptr<Device> device) : HostStream(*device), keep_(std::move(device)) {}

 private:
  std::shared_ptr<Device> keep_;
};

std::uint64_t HostDevice::allocate(std::size_t bytes) {
  // Otherwise Linux would allocate more than the machine has, and kill the process when the memory is written.
  if (bytes > total_memory()) throw std::bad_alloc();
  void* p = ::operator new(bytes + kGap, std::align_val_t{alignment_for(bytes)});
  // Use huge pages: streaming kernels access every page once, and with small pages page faults and table walks take much of the time.
  if (alignment_for(bytes) == kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::uint64_t>(p);
}

void HostDevice::fill(std::uint64_t to, const void* pattern, std::size_t pattern_bytes, std::size_t count, Stream& stream) {
  const auto turn = enter(stream);
  auto* out = static_cast<std::byte*>(pointer(to));
  const std::size_t bytes = count * pattern_bytes;
  if (bytes == 0) return;
  // Doubles the filled part, which takes few, large copies for any width.
  std::memcpy(out, pattern, pattern_bytes);
  for (std::size_t done = pattern_bytes; done < bytes; done *= 2) std::memcpy(out + done, out, std::min(done, bytes - done));
}

std::shared_ptr<Stream> HostDevice::create_stream() { return std::make_shared<OwningHostStream>(shared_from_this()); }

std::shared_ptr<Stream> HostDevice::wrap_stream(void*, const Here& where) {
  throw Error(detail::location_of(where), fmt::format("wrap_stream: device '{}' has no driver whose streams could be wrapped", name()));
}

ObjectLoader& HostDevice::loader(const Here& where) {
  std::lock_guard lock(loader_mutex_);
  if (!loader_) loader_.emplace(where);
  return *loader_;
}

std::shared_ptr<const Executable> HostDevice::load(const backend::CompiledKernel& kernel, const Here& where) {
  TW_CHECK(kernel.format == backend::CompiledKernel::Format::elf, "the cpu runs ELF objects");
  TW_CHECK(kernel.launch.is_empty(), "launches on the cpu pass arguments only");
  auto executable = std::make_shared<HostExecutable>(kernel);
  executable->keep = shared_from_this();
  executable->object = loader(where).load(kernel.image, kernel.entry, where);
  executable->entry = reinterpret_cast<backend::HostEntry>(executable->object->entry());
  return executable;
}

void HostDevice::launch(const Executable& executable, const LaunchConfig& config, std::span<const std::uint64_t> arguments,
                        Stream& stream) {
  const auto& kernel = static_cast<const HostExecutable&>(executable);
  TW_CHECK(arguments.size() == kernel.parameters, "a launch passes one word a parameter");
  const std::int64_t programs = std::int64_t{config.grid[0]} * config.grid[1] * config.grid[2];  // kMostPrograms: fewer than 2^63
  // Like allocate(), this throws instead of overcommitting memory.
  const auto threads = static_cast<std::size_t>(std::min<std::int64_t>(programs, threads_));
  if (kernel.scratch_bytes > total_memory_ / threads)
    throw_lack_of_resources(
        config.where, fmt::format("launch: out of memory: each of {} threads needs {} bytes for the kernel's tiles on device '{}'", threads,
                                  kernel.scratch_bytes, name()));
  std::optional<BoundsCheck> check;
  if (config.check) check.emplace(memory().snapshot(), kernel.sites);
  Reports reports(kernel.reports);
  const backend::HostLaunch launch{{config.grid[0], config.grid[1], config.grid[2]},
                                   caches_.kib_for(static_cast<std::int64_t>(threads)),
                                   check ? &BoundsCheck::check : nullptr,
                                   check ? &*check : nullptr,
                                   kernel.reports.empty() ? nullptr : &Reports::report,
                                   kernel.reports.empty() ? nullptr : &reports};
  {
    const auto work = [&](Chunks& chunks) {
      const ScratchPool::Lease scratch = scratch_.acquire(kernel.scratch_bytes);
      for (Chunks::Range r; chunks.next(r);) kernel.entry(arguments.data(), &launch, r.begin, r.end, scratch.data());
    };
    const auto turn = enter(stream);
    const ThreadPool::Work by_reference = std::cref(work);  // so that std::function allocates nothing
    executor_.run ? run_on(executor_, programs, by_reference) : pool_.run(programs, by_reference);
  }
  // Assertions come first: a failed assertion is often the reason for a bad access.
  reports.finish(config.where);
  if (check) check->report(arguments, config.where);
}

}  // namespace

std::shared_ptr<Device> make_host_device(const std::string& name) { return std::make_shared<HostDevice>(name); }

std::shared_ptr<Device> make_host_device(const std::string& target, Executor executor) {
  return std::make_shared<HostDevice>(target, std::move(executor));
}

std::shared_ptr<const Executable> make_host_executable(backend::HostEntry entry, const backend::CompiledKernel& kernel) {
  auto executable = std::make_shared<HostExecutable>(kernel);
  executable->entry = entry;
  return executable;
}

}  // namespace tilewright::rt
