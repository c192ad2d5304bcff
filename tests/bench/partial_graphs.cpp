// Convolutions, and the graphs that are equal to them but for borders. Images are [batch, rows, columns, channels].
#include "tests/bench/partial_graphs.h"

#include <fmt/format.h>

namespace bench {
namespace {

namespace tw = tilewright;
using Tensor = Formula::Tensor;

struct Borders {
  std::int64_t top = 1, bottom = 1, left = 1, right = 1;
};

Tensor convolved(const Tensor& x, const Tensor& w, const Borders& b, std::int64_t dilation = 1) {
  return tw::conv(tw::pad(tw::pad(x, 1, b.top, b.bottom), 2, b.left, b.right), w, {.dilation = dilation});
}
std::int64_t extent(const Tensor& t, std::size_t axis) { return t.shape()[axis].value(); }

/// What is computed of part of an image, with the borders of this part.
using Convolution = std::function<Tensor(const Tensor&, const Borders&)>;

/// The inner positions of `inner`, an image of all positions, and around them `depth` rows and columns of `exact`, which needs `reach` rows or
/// columns of the image for one beyond them.
Tensor with_borders(const Tensor& x, const Tensor& inner, const Convolution& exact, const Borders& depth, std::int64_t reach,
                    const Borders& pads) {
  const std::int64_t rows = extent(x, 1), columns = extent(x, 2), bottom = rows - depth.bottom, right = columns - depth.right;
  std::vector<Tensor> across;
  if (depth.left > 0) across.push_back(exact(tw::slice(x, 2, 0, depth.left + reach), {pads.top, pads.bottom, pads.left, 0}));
  across.push_back(tw::slice(inner, 2, depth.left, right));
  if (depth.right > 0) across.push_back(exact(tw::slice(x, 2, right - reach, columns), {pads.top, pads.bottom, 0, pads.right}));
  if (depth.top + depth.bottom == 0) return tw::concat(across, 2);
  for (Tensor& t : across) t = tw::slice(t, 1, depth.top, bottom);
  const Tensor middle = across.size() > 1 ? tw::concat(across, 2) : across[0];
  std::vector<Tensor> all;
  if (depth.top > 0) all.push_back(exact(tw::slice(x, 1, 0, depth.top + reach), {pads.top, 0, pads.left, pads.right}));
  all.push_back(middle);
  if (depth.bottom > 0) all.push_back(exact(tw::slice(x, 1, bottom - reach, rows), {0, pads.bottom, pads.left, pads.right}));
  return tw::concat(all, 1);
}

/// A convolution of 3 x 3 along one axis of pixels, `width` of which are a row. The pixels are [batch, pixels, channels].
Tensor convolved_pixels(const Tensor& pixels, const Tensor& w, std::int64_t width) {
  return tw::einsum("bpcuv,uvco->bpo", tw::window(tw::window(pixels, 1, 3, 1, width), 1, 3), w);
}

PartialGraph convolution(std::int64_t size, std::int64_t channels) {
  constexpr std::int64_t kImages = 8;
  struct Operands {
    Tensor x, w;
  };
  const auto operands = [=](Formula& f) {
    return Operands{f.input("x", {kImages, size, size, channels}), f.parameter("w", {3, 3, channels, channels})};
  };
  const auto form = [=](auto make) {
    return [=](Formula& f) {
      const Operands o = operands(f);
      f.output("y", make(o.x, o.w));
    };
  };
  const auto pixels_of_images = [=](const Tensor& x, const Tensor& w) {
    const Tensor padded = tw::pad(tw::reshape(x, {kImages, size * size, channels}), 1, size + 1, size + 1);
    return tw::reshape(convolved_pixels(padded, w, size), {kImages, size, size, channels});
  };
  const auto corrected = [](const Tensor& x, const Tensor& w, const Tensor& inner, const Borders& depth) {
    return with_borders(x, inner, [&](const Tensor& part, const Borders& b) { return convolved(part, w, b); }, depth, 1, {});
  };
  return {fmt::format("convolution of 8 images of {0} x {0}, {1} channels", size, channels),
          form([](const Tensor& x, const Tensor& w) { return convolved(x, w, {}); }),
          {{"rows are one axis, two columns corrected",
            form([=](const Tensor& x, const Tensor& w) { return corrected(x, w, pixels_of_images(x, w), {0, 0, 1, 1}); })},
           {"the same, in memory before it is corrected",
            form([=](const Tensor& x, const Tensor& w) { return corrected(x, w, tw::materialize(pixels_of_images(x, w)), {0, 0, 1, 1}); })},
           {"images are one axis with rows, two rows corrected", form([=](const Tensor& x, const Tensor& w) {
              const Tensor stacked = convolved(tw::reshape(x, {1, kImages * size, size, channels}), w, {});
              return corrected(x, w, tw::reshape(stacked, {kImages, size, size, channels}), {1, 1, 0, 0});
            })},
           {"all pixels are one axis, four borders corrected", form([=](const Tensor& x, const Tensor& w) {
              const Tensor padded = tw::pad(tw::reshape(x, {1, kImages * size * size, channels}), 1, size + 1, size + 1);
              return corrected(x, w, tw::reshape(convolved_pixels(padded, w, size), {kImages, size, size, channels}), {1, 1, 1, 1});
            })},
           {"no pads, four borders corrected", form([=](const Tensor& x, const Tensor& w) {
              return corrected(x, w, tw::pad(tw::pad(convolved(x, w, {0, 0, 0, 0}), 1, 1, 1), 2, 1, 1), {1, 1, 1, 1});
            })},
           {"equal everywhere: the image with its zeros in memory",
            form([=](const Tensor& x, const Tensor& w) { return tw::conv(tw::materialize(tw::pad(tw::pad(x, 1, 1, 1), 2, 1, 1)), w); })},
           {"equal everywhere: rows with their zeros are one axis", form([=](const Tensor& x, const Tensor& w) {
              const std::int64_t wide = size + 2;
              const Tensor padded = tw::materialize(tw::pad(tw::pad(x, 1, 1, 2), 2, 1, 1));
              const Tensor pixels =
                  tw::slice(tw::reshape(padded, {kImages, (size + 3) * wide, channels}), 1, 0, size * wide + 2 * wide + 2);
              return tw::slice(tw::reshape(convolved_pixels(pixels, w, wide), {kImages, size, wide, channels}), 2, 0, size);
            })}}};
}

/// A convolution with dilation 2, and a dense one of the even and of the odd rows and columns. An odd size leaves the last row and column out.
PartialGraph dilated_convolution(std::int64_t size, std::int64_t channels) {
  constexpr std::int64_t kImages = 8;
  const auto dense = [=](const Tensor& x, const Tensor& w) {
    const std::int64_t half = size / 2, even = 2 * half;
    const Tensor whole = size == even ? x : tw::slice(tw::slice(x, 1, 0, even), 2, 0, even);
    const Tensor parts = tw::permute(tw::reshape(whole, {kImages, half, 2, half, 2, channels}), {0, 2, 4, 1, 3, 5});
    const Tensor y = convolved(tw::reshape(parts, {4 * kImages, half, half, channels}), w, {});
    const Tensor merged = tw::permute(tw::reshape(y, {kImages, 2, 2, half, half, channels}), {0, 3, 1, 4, 2, 5});
    const Tensor made = tw::reshape(merged, {kImages, even, even, channels});
    if (size == even) return made;
    const auto exact = [&](const Tensor& part, const Borders& b) { return convolved(part, w, b, 2); };
    return with_borders(x, tw::pad(tw::pad(made, 1, 0, 1), 2, 0, 1), exact, {0, 3, 0, 3}, 2, {2, 2, 2, 2});
  };
  const auto build = [=](Formula& f, auto make) {
    const Tensor x = f.input("x", {kImages, size, size, channels}), w = f.parameter("w", {3, 3, channels, channels});
    f.output("y", make(x, w));
  };
  return {fmt::format("dilated convolution of 8 images of {0} x {0}, {1} channels", size, channels),
          [=](Formula& f) { build(f, [](const Tensor& x, const Tensor& w) { return convolved(x, w, {2, 2, 2, 2}, 2); }); },
          {{size % 2 == 0 ? "equal everywhere: a dense one of even and odd positions"
                          : "a dense one of even and odd positions, three rows and columns corrected",
            [=](Formula& f) { build(f, dense); }}}};
}

/// Two convolutions without anything between them, and one of 5 x 5: the border differs, where the first one has no zeros.
PartialGraph two_convolutions(std::int64_t size, std::int64_t channels, std::int64_t inner) {
  constexpr std::int64_t kImages = 8;
  struct Operands {
    Tensor x, v, w;
  };
  const auto operands = [=](Formula& f) {
    return Operands{f.input("x", {kImages, size, size, channels}), f.parameter("v", {3, 3, channels, inner}),
                    f.parameter("w", {3, 3, inner, channels})};
  };
  return {fmt::format("two convolutions of 8 images of {0} x {0}, {1} to {2} to {1} channels", size, channels, inner),
          [=](Formula& f) {
            const auto [x, v, w] = operands(f);
            f.output("y", convolved(convolved(x, v, {}), w, {}));
          },
          {{"one of 5 x 5, four borders corrected", [=](Formula& f) {
              const auto [x, v, w] = operands(f);
              Tensor filter;
              for (std::int64_t i = 0; i < 3; ++i)
                for (std::int64_t j = 0; j < 3; ++j) {
                  const Tensor tap = tw::reshape(tw::slice(tw::slice(w, 0, i, i + 1), 1, j, j + 1), {inner, channels});
                  const Tensor moved = tw::pad(tw::pad(tw::einsum("uvcm,mo->uvco", v, tap), 0, i, 2 - i), 1, j, 2 - j);
                  filter = i + j > 0 ? filter + moved : moved;
                }
              const Tensor both = convolved(x, filter, {2, 2, 2, 2});
              const auto exact = [v = v, w = w](const Tensor& part, const Borders& b) { return convolved(convolved(part, v, b), w, b); };
              f.output("y", with_borders(x, both, exact, {}, 2, {}));
            }}}};
}

}  // namespace

std::vector<PartialGraph> partial_graphs() {
  return {convolution(14, 64),          convolution(14, 256),          convolution(56, 16),
          convolution(56, 64),          dilated_convolution(28, 64),   dilated_convolution(27, 64),
          two_convolutions(14, 64, 64), two_convolutions(14, 16, 128), two_convolutions(56, 16, 128)};
}

}  // namespace bench
