// Implements a CUDA device.
#include "runtime/cuda/cuda_device.h"

#include <fmt/format.h>

#include <optional>

#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/launch_graph.h"
#include "runtime/cuda/launch_parameters.h"
#include "runtime/cuda/streams.h"
#include "runtime/cuda/transfers.h"
#include "runtime/device_failure.h"
#include "tileir/diagnostics.h"

namespace tilewright::rt::cuda {

namespace {

CUstream handle(Stream& stream) { return static_cast<CudaStream&>(stream).handle(); }

class CudaDevice : public Device {
 public:
  CudaDevice(const Driver& driver, CudaDeviceOptions options, const Here& where)
      : Device(options.name),
        facts_(std::move(options.facts)),
        target_(std::move(options.target)),
        context_(driver, facts_.device, options.name, options.is_emulated, where),
        parts_(*this, context_, where) {}

  std::string description() const override { return describe(facts_); }
  std::string driver_version() const override;
  std::string target() const override { return target_; }
  std::size_t free_memory() const override { return parts_.memory.free_bytes(); }

  std::uint64_t allocate(std::size_t bytes) override { return parts_.memory.allocate(bytes); }
  void release(std::uint64_t address, std::size_t) noexcept override { parts_.memory.release(address); }
  void copy_in(std::uint64_t to, const void* from, std::size_t bytes, Stream& stream) override {
    deliver_after(stream, [&] { parts_.transfers.copy_in(to, from, bytes, handle(stream)); });
  }
  void copy_out(void* to, std::uint64_t from, std::size_t bytes, Stream& stream) override {
    deliver_after(stream, [&] { parts_.transfers.copy_out(to, from, bytes, handle(stream)); });
  }
  void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream& stream) override {
    const Current current(context_);
    TW_CUDA_CALL(context_, Here(), cuMemcpyDtoDAsync, to, from, bytes, handle(stream));
  }
  void fill(std::uint64_t to, const void* pattern, std::size_t pattern_bytes, std::size_t count, Stream& stream) override {
    parts_.transfers.fill(to, pattern, pattern_bytes, count, handle(stream));
  }
  std::string reason_against(std::uint64_t address) const override;

  std::shared_ptr<Stream> create_stream() override;
  std::shared_ptr<Stream> wrap_stream(void* native, const Here&) override;
  Stream& default_stream() override { return parts_.default_stream; }
  void synchronize() override;

  std::shared_ptr<const Executable> load(const backend::CompiledKernel&, const Here&) override;
  void launch(const Executable&, const LaunchConfig&, std::span<const std::uint64_t> arguments, Stream&) override;
  std::unique_ptr<LaunchSequence> create_sequence() override { return std::make_unique<LaunchGraph>(shared_from_this(), context_); }

 private:
  StreamHome home() { return {*this, context_, parts_.memory, parts_.reports}; }
  // A transfer waits for its stream, so the lines that the stream's kernels printed can be read afterwards.
  template <class Wait>
  void deliver_after(Stream& stream, Wait&& wait) {
    const Current current(context_);
    parts_.reports.deliver_after(wait, parts_.reports.take(handle(stream)));
  }
  void submit(const CudaKernel&, const LaunchConfig&, CUstream, LaunchParameters&);
  int attribute(CUdevice_attribute which, const Here& where) {
    int value = 0;
    TW_CUDA_CALL(context_, where, cuDeviceGetAttribute, &value, which, context_.device());
    return value;
  }

  // Members that must be created and released while the context is current.
  struct Parts {
    Parts(CudaDevice& device, Context& context, const Here& where) : Parts(device, context, where, Current(context, where)) {}
    Parts(CudaDevice& device, Context& context, const Here& where, const Current&)
        : memory(context, where),
          transfers(context),
          reports(context, memory),
          default_stream({device, context, memory, reports}, nullptr, nullptr, CudaStream::Owner::user),
          reaches_host_memory(device.attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, where) != 0) {}
    mutable DeviceMemory memory;
    Transfers transfers;
    KernelReports reports;
    // The legacy default stream, as in a program of the CUDA runtime: work that the program submits to it is ordered with the library's
    // work.
    CudaStream default_stream;
    bool reaches_host_memory;
  };

  const DeviceFacts facts_;
  const std::string target_;
  mutable Context context_;
  Parts parts_;
};

