// Interprets shape ops, indexed ops and calls.
#include <fmt/format.h>

#include "tileir/builder.h"
#include "tileir/graph/evaluation.h"

namespace tilewright::graph {

using Index = std::vector<std::int64_t>;

Array Evaluation::run_reshape(const Node& n) {
  Array a = result(n);
  if (a.bits.size() != operand(n, 0).bits.size()) fail(n, fmt::format("{} elements become {}", operand(n, 0).bits.size(), a.bits.size()));
  a.bits = operand(n, 0).bits;
  return a;
}

Array Evaluation::run_permute(const Node& n) {
  Array a = result(n);
  const Index from = strides_of(operand(n, 0).shape);
  Index strides;
  for (int axis : n.axes) strides.push_back(from[static_cast<std::size_t>(axis)]);
  std::size_t i = 0;
  for_each_index(a.shape,
                 [&](const Index& index) { a.bits[i++] = operand(n, 0).bits[static_cast<std::size_t>(offset_of(index, strides))]; });
  return a;
}

Array Evaluation::run_broadcast(const Node& n) {
  Array a = result(n);
  a.bits = broadcast(operand(n, 0), a.shape);
  return a;
}

Array Evaluation::run_slice(const Node& n) {
  const std::int64_t begin = value_of(n.lengths[0], n), end = value_of(n.lengths[1], n), step = value_of(n.lengths[2], n);
  const Array& x = operand(n, 0);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  if (begin < 0 || begin > end || end > x.shape[axis] || step < 1)
    fail(n, fmt::format("from {} to {} by {} of extent {}", begin, end, step, x.shape[axis]));
  Array a = result(n);
  const Index strides = strides_of(x.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    index[axis] = begin + index[axis] * step;
    a.bits[i++] = x.bits[static_cast<std::size_t>(offset_of(index, strides))];
  });
  return a;
}

Array Evaluation::run_concat(const Node& n) {
  Array a = result(n);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    std::size_t k = 0;
    for (; index[axis] >= operand(n, k).shape[axis]; ++k) index[axis] -= operand(n, k).shape[axis];
    a.bits[i++] = operand(n, k).bits[static_cast<std::size_t>(offset_of(index, strides_of(operand(n, k).shape)))];
  });
  return a;
}

Array Evaluation::run_pad(const Node& n) {
  const std::int64_t before = value_of(n.lengths[0], n), after = value_of(n.lengths[1], n);
  if (before < 0 || after < 0) fail(n, fmt::format("{} elements before and {} after", before, after));
  Array a = result(n);
  const Array& x = operand(n, 0);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  const Index strides = strides_of(x.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    index[axis] -= before;
    const bool is_inside = index[axis] >= 0 && index[axis] < x.shape[axis];
    a.bits[i++] = is_inside ? x.bits[static_cast<std::size_t>(offset_of(index, strides))] : operand(n, 1).bits[0];
  });
  return a;
}

Array Evaluation::run_flip(const Node& n) {
  Array a = result(n);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  const Index strides = strides_of(a.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    index[axis] = a.shape[axis] - 1 - index[axis];
    a.bits[i++] = operand(n, 0).bits[static_cast<std::size_t>(offset_of(index, strides))];
  });
  return a;
}

Array Evaluation::run_rotate(const Node& n) {
  Array a = result(n);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  const std::int64_t offset = value_of(n.lengths[0], n), extent = a.shape[axis];
  const Index strides = strides_of(a.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    index[axis] = (index[axis] + extent - offset % extent) % extent;
    a.bits[i++] = operand(n, 0).bits[static_cast<std::size_t>(offset_of(index, strides))];
  });
  return a;
}

Array Evaluation::run_window(const Node& n) {
  const std::int64_t size = value_of(n.lengths[0], n), step = value_of(n.lengths[1], n), dilation = value_of(n.lengths[2], n);
  const Array& x = operand(n, 0);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  if (size < 1 || step < 1 || dilation < 1 || dilation * (size - 1) >= x.shape[axis])
    fail(n, fmt::format("{} elements by {}, positions by {}, of extent {}", size, dilation, step, x.shape[axis]));
  Array a = result(n);
  const Index strides = strides_of(x.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index index) {
    index[axis] = index[axis] * step + index.back() * dilation;
    index.pop_back();
    a.bits[i++] = x.bits[static_cast<std::size_t>(offset_of(index, strides))];
  });
  return a;
}

// ---- indexed ---------------------------------------------------------------------------------------------------------

std::int64_t Evaluation::index_at(const Node& n, const Array& index, std::size_t i, std::int64_t extent) const {
  const std::int64_t value = ir::integer_value(index.element, index.bits[i]);
  if (value < 0 || value >= extent) fail(n, fmt::format("index {} is out of range: the extent is {}", value, extent));
  return value;
}

namespace {

/// Calls body(i, j, k) for each element i of gather's result. j: its offset in the table with the gathered axis at 0; k: its offset in the
/// index.
template <class F>
void for_each_gathered(const Index& table, const Index& index, std::size_t axis, F&& body) {
  Index shape(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), table.begin() + static_cast<std::ptrdiff_t>(axis) + 1, table.end());
  Index in_table = strides_of(table), in_index = strides_of(index);
  in_table.erase(in_table.begin() + static_cast<std::ptrdiff_t>(axis));
  in_table.insert(in_table.begin() + static_cast<std::ptrdiff_t>(axis), index.size(), 0);
  in_index.insert(in_index.begin(), axis, 0);
  in_index.resize(shape.size(), 0);
  std::size_t i = 0;
  for_each_index(shape, [&](const Index& at) {
    body(i++, static_cast<std::size_t>(offset_of(at, in_table)), static_cast<std::size_t>(offset_of(at, in_index)));
  });
}

}  // namespace

Array Evaluation::run_gather(const Node& n) {
  Array a = result(n);
  const Array &table = operand(n, 0), &index = operand(n, 1);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]), step = static_cast<std::size_t>(strides_of(table.shape)[axis]);
  for_each_gathered(table.shape, index.shape, axis, [&](std::size_t i, std::size_t j, std::size_t k) {
    a.bits[i] = table.bits[j + step * static_cast<std::size_t>(index_at(n, index, k, table.shape[axis]))];
  });
  return a;
}

Array Evaluation::run_take_along(const Node& n) {
  Array a = result(n);
  const Array &x = operand(n, 0), &index = operand(n, 1);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]);
  const Index strides = strides_of(x.shape);
  std::size_t i = 0;
  for_each_index(a.shape, [&](Index at) {
    at[axis] = index_at(n, index, i, x.shape[axis]);
    a.bits[i++] = x.bits[static_cast<std::size_t>(offset_of(at, strides))];
  });
  return a;
}

Array Evaluation::run_scatter_add(const Node& n) {
  Array a = operand(n, 0);
  const Array &index = operand(n, 1), &updates = operand(n, 2);
  const std::size_t axis = static_cast<std::size_t>(n.axes[0]), step = static_cast<std::size_t>(strides_of(a.shape)[axis]);
  for_each_gathered(a.shape, index.shape, axis, [&](std::size_t i, std::size_t j, std::size_t k) {
    std::uint64_t& sum = a.bits[j + step * static_cast<std::size_t>(index_at(n, index, k, a.shape[axis]))];
    const std::uint64_t both[] = {sum, updates.bits[i]};
    sum = apply(ir::OpKind::add_, a.element, both);
  });
  return a;
}

Array Evaluation::run_materialize(const Node& n) { return operand(n, 0); }
Array Evaluation::run_call(const Node& n) { fail(n, "a kernel of the user is known to a plan only"); }

}  // namespace tilewright::graph
