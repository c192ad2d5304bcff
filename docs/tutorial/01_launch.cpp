// Step 1 of the tutorial: a kernel and a launch.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [kernel]
// z = x + y. A program adds one block of BLOCK elements.
void add(tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> z, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  tw::store(z + at, tw::load(x + at) + tw::load(y + at));
}
// [/kernel]

int main() {
  // [launch]
  tw::Device device = tw::Device::open();
  std::vector<float> ones(4096, 1.0f), twos(4096, 2.0f);
  auto x = device.upload(ones), y = device.upload(twos);
  auto z = device.allocate<float>(4096);

  tw::Kernel kernel("add", add);
  kernel({.grid = 4}, x, y, z, 1024);  // 4 programs of 1024 elements each

  std::vector<float> result = z.download();
  std::printf("z[0] = %g, z[4095] = %g\n", result[0], result[4095]);
  // [/launch]
  for (float v : result)
    if (v != 3.0f) return 1;
}
