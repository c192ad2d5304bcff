// Interprets shape ops.
#include <algorithm>

#include "tileir/interpreter/state.h"

namespace tilewright::ir {

void Interpreter::run_reshape(OpId id) {
  auto& out = result(id);
  const auto& x = words(f_.operand(id, 0));
  std::copy(x.begin(), x.end(), out.begin());
}
void Interpreter::run_broadcast(OpId id) {
  const ValueId x = f_.operand(id, 0);
  auto step = strides(type(x));
  for (int i = 0; i < type(x).rank(); ++i)
    if (type(x).extent(i) == 1) step[i] = 0;
  if (type(x).is_scalar()) step.assign(type(f_.result(id)).rank(), 0);
  read_strided(id, step);
}
void Interpreter::run_permute(OpId id) {
  const auto from = strides(type(f_.operand(id, 0)));
  std::vector<std::int64_t> step;
  for (std::int64_t axis : f_.attr_list(id, AttrName::axes)) step.push_back(from[axis]);
  read_strided(id, step);
}
void Interpreter::run_flip(OpId id) {
  const ValueId x = f_.operand(id, 0);
  const std::int64_t axis = f_.attr(id, AttrName::axis), extent = type(x).extent(static_cast<int>(axis)), inner = strides(type(x))[axis];
  auto& out = result(id);
  for (std::int64_t i = 0; i < type(x).elements(); ++i) {
    const std::int64_t at = i / inner % extent;
    out[i] = words(x)[i + (extent - 1 - 2 * at) * inner];
  }
}
void Interpreter::run_join(OpId id) { interleave(id, 1); }
void Interpreter::run_cat(OpId id) {
  const ValueId a = f_.operand(id, 0);
  const auto axis = static_cast<int>(f_.attr(id, AttrName::axis));
  interleave(id, strides(type(a))[axis] * type(a).extent(axis));
}
/// Interleaves operands row-major: `block` elements of operand 0, `block` elements of operand 1, the next elements of operand 0, and so on.
void Interpreter::interleave(OpId id, std::int64_t block) {
  auto& out = result(id);
  const Words* const from[] = {&words(f_.operand(id, 0)), &words(f_.operand(id, 1))};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i)
    out[i] = (*from[i / block % 2])[i / (2 * block) * block + i % block];
}
void Interpreter::run_split(OpId id) {
  const auto& x = words(f_.operand(id, 0));
  for (int half = 0; half < 2; ++half) {
    auto& out = words(f_.result(id, half));
    out.resize(x.size() / 2);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[2 * i + half];
  }
}
/// result[i, j, ...] = x[i * step[0] + j * step[1] + ...].
void Interpreter::read_strided(OpId id, const std::vector<std::int64_t>& step) {
  auto& out = result(id);
  const auto& x = words(f_.operand(id, 0));
  const Type& t = type(f_.result(id));
  std::array<std::int64_t, kMaxRank> at{};
  std::int64_t from = 0;
  for (std::uint64_t& word : out) {
    word = x[from];
    for (int axis = t.rank() - 1; axis >= 0; --axis) {
      from += step[axis];
      if (++at[axis] < t.extent(axis)) break;
      from -= step[axis] * t.extent(axis);
      at[axis] = 0;
    }
  }
}

}  // namespace tilewright::ir
