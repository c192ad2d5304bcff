// Times launches of our kernels, and waits for threads of others.
#include "frontend/cli/bench/contender.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "frontend/cli/command.h"
#include "frontend/cli/execution.h"
#include "runtime/devices.h"

namespace tilewright::cli::bench {

namespace {

class OurKernel final : public Contender {
 public:
  OurKernel(const Setting& setting, const Case& of) : setting_(setting), case_(of), tensors_(setting.device, of.problem.tensors) {}

  double time(int launches) override {
    return time_calls(setting_.device, launches, [&] { launch(); });
  }
  std::vector<std::byte> result(std::string_view tensor) override {
    tensors_.restore(case_.problem.tensors);
    launch();
    setting_.device.synchronize();
    return tensors_.contents(tensor);
  }

 private:
  void launch() { case_.problem.launch(tensors_, setting_.options); }

  const Setting& setting_;
  const Case& case_;
  DeviceTensors tensors_;
};

/// Nanoseconds that all threads of a process have run; 0 if the system does not say.
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

std::unique_ptr<Contender> our_kernel(const Setting& setting, const Case& of) { return std::make_unique<OurKernel>(setting, of); }

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
  constexpr std::uint64_t kIdleNs = 200'000;  // a tenth of one thread
  std::uint64_t before = run_time_ns(process);
  for (int nap = 0; nap < 250; ++nap) {
    std::this_thread::sleep_for(2ms);
    const std::uint64_t now = run_time_ns(process);
    if (now - before < kIdleNs) return;
    before = now;
  }
}

}  // namespace tilewright::cli::bench
