// Queries the facts of a CUDA device without creating a context on it.
#include "runtime/cuda/device_facts.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/cuda/driver_failure.h"
#include "tileir/target/gpu_chips.h"

namespace tilewright::rt::cuda {

namespace {

constexpr int kLeastCapability = 75;
constexpr int kComputeModeProhibited = 2;

// Runs calls until one fails, and keeps the error of that call.
class Asker {
 public:
  explicit Asker(const Driver& driver) : driver_(driver) {}
  void note(CUresult status, const char* call) {
    if (status != CUDA_SUCCESS && failure_.empty()) failure_ = failure_text(driver_, call, status);
  }
  int attribute(CUdevice_attribute which, CUdevice device) {
    int value = 0;
    note(driver_.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  }
  const std::string& failure() const { return failure_; }

 private:
  const Driver& driver_;
  std::string failure_;
};

/// The most that memory moves, in 10^9 bytes per second: both edges of its clock transfer data.
int memory_gbs(const DeviceFacts& facts) { return static_cast<int>(std::lround(2e-6 * facts.memory_khz * facts.bus_bits / 8)); }

}  // namespace

int device_count(const Driver& driver, std::string& reason) {
  int count = 0;
  if (const CUresult status = driver.cuDeviceGetCount(&count); status != CUDA_SUCCESS) {
    reason = failure_text(driver, "cuDeviceGetCount", status);
    return 0;
  }
  if (count <= 0) reason = "the NVIDIA driver has no device for this process";
  return count;
}

DeviceFacts device_facts(const Driver& driver, int ordinal) {
  DeviceFacts facts;
  Asker ask(driver);
  char name[256] = "";
  ask.note(driver.cuDeviceGet(&facts.device, ordinal), "cuDeviceGet");
  ask.note(driver.cuDeviceGetName(name, sizeof name, facts.device), "cuDeviceGetName");
  facts.name = name;
  facts.capability = 10 * ask.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, facts.device) +
                     ask.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, facts.device);
  facts.multiprocessors = ask.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, facts.device);
  facts.shared_of_block = ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, facts.device);
  facts.shared_of_sm = ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, facts.device);
  facts.threads_of_sm = ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, facts.device);
  facts.registers_of_sm = ask.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, facts.device);
  facts.clock_khz = ask.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, facts.device);
  facts.memory_khz = ask.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, facts.device);
  facts.bus_bits = ask.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, facts.device);
  facts.l2_bytes = ask.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, facts.device);
  const int mode = ask.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, facts.device);
  ask.note(driver.cuDeviceTotalMem(&facts.memory, facts.device), "cuDeviceTotalMem");
  if (!ask.failure().empty())
    facts.reason = ask.failure();
  else if (facts.capability < kLeastCapability)
    facts.reason = fmt::format("{} has compute capability {}.{}, and {}.{} or newer is needed", facts.name, facts.capability / 10,
                               facts.capability % 10, kLeastCapability / 10, kLeastCapability % 10);
  else if (mode == kComputeModeProhibited)
    facts.reason = fmt::format("{} is in compute mode 'prohibited'", facts.name);
  return facts;
}

std::string describe(const DeviceFacts& facts) {
  std::string text = fmt::format("{}, compute capability {}.{}, {} multiprocessors", facts.name, facts.capability / 10,
                                 facts.capability % 10, facts.multiprocessors);
  if (facts.clock_khz > 0) text += fmt::format(" of {} MHz", facts.clock_khz / 1000);
  if (facts.l2_bytes > 0) text += fmt::format(", {:.0f} MiB of L2", static_cast<double>(facts.l2_bytes) / (1 << 20));
  text += fmt::format(", {:.1f} GiB", static_cast<double>(facts.memory) / (std::size_t{1} << 30));
  const int rate = memory_gbs(facts);
  return rate > 0 ? text + fmt::format(" of {} GB/s", rate) : text;
}

std::string target_of(const DeviceFacts& facts) {
  return ir::target_name(ir::chip_for(facts.capability), {.shared_bytes = facts.shared_of_block,
                                                          .warps_per_sm = facts.threads_of_sm / 32,
                                                          .registers_per_sm = facts.registers_of_sm,
                                                          .processors = facts.multiprocessors,
                                                          .clock_mhz = facts.clock_khz / 1000,
                                                          .memory_gbs = memory_gbs(facts)});
}

}  // namespace tilewright::rt::cuda
