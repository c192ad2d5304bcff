// Shapes and values of TASO's ops.
#include "tests/unit/passes/search/taso/tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/search/residues.h"

namespace tilewright::passes::search::taso {
namespace {

struct OpName {
  std::string_view name;
  int operands;
};
constexpr OpName kOps[kTasoOps] = {{"matmul", 2},   {"ewadd", 2},    {"ewmul", 2},    {"smul", 2},     {"conv", 2},     {"conv_relu", 2},
                                   {"poolavg", 1},  {"poolmax", 1},  {"enlarge", 1},  {"relu", 1},     {"concat0", 2},  {"concat1", 2},
                                   {"split0_0", 1}, {"split0_1", 1}, {"split1_0", 1}, {"split1_1", 1}, {"transpose", 1}};

constexpr int kMostElements = 1 << 14;  // of a tensor that is made

using Wide = unsigned __int128;

std::uint64_t residue(Wide x) {
  x = (x & kPrime) + (x >> 61);
  x = (x & kPrime) + (x >> 61);
  const auto r = static_cast<std::uint64_t>(x);
  return r >= kPrime ? r - kPrime : r;
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return residue(static_cast<Wide>(a) * b); }

std::uint64_t unknown_function(std::uint64_t x) { return scramble(x + 99) % kPrime; }

std::uint64_t inverse(std::uint64_t x) {
  std::uint64_t result = 1;
  for (std::uint64_t e = kPrime - 2; e != 0; e >>= 1, x = times(x, x))
    if ((e & 1) != 0) result = times(result, x);
  return result;
}
const std::uint64_t kNinth = inverse(9);

std::optional<Shape> conv_shape(const Shape& image, const Shape& filter) {
  if (image.rank != 4 || filter.rank != 4 || image.extents[1] % filter.extents[1] != 0) return std::nullopt;
  if (filter.extents[0] % (image.extents[1] / filter.extents[1]) != 0) return std::nullopt;
  for (std::size_t axis : {std::size_t{2}, std::size_t{3}})
    if (filter.extents[axis] > 3 || filter.extents[axis] % 2 == 0) return std::nullopt;
  return Shape{4, {image.extents[0], filter.extents[0], image.extents[2], image.extents[3]}};
}

void convolve(const Tensor& image, const Tensor& filter, Tensor& out) {
  const auto [images, outputs, height, width] = out.shape.extents;
  const int channels = image.shape.extents[1], per_group = filter.shape.extents[1];
  const int rows = filter.shape.extents[2], columns = filter.shape.extents[3];
  const int outputs_per_group = outputs / (channels / per_group);
  std::size_t at = 0;
  for (int n = 0; n < images; ++n)
    for (int o = 0; o < outputs; ++o)
      for (int h = 0; h < height; ++h)
        for (int w = 0; w < width; ++w) {
          const int first = o / outputs_per_group * per_group;
          std::uint64_t sum = 0;
          for (int c = 0; c < per_group; ++c) {
            Wide total = sum;  // of at most nine products
            for (int u = 0; u < rows; ++u) {
              const int y = h + u - rows / 2;
              if (y < 0 || y >= height) continue;
              for (int v = 0; v < columns; ++v) {
                const int x = w + v - columns / 2;
                if (x < 0 || x >= width) continue;
                total += static_cast<Wide>(image.values[static_cast<std::size_t>(((n * channels + first + c) * height + y) * width + x)]) *
                         filter.values[static_cast<std::size_t>(((o * per_group + c) * rows + u) * columns + v)];
              }
            }
            sum = residue(total);
          }
          out.values[at++] = sum;
        }
}

void pool(const Tensor& a, bool is_max, Tensor& out) {
  const int height = a.shape.extents[2], width = a.shape.extents[3];
  std::size_t at = 0;
  for (int plane = 0; plane < a.shape.extents[0] * a.shape.extents[1]; ++plane)
    for (int h = 0; h < height; ++h)
      for (int w = 0; w < width; ++w) {
        std::uint64_t most = 0;
        Wide sum = 0;
        for (int y = std::max(0, h - 1); y <= std::min(height - 1, h + 1); ++y)
          for (int x = std::max(0, w - 1); x <= std::min(width - 1, w + 1); ++x) {
            const std::uint64_t value = a.values[static_cast<std::size_t>((plane * height + y) * width + x)];
            most = std::max(most, value), sum += value;
          }
        out.values[at++] = is_max ? most : times(residue(sum), kNinth);
      }
}

/// The extents before and after an axis, and of it.
struct Around {
  int outer = 1, inner = 1;
};
Around around(const Shape& s, int axis) {
  Around a;
  for (int i = 0; i < 4; ++i) (i < axis ? a.outer : a.inner) *= i == axis ? 1 : s.extents[static_cast<std::size_t>(i)];
  return a;
}

int axis_of(TasoOp op) { return op == TasoOp::concat1 || op == TasoOp::split1_0 || op == TasoOp::split1_1 ? 1 : 0; }

}  // namespace

int operands_of(TasoOp op) { return kOps[static_cast<std::size_t>(op)].operands; }
std::string_view name(TasoOp op) { return kOps[static_cast<std::size_t>(op)].name; }
std::optional<TasoOp> taso_op(std::string_view name) {
  const OpName* at = std::ranges::find(kOps, name, &OpName::name);
  return at == std::end(kOps) ? std::nullopt : std::optional(static_cast<TasoOp>(at - kOps));
}

std::uint64_t Shape::key() const {
  std::uint64_t k = static_cast<std::uint64_t>(rank);
  for (int e : extents) k = k << 14 | static_cast<std::uint64_t>(e);
  return k;
}

std::string text(const Shape& s) {
  std::string out;
  for (int i = 0; i < s.rank; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", s.extents[static_cast<std::size_t>(i)]);
  return "[" + out + "]";
}

std::optional<Shape> result_shape(TasoOp op, const Shape& a, const Shape& b) {
  switch (op) {
    case TasoOp::matmul:
      if (a.rank != 2 || b.rank != 2 || a.extents[1] != b.extents[0]) return std::nullopt;
      return Shape{2, {a.extents[0], b.extents[1], 1, 1}};
    case TasoOp::ewadd:
    case TasoOp::ewmul: return a.rank >= 2 && a == b ? std::optional(a) : std::nullopt;
    case TasoOp::smul: return a.rank >= 2 && b.rank == 0 ? std::optional(a) : std::nullopt;
    case TasoOp::conv:
    case TasoOp::conv_relu: return conv_shape(a, b);
    case TasoOp::poolavg:
    case TasoOp::poolmax: return a.rank == 4 ? std::optional(a) : std::nullopt;
    case TasoOp::enlarge: {
      const auto [outputs, inputs, rows, columns] = a.extents;
      if (a.rank != 4 || rows > 3 || columns > 3 || rows % 2 == 0 || columns % 2 == 0 || rows + columns == 6) return std::nullopt;
      return Shape{4, {outputs, inputs, 3, 3}};
    }
    case TasoOp::relu: return a.rank >= 2 ? std::optional(a) : std::nullopt;
    case TasoOp::concat0:
    case TasoOp::concat1: {
      const auto axis = static_cast<std::size_t>(axis_of(op));
      Shape expected = a;
      expected.extents[axis] = b.extents[axis];
      if (a.rank < 2 || !(expected == b)) return std::nullopt;
      expected.extents[axis] += a.extents[axis];
      return expected.elements() <= kMostElements ? std::optional(expected) : std::nullopt;
    }
    case TasoOp::split0_0:
    case TasoOp::split0_1:
    case TasoOp::split1_0:
    case TasoOp::split1_1: {
      const auto axis = static_cast<std::size_t>(axis_of(op));
      if (a.rank < 2 || a.extents[axis] % 2 != 0) return std::nullopt;
      Shape half = a;
      half.extents[axis] /= 2;
      return half;
    }
    case TasoOp::transpose:
      if (a.rank != 2) return std::nullopt;
      return Shape{2, {a.extents[1], a.extents[0], 1, 1}};
  }
  return std::nullopt;
}

Tensor evaluate(TasoOp op, const Tensor& a, const Tensor& b) {
  Tensor out{*result_shape(op, a.shape, b.shape), {}};
  const auto count = static_cast<std::size_t>(out.shape.elements());
  out.values.assign(count, 0);
  const auto by_element = [&](auto&& f) {
    for (std::size_t i = 0; i < count; ++i) out.values[i] = f(i);
  };
  switch (op) {
    case TasoOp::matmul: {
      const auto inner = static_cast<std::size_t>(a.shape.extents[1]), columns = static_cast<std::size_t>(b.shape.extents[1]);
      by_element([&](std::size_t i) {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < inner; ++k)
          sum = residue(static_cast<Wide>(a.values[i / columns * inner + k]) * b.values[k * columns + i % columns] + sum);
        return sum;
      });
      break;
    }
    case TasoOp::ewadd: by_element([&](std::size_t i) { return residue(static_cast<Wide>(a.values[i]) + b.values[i]); }); break;
    case TasoOp::ewmul: by_element([&](std::size_t i) { return times(a.values[i], b.values[i]); }); break;
    case TasoOp::smul: by_element([&](std::size_t i) { return times(a.values[i], b.values[0]); }); break;
    case TasoOp::conv: convolve(a, b, out); break;
    case TasoOp::conv_relu:
      convolve(a, b, out);
      by_element([&](std::size_t i) { return unknown_function(out.values[i]); });
      break;
    case TasoOp::poolavg:
    case TasoOp::poolmax: pool(a, op == TasoOp::poolmax, out); break;
    case TasoOp::enlarge: {
      const int rows = a.shape.extents[2], columns = a.shape.extents[3];
      for (int i = 0; i < a.shape.elements(); ++i) {
        const int plane = i / (rows * columns), u = i / columns % rows + (3 - rows) / 2, v = i % columns + (3 - columns) / 2;
        out.values[static_cast<std::size_t>((plane * 3 + u) * 3 + v)] = a.values[static_cast<std::size_t>(i)];
      }
      break;
    }
    case TasoOp::relu: by_element([&](std::size_t i) { return unknown_function(a.values[i]); }); break;
    case TasoOp::concat0:
    case TasoOp::concat1: {
      const int axis = axis_of(op);
      const Around all = around(a.shape, axis);
      const auto first = static_cast<std::size_t>(a.shape.extents[static_cast<std::size_t>(axis)] * all.inner);
      const auto second = static_cast<std::size_t>(b.shape.extents[static_cast<std::size_t>(axis)] * all.inner), whole = first + second;
      by_element([&](std::size_t i) {
        const std::size_t outer = i / whole, rest = i % whole;
        return rest < first ? a.values[outer * first + rest] : b.values[outer * second + rest - first];
      });
      break;
    }
    case TasoOp::split0_0:
    case TasoOp::split0_1:
    case TasoOp::split1_0:
    case TasoOp::split1_1: {
      const int axis = axis_of(op);
      const auto half = static_cast<std::size_t>(out.shape.extents[static_cast<std::size_t>(axis)] * around(a.shape, axis).inner);
      const std::size_t skipped = op == TasoOp::split0_1 || op == TasoOp::split1_1 ? half : 0;
      by_element([&](std::size_t i) { return a.values[i / half * 2 * half + skipped + i % half]; });
      break;
    }
    case TasoOp::transpose: {
      const auto rows = static_cast<std::size_t>(a.shape.extents[0]), columns = static_cast<std::size_t>(a.shape.extents[1]);
      by_element([&](std::size_t i) { return a.values[i % rows * columns + i / rows]; });
      break;
    }
  }
  return out;
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor t{shape, {}};
  for (int i = 0; i < shape.elements(); ++i)
    t.values.push_back(scramble(scramble(seed + 0x9E3779B97F4A7C15u) + static_cast<std::uint64_t>(i) * 37) % kPrime);
  return t;
}

Shape shape_of(Kind kind, const Sizes& s) {
  switch (kind) {
    case Kind::rows: return {2, {s.rows, s.columns, 1, 1}};
    case Kind::matrix: return {2, {s.columns, s.columns, 1, 1}};
    case Kind::image: return {4, {s.images, s.channels, s.height, s.width}};
    case Kind::filter: return {4, {s.channels, s.channels, 3, 3}};
    case Kind::row_filter: return {4, {s.channels, s.channels, 1, 3}};
    case Kind::column_filter: return {4, {s.channels, s.channels, 3, 1}};
    case Kind::channel_filter: return {4, {s.channels, 1, 3, 3}};
    case Kind::number: return {};
  }
  return {};
}

Tensor constant(Constant c, const Sizes& s) {
  const auto filled = [](const Shape& shape, std::uint64_t value) {
    return Tensor{shape, std::vector<std::uint64_t>(static_cast<std::size_t>(shape.elements()), value)};
  };
  switch (c) {
    case Constant::pool_filter: return filled(shape_of(Kind::channel_filter, s), kNinth);
    case Constant::identity_filter: {
      Tensor t = filled(shape_of(Kind::filter, s), 0);
      for (int i = 0; i < s.channels; ++i) t.values[static_cast<std::size_t>((i * s.channels + i) * 9 + 4)] = 1;
      return t;
    }
    case Constant::identity_matrix: {
      Tensor t = filled(shape_of(Kind::matrix, s), 0);
      for (int i = 0; i < s.columns; ++i) t.values[static_cast<std::size_t>(i * s.columns + i)] = 1;
      return t;
    }
    case Constant::ones: return filled(shape_of(Kind::image, s), 1);
  }
  return {};
}

const std::vector<Leaf>& leaves() {
  static const std::vector<Leaf> all = [] {
    std::vector<Leaf> made;
    constexpr std::string_view kLetters = "xwikhvgs";
    for (int k = 0; k < kKinds; ++k) {
      const bool is_single = k >= static_cast<int>(Kind::channel_filter);
      for (int i = 1; i <= (is_single ? 1 : 3); ++i)
        made.push_back({kLetters[static_cast<std::size_t>(k)] + (is_single ? "" : std::to_string(i)), static_cast<Kind>(k), {}});
    }
    constexpr std::string_view kNames[kConstants] = {"Cpool", "Iconv", "Imatmul", "Iewmul"};
    for (int c = 0; c < kConstants; ++c) made.push_back({std::string(kNames[c]), {}, static_cast<Constant>(c)});
    return made;
  }();
  return all;
}

}  // namespace tilewright::passes::search::taso
