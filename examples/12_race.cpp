// A race, and where it is. The idea: on an emulated GPU every access is checked, so that a kernel whose programs get in each other's way is
// told from a right one even where its numbers happen to be right, and the message names the line to look at.
#include <cmath>
#include <cstdio>
#include <string>

#include "example.h"

namespace tw = tilewright;

constexpr int kPlanted = __LINE__ + 8;  // where the mistake is

// The sum of x, each program adding what it has to the one result, and keeping what that has come to.
void total(tw::Ptr<const float> x, tw::Ptr<float> sum, tw::Ptr<float> so_far, tw::I32 n, int BLOCK, bool ATOMIC) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto part = tw::sum(tw::load(x + i, i < n), 0);
  // The second way reads, adds and writes, and another program may write between: a mistake as it is made in PTX written by hand.
  auto now = ATOMIC ? tw::atomic_add(sum, part) + part
                    : tw::inline_ptx<float>("{ .reg .f32 a; ld.global.f32 a, [$1]; add.rn.f32 $0, a, $2; st.global.f32 [$1], $0; }",
                                            "=f,l,f", sum, part);
  tw::store(so_far + tw::program_id(0), now);
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  tw::Device device = tw::Device::open(options.device.starts_with("emulator:") ? options.device : "emulator:sm_80");
  constexpr int kCount = 1000, kBlock = 256;
  const auto values = example::normal(kCount, 12);
  double want = 0;
  for (float v : values) want += v;
  auto x = device.upload(values), sum = device.upload(std::vector<float>{0});
  auto so_far = device.allocate<float>(tw::cdiv(kCount, kBlock));
  tw::Kernel kernel("total", total);

  kernel({.grid = tw::cdiv(kCount, kBlock)}, x, sum, so_far, kCount, kBlock, true);
  const bool right = std::fabs(sum.download()[0] - want) < 1e-3;
  std::printf("with atomics: nothing is found, and the sum is %s\n", right ? "right" : "WRONG");

  std::string found = "nothing";
  try {
    kernel({.grid = tw::cdiv(kCount, kBlock)}, x, sum, so_far, kCount, kBlock, false);
    device.synchronize();
  } catch (const tw::DeviceError& e) {
    found = e.what();
  }
  std::printf("without them:\n%s\n", found.c_str());
  // The kernel's own line, and not only the launch's.
  const bool is_found =
      found.find("race in 'total'") != found.npos && found.find("12_race.cpp:" + std::to_string(kPlanted) + ": ") != found.npos;
  if (!is_found) std::printf("WRONG: the race is not found\n");
  return right && is_found ? 0 : 1;
}
