// Times launches of the library's kernels, and waits until threads of other libraries are idle.
#include "frontend/cli/bench/measuring/contender.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "frontend/cli/execution/execution.h"
#include "frontend/cli/files/errors.h"
#include "runtime/devices.h"

namespace tilewright::cli::bench {

namespace {

class CallsOnDevice final : public Contender {
 public:
  CallsOnDevice(const Device& device, const Case& c, std::function<void(DeviceTensors&)> call, bool settle)
      : device_(device), case_(c), call_(std::move(call)), settle_(settle), tensors_(device, c.problem.tensors) {}

  double time(int launches) override {
    return time_calls(device_, launches, [&] { call_(tensors_); });
  }
  Contents results() override {
    tensors_.restore(case_.problem.tensors);
    call_(tensors_);
    device_.synchronize();
    Contents all;
    for (const Reference& r : case_.problem.references) all.emplace(r.tensor, tensors_.contents(r.tensor));
    return all;
  }
  void settle() override {
    if (settle_) wait_until_idle(getpid());
  }

 private:
  const Device device_;
  const Case& case_;
  const std::function<void(DeviceTensors&)> call_;
  const bool settle_;
  DeviceTensors tensors_;
};

/// The time in nanoseconds that all threads of a process have run; 0 if the system does not tell.
std::uint64_t run_time_ns(int process) {
  std::uint64_t sum = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::uint64_t ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ns;
    sum += ns;
  }
  return sum;
}

}  // namespace

Device open_measured_device(const std::string& name) {
  if (name == "interpreter") throw UsageError("--device: the interpreter is the meaning of kernels, and has no times");
  return Device(name.empty() ? rt::open_best_device(Here()) : open_named_device(name));
}

std::unique_ptr<Contender> calls_on_device(const Device& device, const Case& c, std::function<void(DeviceTensors&)> call, bool settle) {
  return std::make_unique<CallsOnDevice>(device, c, std::move(call), settle);
}

std::unique_ptr<Contender> our_kernel(const Setting& setting, const Case& c) {
  return calls_on_device(setting.device, c, [&](DeviceTensors& t) { c.problem.launch(t, setting.options); });
}

void prepare_inputs(const Setting& setting, Problem& p) {
  if (!p.prepare) return;
  DeviceTensors tensors(setting.device, p.tensors);
  p.prepare(setting.device, tensors);
  setting.device.synchronize();
  for (Tensor& t : p.tensors)
    if (!t.written) t.bytes = tensors.contents(t.name);
}

double time_calls(const Device& device, int calls, const std::function<void()>& call) {
  if (is_gpu(device)) {
    rt::Stream& stream = device.handle()->default_stream();
    const auto begin = stream.record();
    for (int i = 0; i < calls; ++i) call();
    const auto end = stream.record();
    return begin->elapsed_ms(*end) / calls;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  device.synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / calls;
}

void wait_until_idle(int process) {
  using namespace std::chrono_literals;
  constexpr std::uint64_t kIdleNs = 200'000;  // a tenth of the time that one thread has
  std::uint64_t before = run_time_ns(process);
  for (int nap = 0; nap < 250; ++nap) {
    std::this_thread::sleep_for(2ms);
    const std::uint64_t now = run_time_ns(process);
    if (now - before < kIdleNs) return;
    before = now;
  }
}

}  // namespace tilewright::cli::bench
