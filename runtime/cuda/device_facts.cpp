// Queries the facts of a CUDA device without creating a context on it.
#include "runtime/cuda/device_facts.h"

#include <fmt/format.h>

#include "runtime/cuda/driver_failure.h"

namespace tilewright::rt::cuda {

namespace {

constexpr int kLeastCapability = 75;
constexpr int kComputeModeProhibited = 2;

// Runs calls until one fails, and keeps its error.
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
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB", facts.name, facts.capability / 10,
                     facts.capability % 10, facts.multiprocessors, static_cast<double>(facts.memory) / (std::size_t{1} << 30));
}

std::string target_for(int capability) {
  struct Row {
    int least;
    const char* target;
  };
  constexpr Row kRows[] = {{91, "sm_90"}, {90, "sm_90a"}, {89, "sm_89"}, {86, "sm_86"}, {80, "sm_80"}};
  for (const Row& r : kRows)
    if (capability >= r.least) return r.target;
  return "sm_75";
}

}  // namespace tilewright::rt::cuda
