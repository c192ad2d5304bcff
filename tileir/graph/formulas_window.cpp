// The formulas of functions of pieces of axes: split, convolutions and pools.
#include <fmt/format.h>

#include <limits>
#include <string>

#include "tileir/graph/formulas.h"

namespace tilewright::graph {

std::vector<NodeId> split(GraphBuilder& b, NodeId t, const std::vector<Dim>& sizes, std::int64_t given) {
  const int axis = b.axis(given, b.rank(t), {t, "t"});
  const Dim extent = b.shape(t)[static_cast<std::size_t>(axis)];
  Dim sum = 0;
  for (const Dim& size : sizes) {
    if (size.greatest() < 0) b.fail(fmt::format("size {} must not be negative", size.text()));
    sum += size;
  }
  if (sum != extent)
    b.fail(fmt::format("sizes {} add up to {}; axis {} of 't' has extent {}", sizes.empty() ? "[]" : shape_text(sizes), sum.text(), axis,
                       extent.text()),
           {t, "t"});
  std::vector<NodeId> pieces;
  Dim begin = 0;
  for (const Dim& size : sizes) {
    pieces.push_back(b.slice(t, axis, begin, begin + size, 1));
    begin += size;
  }
  return pieces;
}

namespace {

void expect_movement(const GraphBuilder& b, const Movement& m) {
  if (m.stride < 1) b.fail(fmt::format("stride {} must be 1 or more", m.stride));
  if (m.dilation < 1) b.fail(fmt::format("dilation {} must be 1 or more", m.dilation));
  if (m.pad < 0) b.fail(fmt::format("pad {} must not be negative", m.pad));
}

/// Throws Error if windows of this size are longer than an axis of x with its border.
void expect_windows_fit(const GraphBuilder& b, NodeId x, int axis, const Dim& size, const Movement& m) {
  const Dim extent = b.shape(x)[static_cast<std::size_t>(axis)] + 2 * m.pad;
  if ((extent - m.dilation * (size - 1)).greatest() >= 1) return;
  b.fail(fmt::format("a window of {} elements{} is longer than axis {} of 'x', which is {}{}", size.text(),
                     m.dilation == 1 ? "" : fmt::format(" with dilation {}", m.dilation), axis, shape_text(b.shape(x)),
                     m.pad == 0 ? "" : fmt::format(" and has a border of {} on both sides", m.pad)),
         {x, "x"});
}

/// x with border elements of this value on both sides of an axis.
NodeId with_border(GraphBuilder& b, NodeId x, int axis, const Movement& m, double border) {
  return m.pad > 0 ? b.pad(x, axis, m.pad, m.pad, b.number(b.element(x), border)) : x;
}

/// `axis` as two axes, the first of extent `outer`.
NodeId divided(GraphBuilder& b, NodeId x, std::size_t axis, const Dim& outer, const Dim& inner) {
  TensorShape shape = b.shape(x);
  shape[axis] = inner;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), outer);
  return b.reshape(x, std::move(shape));
}

/// The extent of an axis in each of the groups.
Dim in_group(const GraphBuilder& b, const Party& of, std::size_t axis, std::int64_t groups) {
  const Dim& extent = b.shape(of.node)[axis];
  const auto part = Dim::divide_exactly(extent, Dim(groups));
  if (!part)
    b.fail(fmt::format("groups = {} does not divide the {} channels of '{}', which is {}", groups, extent.text(), of.name,
                       shape_text(b.shape(of.node))),
           of);
  return *part;
}

}  // namespace

