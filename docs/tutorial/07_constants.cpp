// Step 7 of the tutorial: compile-time constants, templates and element types.
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [constants]
enum class Activation { none, relu, silu };

struct Config {
  int block = 256;
  Activation activation = Activation::none;
  bool accumulate = false;
};
// [/constants]

// [kernel]
// y = f(alpha * x), or y += f(alpha * x), for any float type. What is computed on is f32.
template <class T>
void scale(tw::Ptr<const T> x, tw::Ptr<T> y, tw::F32 alpha, tw::I32 n, Config config) {
  auto at = tw::program_id(0) * config.block + tw::arange(0, config.block);
  auto mask = at < n;
  auto v = tw::cast<float>(tw::load(x + at, mask)) * alpha;
  if (config.activation == Activation::relu) v = tw::relu(v);
  if (config.activation == Activation::silu) v = tw::silu(v);
  if (config.accumulate) v += tw::cast<float>(tw::load(y + at, mask));
  tw::store(y + at, tw::cast<T>(v), mask);
}
// [/kernel]

// [struct]
// The fields that are handles are run-time values, BLOCK is a constant.
struct Row {
  tw::Ptr<const tw::bf16> x;
  tw::Ptr<float> sum;
  tw::I32 n;
  int BLOCK;
};

void sum_of(Row row) {
  auto at = tw::arange(0, row.BLOCK);
  tw::store(row.sum, tw::sum(tw::load(row.x + at, at < row.n).to<float>()));
}
// [/struct]

int main() {
  const int n = 1000;
  std::vector<tw::bf16> host(n);
  for (int k = 0; k < n; ++k) host[k] = tw::bf16(k - 500);
  tw::Device device = tw::Device::open();
  auto x = device.upload(host);
  auto y = device.allocate<tw::bf16>(n);
  // [launch]
  tw::Kernel kernel("scale", scale<tw::bf16>);
  const int programs = tw::cdiv(n, 256);
  kernel({.grid = programs}, x, y, 0.5f, n, {.activation = Activation::relu});
  kernel({.grid = programs}, x, y, 2.0f, n, {.accumulate = true});  // compiles once more
  kernel({.grid = programs}, x, y, 3.0f, n, {.accumulate = true});  // does not: alpha is a run-time value
  // [/launch]
  // [bind]
  auto total = device.allocate<float>(1);
  tw::Kernel sum("sum", sum_of);
  sum({.grid = 1}, {x, total, n, 1024});

  struct Job {
    const tw::Buffer<tw::bf16>& x;
    tw::Buffer<float>& sum;
    std::size_t n;
    int block;
  };
  Job job{x, total, host.size(), 1024};
  sum({.grid = 1}, job);  // the same
  // [/bind]
  if (total.download()[0] != -500) return 1;
  const auto result = y.download();
  std::printf("y[0] = %g, y[999] = %g\n", float(result[0]), float(result[999]));
  for (int k = 0; k < n; ++k) {
    float want = float(tw::bf16(std::fmax(0.5f * (k - 500), 0.0f)));
    for (float alpha : {2.0f, 3.0f}) want = float(tw::bf16(alpha * float(host[k]) + want));
    if (float(result[k]) != want) return 1;
  }
}
