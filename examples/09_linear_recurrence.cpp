// h[t] = a[t] h[t - 1] + b[t] for each channel, the core of state-space models and gated linear units. The idea: a scan over a tuple, since
// steps combine: first h -> a1 h + b1, then h -> a2 h + b2, is h -> (a1 a2) h + (a2 b1 + b2).
#include <cmath>

#include "example.h"

namespace tw = tilewright;

// a, b, h: [T, C], row-major. A program computes BC channels, BT steps at a time; what is carried from tile to tile is the last h.
void recurrence(tw::Ptr<const float> a, tw::Ptr<const float> b, tw::Ptr<float> h, tw::I32 T, tw::I32 C, int BT, int BC) {
  auto c = tw::row(tw::program_id(0) * BC + tw::arange(0, BC));
  auto step = tw::column(tw::arange(0, BT));
  auto combine = [](auto earlier, auto later) {
    auto [a1, b1] = earlier;
    auto [a2, b2] = later;
    return std::tuple{a1 * a2, a2 * b1 + b2};
  };

  auto state = tw::zeros<float>({1, BC});
  for (auto t0 : tw::range(0, T, BT)) {
    auto at = (t0 + step) * C + c;
    auto mask = t0 + step < T && c < C;
    // Past the end h stays what it is: h -> 1 h + 0.
    auto [scale, shift] = tw::scan(std::tuple{tw::load(a + at, mask, 1), tw::load(b + at, mask)}, 0, combine);
    auto now = scale * state + shift;
    tw::store(h + at, now, mask);
    state = tw::sum(tw::where(step == BT - 1, now, 0), 0, true);
  }
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int T = options.quick ? 77 : 4096, C = options.quick ? 50 : 2048;
  const std::size_t count = std::size_t(T) * C;
  auto as = example::normal(count, 31);
  const auto bs = example::normal(count, 32);
  for (float& v : as) v = 1 / (1 + std::exp(-2 - v));  // gates that forget slowly
  std::vector<float> plain_h(count, NAN);
  std::vector<double> want(count);
  const auto run = [&](auto* h, int begin, int end) {  // channels begin to end
    using Real = std::remove_pointer_t<decltype(h)>;
    for (int t = 0; t < T; ++t)
      for (std::size_t c = begin, at = std::size_t(t) * C + c; c < std::size_t(end); ++c, ++at)
        h[at] = Real(as[at]) * (t == 0 ? 0 : h[at - C]) + bs[at];
  };
  example::parallel(C, 16, [&](int begin, int end) { run(want.data(), begin, end); });

  tw::Device device = options.open();
  auto a = device.upload(as), b = device.upload(bs);
  auto h = device.upload(std::vector<float>(count, NAN));
  tw::Kernel kernel("linear_recurrence", recurrence);

  return example::report(options, device,
                         {.kernel = "linear recurrence",
                          .size = std::to_string(T) + " x " + std::to_string(C) + " f32",
                          .bytes = 3.0 * sizeof(float) * count,
                          .tolerance = 1e-5,
                          .tile =
                              [&] {
                                kernel({.grid = tw::cdiv(C, 64)}, a, b, h, T, C, 32, 64);
                                device.synchronize();
                              },
                          .plain = [&] { example::parallel(C, 64, [&](int begin, int end) { run(plain_h.data(), begin, end); }); },
                          .tile_result = [&] { return h.download(); },
                          .plain_result = [&] { return plain_h; },
                          .want = want});
}