std::string CudaDevice::driver_version() const {
  int version = 0;
  TW_CUDA_CALL(context_, Here(), cuDriverGetVersion, &version);
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string CudaDevice::reason_against(std::uint64_t address) const {
  if (parts_.reaches_host_memory) return "";
  const Current current(context_);
  if (context_.knows_address(address)) return "";
  return fmt::format("{:#x} is ordinary memory of the host, or none at all; device '{}' reaches memory that CUDA allocated", address,
                     name());
}

std::shared_ptr<Stream> CudaDevice::create_stream() {
  const Current current(context_);
  CUstream stream = nullptr;
  // The stream is not ordered with the default stream, since events order streams.
  TW_CUDA_CALL(context_, Here(), cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  try {
    return std::make_shared<CudaStream>(home(), shared_from_this(), stream, CudaStream::Owner::library);
  } catch (...) {
    context_.driver().cuStreamDestroy(stream);
    throw;
  }
}

std::shared_ptr<Stream> CudaDevice::wrap_stream(void* native, const Here& where) {
  const Current current(context_, where);
  const auto stream = static_cast<CUstream>(native);
  CUcontext owner = nullptr;
  TW_CUDA_CALL(context_, where, cuStreamGetCtx, stream, &owner);
  if (owner != context_.handle())
    throw Error(
        detail::location_of(where),
        fmt::format("wrap_stream: the stream is not of the primary context of device '{}', but of another device or context", name()));
  return std::make_shared<CudaStream>(home(), shared_from_this(), stream, CudaStream::Owner::user);
}

void CudaDevice::synchronize() {
  const Current current(context_);
  const std::uint64_t launched = context_.history().count();
  parts_.reports.deliver_after([&] { TW_CUDA_CALL(context_, Here(), cuCtxSynchronize); }, parts_.reports.take_all());
  context_.history().clear_until(launched);
}

std::shared_ptr<const Executable> CudaDevice::load(const backend::CompiledKernel& kernel, const Here& where) {
  const Current current(context_, where);
  const OutsideCapture outside(context_.driver());
  return std::make_shared<CudaKernel>(shared_from_this(), context_, kernel, where);
}

// Unless the kernel reports or is checked, a launch allocates nothing, takes no lock and does not wait, so it can be captured into a graph.
void CudaDevice::launch(const Executable& executable, const LaunchConfig& config, std::span<const std::uint64_t> arguments,
                        Stream& stream) {
  const auto& kernel = static_cast<const CudaKernel&>(executable);
  const Current current(context_, config.where);
  LaunchParameters parameters(kernel, arguments, config);
  CUdeviceptr report_buffer = 0, bounds_address = 0;
  if (kernel.reports) parameters.add(report_buffer);
  if (kernel.sites) parameters.add(bounds_address);
  // There is no check during capture: a graph may be launched later, when other buffers are live.
  std::optional<LaunchBounds> bounds;
  if (kernel.sites && !is_capturing(context_.driver(), handle(stream))) {
    bounds.emplace(context_, parts_.memory, memory().snapshot(),
                   LaunchBounds::Launch{kernel.name, kernel.sites, arguments, handle(stream), config.where});
    bounds_address = bounds->address();
  }
  const auto go = [&](CUdeviceptr buffer) {
    report_buffer = buffer;
    submit(kernel, config, handle(stream), parameters);
  };
  if (kernel.reports)
    parts_.reports.launch(handle(stream), {kernel.name, kernel.reports}, config.check, config.where, go);
  else
    go(0);
  // Assertions come first: a failed assertion is often the reason for a bad access.
  if (bounds) bounds->finish();
}

void CudaDevice::submit(const CudaKernel& kernel, const LaunchConfig& config, CUstream stream, LaunchParameters& parameters) {
  const std::array<std::int32_t, 3>& grid = parameters.grid();
  const CUlaunchConfig launch{static_cast<unsigned>(grid[0]),
                              static_cast<unsigned>(grid[1]),
                              static_cast<unsigned>(grid[2]),
                              kernel.threads,
                              1,
                              1,
                              kernel.dynamic_shared_bytes,
                              stream,
                              /*attrs=*/nullptr,
                              /*numAttrs=*/0};
  if (const CUresult status = context_.driver().cuLaunchKernelEx(&launch, kernel.function, parameters.get(), nullptr);
      status != CUDA_SUCCESS)
    context_.fail(status, "cuLaunchKernelEx", config.where,
                  fmt::format(", of kernel '{}' with grid {{{}, {}, {}}}, {} threads of {} registers, {} bytes of shared memory",
                              kernel.name, grid[0], grid[1], grid[2], kernel.threads, kernel.registers,
                              kernel.static_shared_bytes + static_cast<int>(kernel.dynamic_shared_bytes)));
  // This comes after the call, since the call also reports failures of earlier kernels.
  context_.history().add(kernel.name, config.where);
}

}  // namespace

std::shared_ptr<Device> make_cuda_device(const Driver& driver, CudaDeviceOptions options, const Here& where) {
  return std::make_shared<CudaDevice>(driver, std::move(options), where);
}

}  // namespace tilewright::rt::cuda
