// How fast compiled kernels run: rates beside a copy of the same number of bytes by memcpy on all cores, and in GFLOP/s.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/bench/kernels.h"
#include "tests/bench/report.h"

namespace {

using namespace bench;

/// A copy by memcpy with one thread a core. The threads are started inside of the time measured: some 30 us of milliseconds.
void copy(std::vector<char>& to, const std::vector<char>& from) {
  const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < parts; ++p)
    threads.emplace_back([&, begin = from.size() * p / parts, end = from.size() * (p + 1) / parts] {
      std::memcpy(to.data() + begin, from.data() + begin, end - begin);
    });
}

class KernelBench {
 public:
  explicit KernelBench(const Options& options)
      : options_(options), device_(open_device(options.device)), report_(options, "kernels", device_.name()) {}

  void run() {
    for (int log = 10; log <= 24; log += 7) {
      const int n = 1 << log;
      rate("vector_add " + std::to_string(n), 3.0 * sizeof(float) * n, [&] {
        auto x = filled(n), y = filled(n), z = empty(n);
        return [this, n, x = std::move(x), y = std::move(y), z = std::move(z)]() mutable {
          kernels_.vector_add({.grid = tw::cdiv(n, 4096)}, x, y, z, n, 4096);
        };
      });
    }
    for (auto [rows, columns] : {std::pair{4096, 1000}, {4096, 1024}, {4096, 4096}, {512, 16384}}) {
      const std::size_t n = std::size_t(rows) * columns;
      const std::string size = std::to_string(rows) + "x" + std::to_string(columns);
      rate("softmax " + size, 2.0 * sizeof(float) * n, [&, rows = rows, columns = columns] {
        return [this, rows, columns, x = filled(n), y = empty(n)]() mutable {
          kernels_.softmax({.grid = rows}, x, y, columns, static_cast<int>(tw::next_power_of_two(columns)));
        };
      });
      rate("layer_norm " + size, 2.0 * sizeof(float) * n, [&, rows = rows, columns = columns] {
        return [this, rows, columns, x = filled(n), w = filled(columns), b = filled(columns), y = empty(n)]() mutable {
          kernels_.layer_norm({.grid = rows}, x, w, b, y, columns, 1024);
        };
      });
    }
    for (int n : {256, 512, 1024})
      for (int block : {32, 64, 128})
        flops("matmul " + std::to_string(n) + " block " + std::to_string(block), 2.0 * n * n * n, [&] {
          return [this, n, block, a = filled(n * n), b = filled(n * n), c = empty(n * n)]() mutable {
            kernels_.matmul({.grid = tw::cdiv(n, block) * tw::cdiv(n, block)}, a, b, c, n, n, n, block);
          };
        });
    for (int length : {256, 1024})
      flops("attention 8x" + std::to_string(length) + "x64", 4.0 * 8 * length * length * 64, [&] {
        const int n = 8 * length * 64;
        return [this, length, q = filled(n), k = filled(n), v = filled(n), out = empty(n)]() mutable {
          kernels_.attention({.grid = {tw::cdiv(length, 64), 8}}, q, k, v, out, length, 0.125f, 64);
        };
      });
    report_.finish();
  }

 private:
  tw::Buffer<float> filled(std::size_t n) { return device_.upload(sample_values(n)); }
  tw::Buffer<float> empty(std::size_t n) { return device_.allocate<float>(n); }

  template <class Make>
  void rate(const std::string& name, double bytes, Make&& make) {
    if (!options_.wants(name)) return;
    auto launch = make();
    const Samples ms = timed(launch);
    std::vector<std::pair<std::string, double>> values = {{"ms", ms.median}, {"GB/s", bytes / (ms.median * 1e6)}};
    // Below this, starting the copy's threads is a part of its time worth speaking of.
    if (bytes > 16e6) {
      std::vector<char> from(static_cast<std::size_t>(bytes / 2), 1), to(from.size(), 2);
      const Samples copied = time_ms(options_.repeats, [&] { copy(to, from); });
      values.insert(values.end(), {{"memcpy GB/s", bytes / (copied.median * 1e6)}, {"of memcpy", copied.median / ms.median}});
    }
    report_.row(name, values);
  }

  template <class Make>
  void flops(const std::string& name, double count, Make&& make) {
    if (!options_.wants(name)) return;
    auto launch = make();
    const Samples ms = timed(launch);
    report_.row(name, {{"ms", ms.median}, {"GFLOP/s", count / (ms.median * 1e6)}, {"best GFLOP/s", count / (ms.least * 1e6)}});
  }

  template <class Launch>
  Samples timed(Launch& launch) {
    return time_ms(options_.repeats, [&] {
      launch();
      device_.synchronize();
    });
  }

  Options options_;
  tw::Device device_;
  Report report_;
  Kernels kernels_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse(argc, argv, "Rates of compiled kernels");
  try {
    KernelBench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
