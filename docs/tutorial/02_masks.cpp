// Step 2 of the tutorial: masks, for sizes that are not multiples of a block.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [kernel]
// z = x + y, of n elements. The lanes of the last program that are past the end are masked off.
void add(tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> z, tw::I32 n, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto mask = at < n;
  tw::store(z + at, tw::load(x + at, mask) + tw::load(y + at, mask), mask);
}
// [/kernel]

// [largest]
// The largest of n elements, by one program: what stands in for a masked-off lane must not win.
void largest(tw::Ptr<const float> x, tw::Ptr<float> out, tw::I32 n, int BLOCK) {
  auto at = tw::arange(0, BLOCK);
  tw::store(out, tw::max(tw::load(x + at, at < n, -tw::inf)));
}
// [/largest]

int main() {
  // [launch]
  const int n = 5000, block = 1024;
  tw::Device device = tw::Device::open();
  auto x = device.upload(std::vector<float>(n, -1.5f)), y = device.upload(std::vector<float>(n, -2.5f));
  auto z = device.allocate<float>(n);

  tw::Kernel kernel("add", add);
  kernel({.grid = tw::cdiv(n, block)}, x, y, z, n, block);  // 5 programs, the last of which has 904 elements
  // [/launch]
  const std::vector<float> sums = z.download();
  std::printf("%d programs, z[4999] = %g\n", tw::cdiv(n, block), sums[4999]);

  auto out = device.allocate<float>(1);
  tw::Kernel find("largest", largest);
  find({.grid = 1}, z, out, n, tw::next_power_of_two(n));
  const float found = out.download()[0];
  std::printf("the largest is %g\n", found);

  for (float v : sums)
    if (v != -4.0f) return 1;
  return found == -4.0f ? 0 : 1;
}
