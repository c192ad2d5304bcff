// Step 10 of the tutorial: what mistakes look like, checked mode, printing, and the compiled forms of a kernel.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace tw = tilewright;

// Prints a text without folders, and without columns, which compilers count differently.
void show(std::string_view text) {
  const std::string names = std::regex_replace(std::string(text), std::regex("[^ \n]*/"), "");
  std::printf("%s\n", std::regex_replace(names, std::regex("(cpp:[0-9]+):[0-9]+:"), "$1:").c_str());
}

// [mistake]
void outer_sum(tw::Ptr<const float> x, tw::Ptr<float> out) {
  auto i = tw::arange(0, 16), j = tw::arange(0, 8);
  auto sum = tw::load(x + i) + tw::load(x + j);  // meant: column(...) and row(...)
  tw::store(out + i, sum);
}
// [/mistake]

// [outside]
// Shifts by one: the last lane reads past the end.
void shift(tw::Ptr<const float> x, tw::Ptr<float> out, int N) {
  auto i = tw::arange(0, N);
  tw::store(out + i, tw::load(x + i + 1));
}
// [/outside]

// [print]
void normalise(tw::Ptr<float> x, int N) {
  auto at = tw::program_id(0) * N + tw::arange(0, N);
  auto v = tw::load(x + at);
  auto total = tw::sum(v, 0);
  tw::device_print("v = {}, total = {:.2f}", v, total);
  tw::device_assert(total != 0, "the total is not zero");
  tw::store(x + at, v / total);
}
// [/print]

template <class F>
bool fails(const F& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    show(e.what());
    return true;
  }
  return false;
}

int main() {
  tw::Device device = tw::Device::open();
  auto x = device.upload(std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0});
  auto out = device.allocate<float>(256);
  bool right = true;

  right = right && fails([&] { tw::Kernel("outer_sum", outer_sum)({.grid = 1}, x, out); });
  // [check]
  tw::Kernel kernel("shift", shift);
  right = right && fails([&] { kernel({.grid = 1, .check = true}, x, out, 8); });
  // [/check]

  tw::on_device_print(show);
  tw::Kernel scale("normalise", normalise);
  scale({.grid = 1, .check = true}, x, 4);
  right = right && fails([&] { scale({.grid = 1, .check = true}, x + 4, 4); });
  tw::on_device_print({});

  // [text]
  tw::Compiled compiled = kernel.compile("cpu", {}, tw::pointer<const float>(), tw::pointer<float>(), 8);
  show(compiled.tile_ir());
  // [/text]
  return right && compiled.assembly().find("ret") != std::string::npos ? 0 : 1;
}
