// z = x + y, for any length. The idea: a kernel is a C++ function over tiles, run by a grid of programs.
#include <cmath>

#include "example.h"

namespace tw = tilewright;

// Parameters of tw:: types are run-time values. BLOCK is plain C++, so it is known when the kernel is compiled, and each value of it
// is a kernel of its own.
void add(tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> z, tw::I32 n, int BLOCK) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);  // this program's elements: a tile of BLOCK indices
  auto mask = i < n;                                          // the last program has fewer of them
  tw::store(z + i, tw::load(x + i, mask) + tw::load(y + i, mask), mask);
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int n = options.quick ? 100'003 : 16'777'259;
  const auto xs = example::normal(n, 1), ys = example::normal(n, 2);
  std::vector<float> plain_z(n, NAN);
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) want[i] = double(xs[i]) + double(ys[i]);

  tw::Device device = options.open();
  auto x = device.upload(xs), y = device.upload(ys);
  auto z = device.upload(std::vector<float>(n, NAN));
  tw::Kernel kernel("add", add);
  const int block = 1024;

  return example::report(options, device,
                         {.kernel = "vector add",
                          .size = std::to_string(n) + " f32",
                          .bytes = 3.0 * sizeof(float) * n,
                          .tolerance = 1e-6,
                          .tile =
                              [&] {
                                kernel({.grid = tw::cdiv(n, block)}, x, y, z, n, block);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                example::parallel(n, block, [&](int begin, int end) {
                                  for (int i = begin; i < end; ++i) plain_z[i] = xs[i] + ys[i];
                                });
                              },
                          .tile_result = [&] { return z.download(); },
                          .plain_result = [&] { return plain_z; },
                          .want = want});
}
