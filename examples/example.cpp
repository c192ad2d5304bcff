// Checks, measures and prints what examples compute.
#include "example.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

namespace example {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Threads that stay, so that plain C++ does not pay for starting them.
class Workers {
 public:
  Workers() {
    for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls f() once on each thread, the caller's included.
  void run(const std::function<void()>& f) {
    {
      std::lock_guard lock(mutex_);
      f_ = &f;
      ++round_;
      busy_ = threads_.size();
    }
    wake_.notify_all();
    f();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void serve() {
    for (long seen = 0;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      const auto* f = f_;
      lock.unlock();
      (*f)();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void()>* f_ = nullptr;
  long round_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
};

Workers& workers() {
  static Workers all;
  return all;
}

/// ||got - want|| / ||want||; infinite if the sizes differ or anything is not finite.
double relative_error(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(want[i])) return HUGE_VAL;
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : HUGE_VAL;
}

/// Medians in ms. The contenders take turns, so that what slows the machine down for a while slows them all down.
std::vector<double> medians(const std::vector<std::function<void()>>& contenders, bool quick) {
  std::vector<std::vector<double>> samples(contenders.size());
  const auto start = Clock::now();
  const int rounds = quick ? 1 : 25;
  for (int round = 0; round < rounds && (round < 5 || ms_since(start) < 4000); ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Threads that still wait for more work would share the cores with the next contender.
      std::this_thread::sleep_for(std::chrono::milliseconds(quick ? 0 : 5));
      const auto begin = Clock::now();
      contenders[i]();
      samples[i].push_back(ms_since(begin));
    }
  std::vector<double> result;
  for (auto& s : samples) {
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
    result.push_back(s[s.size() / 2]);
  }
  return result;
}

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
using Lanes = float __attribute__((vector_size(kVectorBytes)));

/// The multiply-add rate that the cores reach without memory: with enough independent chains to hide the latency of one, few enough to stay
/// in registers.
double peak_gflops() {
  constexpr int kChains = 10, kSteps = 4'000'000;
  static std::atomic<float> sink;
  const std::function<void()> spin = [] {
    Lanes chains[kChains];
    for (int c = 0; c < kChains; ++c)
      for (int i = 0; i < kVectorBytes / 4; ++i) chains[c][i] = static_cast<float>(c + i);
    const Lanes factor = Lanes{} + 0.999f, term = Lanes{} + 0.001f;
    for (int step = 0; step < kSteps; ++step)
      for (int c = 0; c < kChains; ++c) chains[c] = chains[c] * factor + term;
    Lanes sum = {};
    for (const Lanes& chain : chains) sum += chain;
    sink = sum[0];
  };
  const auto all_cores = [&] { workers().run(spin); };
  const auto ms = medians({all_cores, all_cores, all_cores, all_cores, all_cores}, true);
  return 2.0 * kChains * (kVectorBytes / 4) * kSteps * workers().count() / (*std::min_element(ms.begin(), ms.end()) * 1e6);
}

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

void print_row(const Options& options, const tilewright::Device& device, const std::string& row) {
  const std::string header =
      format("%-16s %-22s %9s %10s %14s %14s %11s %8s", "kernel", "size", "error", "time", "rate", "share", "plain C++", "speedup");
  std::printf("%s\n%s\n", header.c_str(), row.c_str());
  if (options.table.empty()) return;
  const bool first = !std::ifstream(options.table).good();
  std::ofstream table(options.table, std::ios::app);
  if (first) table << "device " << device.name() << ": " << device.description() << '\n' << header << '\n';
  table << row << '\n';
}

}  // namespace

Options::Options(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      quick = true;
    } else if (words[i] == "--plan") {
      plan = true;
    } else if (words[i] == "--device" && i + 1 < words.size()) {
      device = words[++i];
    } else if (words[i] == "--table" && i + 1 < words.size()) {
      table = words[++i];
    } else {
      std::fprintf(stderr, "usage: %s [--device NAME] [--table FILE] [--quick] [--plan]\n", argv[0]);
      std::exit(2);
    }
  }
}

std::vector<float> normal(std::size_t count, unsigned seed, float scale) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw(0.0f, scale);
  std::vector<float> values(count);
  for (float& v : values) v = draw(engine);
  return values;
}

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint32_t counter) {
  std::array<std::uint32_t, 4> c{counter, 0, 0, 0};
  auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * c[0], q = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(q >> 32) ^ c[1] ^ low, static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(p >> 32) ^ c[3] ^ high,
         static_cast<std::uint32_t>(p)};
    low += 0x9E3779B9, high += 0xBB67AE85;
  }
  return c;
}

void parallel(int count, int grain, const std::function<void(int, int)>& f) {
  const int part = std::max(grain, (count + 8 * workers().count() - 1) / (8 * workers().count()));
  std::atomic<int> next = 0;
  workers().run([&] {
    for (int begin; (begin = next.fetch_add(part)) < count;) f(begin, std::min(begin + part, count));
  });
}

int report(const Options& options, const tilewright::Device& device, const Case& c) {
  std::printf("device %s: %s\n", device.name().c_str(), device.description().c_str());
  c.tile();
  c.plain();
  double error = relative_error(c.tile_result(), c.want);
  const double plain_error = relative_error(c.plain_result(), c.want);

  const auto half = static_cast<std::size_t>(c.bytes / 2);
  std::vector<char> from(half, 1), to(half, 2);
  const auto copy = [&] {
    constexpr int kPage = 4096;
    parallel(static_cast<int>(half / kPage), 16, [&](int begin, int end) {
      std::memcpy(to.data() + std::size_t(begin) * kPage, from.data() + std::size_t(begin) * kPage, std::size_t(end - begin) * kPage);
    });
  };
  const auto ms = medians({c.tile, c.plain, copy}, options.quick);
  error = std::max(error, relative_error(c.tile_result(), c.want));  // the timed launches must be right, too

  const bool compute_bound = c.flops > 0;
  const double rate = (compute_bound ? c.flops : c.bytes) / (ms[0] * 1e6);
  std::string share = "-";
  if (device.name().starts_with("cpu"))  // a share of what this machine's cores and memory do says nothing of another device
    share = compute_bound ? format("%.0f %% of peak", 100 * rate / peak_gflops()) : format("%.0f %% of copy", 100 * ms[2] / ms[0]);
  print_row(options, device,
            format("%-16s %-22s %9.1e %7.2f ms %14s %14s %8.2f ms %7.1fx", c.kernel.c_str(), c.size.c_str(), error, ms[0],
                   format(compute_bound ? "%.1f GFLOP/s" : "%.1f GB/s", rate).c_str(), share.c_str(), ms[1], ms[1] / ms[0]));

  if (!(error <= c.tolerance)) std::printf("FAIL: the kernel's relative error is %g, above %g\n", error, c.tolerance);
  if (!(plain_error <= c.tolerance)) std::printf("FAIL: the plain loops' relative error is %g, above %g\n", plain_error, c.tolerance);
  return error <= c.tolerance && plain_error <= c.tolerance ? 0 : 1;
}

}  // namespace example