NodeId conv(GraphBuilder& b, NodeId x, NodeId w, const Movement& m, std::int64_t groups, ir::Element result) {
  b.begin_composite();
  const Party image{x, "x"}, filter{w, "w"}, both[] = {image, filter};
  const int axes = b.rank(w) - 2, batch = b.rank(x) - axes - 1;
  if (axes < 1 || axes > 3)
    b.fail(fmt::format("'w' is {}; it must have 3 to 5 axes: one to three of positions, the channels of 'x' in a group, and those of the "
                       "result",
                       shape_text(b.shape(w))),
           filter);
  if (batch < 0)
    b.fail(fmt::format("'x' is {} and 'w' is {}; 'x' must have {} axes or more", shape_text(b.shape(x)), shape_text(b.shape(w)), axes + 1),
           both);
  expect_movement(b, m);
  if (groups < 1) b.fail(fmt::format("groups = {} must be 1 or more", groups));
  const auto channels = static_cast<std::size_t>(axes);  // the axis of w
  const Dim own = in_group(b, image, b.shape(x).size() - 1, groups), out = in_group(b, filter, channels + 1, groups);
  if (b.shape(w)[channels] != own)
    b.fail(fmt::format("'x' is {} with {} channels{}, its last axis; 'w' is {} and takes {}, its last axis but one", shape_text(b.shape(x)),
                       own.text(), groups == 1 ? "" : " in each group", shape_text(b.shape(w)), b.shape(w)[channels].text()),
           both);

  for (int i = 0; i < axes; ++i) {
    const Dim& size = b.shape(w)[static_cast<std::size_t>(i)];
    if (size.greatest() < 1)
      b.fail(fmt::format("axis {} of 'w', which is {}, has extent {}; it must be 1 or more", i, shape_text(b.shape(w)), size.text()),
             filter);
    expect_windows_fit(b, x, batch + i, size, m);
  }

  const TensorShape sizes(b.shape(w).begin(), b.shape(w).begin() + axes);
  const std::string rows = std::string("abcde").substr(0, static_cast<std::size_t>(batch)),
                    positions = std::string("xyz").substr(0, channels);
  std::string of_image = rows + positions, of_filter = std::string("uvw").substr(0, channels) + "k", of_result = of_image;
  if (groups > 1) {
    x = divided(b, x, b.shape(x).size() - 1, groups, own);
    w = divided(b, w, channels + 1, groups, out);
    of_image += "g", of_filter += "g", of_result += "g";
  }
  of_image += "k", of_filter += "o", of_result += "o";
  // All borders come before the windows: an image with a border has far fewer elements than its windows.
  for (int i = 0; i < axes; ++i) x = with_border(b, x, batch + i, m, 0);
  for (int i = 0; i < axes; ++i) {
    const Dim& size = sizes[static_cast<std::size_t>(i)];
    if (size == Dim(1) && m.stride == 1 && m.pad == 0) continue;  // each element is a window
    x = b.window(x, batch + i, size, m.stride, m.dilation);
    of_image += of_filter[static_cast<std::size_t>(i)];
  }
  const NodeId sums = b.einsum(of_image + "," + of_filter + "->" + of_result, {x, w}, result);
  if (groups == 1) return sums;
  TensorShape joined(b.shape(sums).begin(), b.shape(sums).end() - 1);
  joined.back() = groups * out;
  return b.reshape(sums, std::move(joined));
}

namespace {

/// The windows of both axes before the last, with their elements in two axes behind it.
NodeId square_windows(GraphBuilder& b, NodeId x, std::int64_t size, const Movement& m, double border) {
  b.begin_composite();
  if (b.rank(x) < 3) b.fail(fmt::format("'x' is {}; it must have three axes or more", shape_text(b.shape(x))), {x, "x"});
  if (size < 1) b.fail(fmt::format("size {} must be 1 or more", size));
  expect_movement(b, m);
  const int first = b.rank(x) - 3;
  for (int axis : {first, first + 1}) expect_windows_fit(b, x, axis, size, m);
  for (int axis : {first, first + 1}) x = with_border(b, x, axis, m, border);
  for (int axis : {first, first + 1}) x = b.window(x, axis, size, m.stride, m.dilation);
  return x;
}

}  // namespace

NodeId max_pool(GraphBuilder& b, NodeId x, std::int64_t size, const Movement& m) {
  if (m.pad >= size && size >= 1)
    b.fail(fmt::format("pad {} must be less than size {}: some windows would have no element of 'x'", m.pad, size));
  const NodeId all = square_windows(b, x, size, m, -std::numeric_limits<double>::infinity());
  return b.reduce(Combine::max, all, GivenAxes{{-2, -1}}, false);
}

NodeId avg_pool(GraphBuilder& b, NodeId x, std::int64_t size, const Movement& m) {
  // Narrow elements are widened before the windows, so that the mean is a sum of windows.
  b.begin_composite();
  const ir::Element e = b.element(x);
  const NodeId wide = b.cast(x, ir::bits(e) <= 16 ? ir::Element::f32 : e);
  return b.cast(b.mean(square_windows(b, wide, size, m, 0), GivenAxes{{-2, -1}}, false), e);
}

}  // namespace tilewright::graph
