// Evaluates nodes at affine coordinates.
#include "passes/search/partial/box_values.h"

#include <algorithm>
#include <cmath>

#include "passes/search/residues.h"
#include "tileir/builder.h"
#include "tileir/graph/einsum.h"
#include "tileir/op_info.h"

namespace tilewright::passes::search {
namespace {

using graph::Combine;
using graph::NodeId;

constexpr std::uint64_t kSeed = 0x5851f42d4c957f2d, kFunction = 1, kReduction = 2, kConstant = 3, kPositions = 4;

std::uint64_t chain(std::uint64_t hash, std::uint64_t next) { return scramble(hash + 0x9e3779b97f4a7c15u + scramble(next)); }

std::uint64_t negated(std::uint64_t residue) { return residue == 0 ? 0 : kPrime - residue; }

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = multiply_residues(base, base))
    if ((exponent & 1) != 0) result = multiply_residues(result, base);
  return result;
}

std::uint64_t residue_of(std::int64_t value) {
  const std::uint64_t size = (value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value)) % kPrime;
  return value < 0 ? negated(size) : size;
}

/// Exact: a finite float is an integer times a power of 2, and 2^61 is 1.
std::uint64_t residue_of(ir::Element e, std::uint64_t bits) {
  if (ir::is_integer(e)) return ir::is_signed(e) ? residue_of(ir::integer_value(e, bits)) : bits % kPrime;
  const double value = ir::is_float(e) ? ir::float_value(e, bits) : 0;
  if (!ir::is_float(e) || !std::isfinite(value)) return chain(chain(kSeed, kConstant), bits) % kPrime;
  constexpr int kDigits = 53, kPeriod = 61;
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), kDigits));
  const int shift = ((exponent - kDigits) % kPeriod + kPeriod) % kPeriod;
  return multiply_residues(residue_of(digits), std::uint64_t{1} << shift);
}

std::uint64_t hash_of(std::uint64_t hash, const BoxValues::Position& at, std::size_t axes_of_box) {
  for (const AffineForm& form : at) {
    hash = chain(hash, static_cast<std::uint64_t>(form.base));
    for (std::size_t k = 0; k < axes_of_box; ++k) hash = chain(hash, static_cast<std::uint64_t>(form.steps[k]));
  }
  return hash;
}

/// Calls act(index) for each index below the extents, while it returns true.
template <class Act>
void for_each_index(const std::vector<std::int64_t>& extents, Act&& act) {
  std::vector<std::int64_t> index(extents.size());
  for (std::int64_t e : extents)
    if (e == 0) return;
  while (act(index)) {
    std::size_t k = extents.size();
    while (k > 0 && ++index[k - 1] == extents[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

}  // namespace

BoxValues::BoxValues(const graph::Graph& g, std::uint64_t most_visits) : g_(g), most_visits_(most_visits), is_kept_(g.size()) {
  std::vector<int> readers(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    for (NodeId x : n.operands) ++readers[x.index];
    is_kept_[i] = n.op == graph::Op::einsum || n.op == graph::Op::reduce;
  }
  for (std::size_t i = 0; i < readers.size(); ++i)
    if (readers[i] > 1) is_kept_[i] = true;
}

std::optional<std::uint64_t> BoxValues::of(NodeId n, const Box& box) {
  if (box != box_) values_.clear();
  box_ = box;
  split_.reset();
  depth_ = 0;
  Position at(box.size());
  for (std::size_t k = 0; k < box.size(); ++k) {
    at[k].base = box[k].begin;
    at[k].steps[k] = box[k].length() > 1 ? 1 : 0;
  }
  const std::uint64_t result = value(n, at);
  return has_stopped() ? std::nullopt : std::optional(result);
}

std::uint64_t BoxValues::value(NodeId n, const Position& at) {
  if (has_stopped()) return 0;
  ++visits_;
  const std::uint64_t key = is_kept_[n.index] ? hash_of(chain(kSeed, n.index), at, box_.size()) : 0;
  if (is_kept_[n.index])
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
  if (++depth_ > kMostDepth) return 0;
  const std::uint64_t result = compute(n, at);
  if (has_stopped()) return 0;
  --depth_;
  if (is_kept_[n.index]) values_.emplace(key, result);
  return result;
}

std::uint64_t BoxValues::compute(NodeId id, const Position& at) {
  const graph::Node& n = g_.node(id);
  const auto axis = [&] { return static_cast<std::size_t>(n.axes[0]); };
  const auto length = [&](std::size_t i) { return n.lengths[i].value(); };
  switch (n.op) {
    case graph::Op::constant: return constant(n, id, at);
    case graph::Op::iota: return iota(at[axis()]);
    case graph::Op::extent: return residue_of(length(0));
    case graph::Op::map: return map(n, at);
    case graph::Op::materialize: return value(n.operands[0], at);
    case graph::Op::broadcast: return value(n.operands[0], broadcast(shape(n.operands[0]), at));
    case graph::Op::reshape: return reshaped(n, at);
    case graph::Op::pad: return pad(n, at);
    case graph::Op::concat: return concat(n, at);
    case graph::Op::rotate: return rotate(n, at);
    case graph::Op::einsum: return einsum(n, at);
    case graph::Op::permute: {
      Position from(at.size());
      for (std::size_t i = 0; i < at.size(); ++i) from[static_cast<std::size_t>(n.axes[i])] = at[i];
      return value(n.operands[0], from);
    }
    case graph::Op::slice: {
      Position from = at;
      from[axis()] = at[axis()].mapped(length(2), length(0));
      return value(n.operands[0], from);
    }
    case graph::Op::flip: {
      Position from = at;
      from[axis()] = at[axis()].mapped(-1, n.shape[axis()].value() - 1);
      return value(n.operands[0], from);
    }
    case graph::Op::window: {
      Position from = at;
      from[axis()] = at[axis()].mapped(length(1), 0);
      from[axis()] += at.back().mapped(length(2), 0);
      from.pop_back();
      return value(n.operands[0], from);
    }
    case graph::Op::reduce:
      if (n.kind != Combine::combine && n.kind != Combine::argmax && n.kind != Combine::argmin) return reduce(n, at);
      return leaf(id, at);
    case graph::Op::input:
    case graph::Op::scalar:
    case graph::Op::rand:
    case graph::Op::argument:
    case graph::Op::scan:
    case graph::Op::gather:
    case graph::Op::take_along:
    case graph::Op::scatter_add:
    case graph::Op::call: break;
  }
  return leaf(id, at);
}

std::uint64_t BoxValues::leaf(NodeId n, const Position& at) const { return hash_of(chain(kSeed, n.index), at, box_.size()) % kPrime; }

// An array of constants is like an input, of which nothing is known; one number for the whole shape is that number.
std::uint64_t BoxValues::constant(const graph::Node& n, NodeId id, const Position& at) const {
  return n.data->bits.size() == 1 ? residue_of(n.element, n.data->bits[0]) : leaf(id, at);
}

// A polynomial in the position, of which each coordinate has a random residue.
std::uint64_t BoxValues::iota(const AffineForm& form) const {
  std::uint64_t sum = residue_of(form.base);
  for (std::size_t k = 0; k < box_.size(); ++k)
    sum = add_residues(sum, multiply_residues(residue_of(form.steps[k]), chain(chain(kSeed, kPositions), k) % kPrime));
  return sum;
}

BoxValues::Position BoxValues::broadcast(const graph::TensorShape& to, const Position& at) const {
  Position own(at.end() - static_cast<std::ptrdiff_t>(to.size()), at.end());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (to[i] == Dim(1)) own[i] = {};
  return own;
}

std::uint64_t BoxValues::map(const graph::Node& n, const Position& at) {
  std::vector<std::uint64_t> x;
  for (NodeId operand : n.operands) x.push_back(value(operand, broadcast(shape(operand), at)));
  if (has_stopped()) return 0;
  if (ir::is_float(n.element) || ir::is_integer(n.element)) switch (n.function) {
      case ir::OpKind::add_: return add_residues(x[0], x[1]);
      case ir::OpKind::sub_: return add_residues(x[0], negated(x[1]));
      case ir::OpKind::mul_: return multiply_residues(x[0], x[1]);
      case ir::OpKind::neg_: return negated(x[0]);
      case ir::OpKind::fma_: return add_residues(multiply_residues(x[0], x[1]), x[2]);
      case ir::OpKind::div_:
        if (ir::is_float(n.element)) return multiply_residues(x[0], power(x[1], kPrime - 2));
        break;
      default: break;
    }
  std::uint64_t hash = chain(chain(chain(kSeed, kFunction), static_cast<std::uint64_t>(n.function)), static_cast<std::uint64_t>(n.element));
  if (ir::info(n.function).has(ir::kCommutative)) std::sort(x.begin(), x.end());
  for (std::uint64_t r : x) hash = chain(hash, r);
  return hash % kPrime;
}

bool BoxValues::decide(const AffineForm& form, std::int64_t bound) {
  const auto decision = is_at_least(form, bound, box_);
  if (const auto* split = std::get_if<BoxSplit>(&decision)) split_ = *split;
  return !split_ && std::get<bool>(decision);
}

std::uint64_t BoxValues::pad(const graph::Node& n, Position at) {
  AffineForm& form = at[static_cast<std::size_t>(n.axes[0])];
  form = form.mapped(1, -n.lengths[0].value());
  const std::int64_t extent = shape(n.operands[0])[static_cast<std::size_t>(n.axes[0])].value();
  const bool is_before = !decide(form, 0) && !has_stopped(), is_inside = !is_before && !has_stopped() && !decide(form, extent);
  if (has_stopped()) return 0;
  return is_inside ? value(n.operands[0], at) : value(n.operands[1], {});
}

std::uint64_t BoxValues::concat(const graph::Node& n, Position at) {
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  for (NodeId piece : n.operands) {
    const std::int64_t extent = shape(piece)[axis].value();
    const bool is_behind = decide(at[axis], extent);
    if (has_stopped()) return 0;
    if (!is_behind) return value(piece, at);
    at[axis] = at[axis].mapped(1, -extent);
  }
  TW_UNREACHABLE("a position behind all pieces");
}

std::uint64_t BoxValues::rotate(const graph::Node& n, Position at) {
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  const std::int64_t extent = n.shape[axis].value();
  const auto divided = divide(at[axis].mapped(1, -n.lengths[0].value()), extent, box_);
  if (const auto* split = std::get_if<BoxSplit>(&divided)) {
    split_ = *split;
    return 0;
  }
  at[axis] = std::get<Quotient>(divided).remainder;
  return value(n.operands[0], at);
}

// Both shapes are walked from the right. Extents that are equal there, and have no axis in part, are the same axis; otherwise axes of the
// result are merged until a whole number of axes of the operand is covered, and divided by their extents.
std::uint64_t BoxValues::reshaped(const graph::Node& n, const Position& at) {
  const graph::TensorShape &from = shape(n.operands[0]), &to = n.shape;
  Position own(from.size());
  std::size_t i = from.size(), j = to.size();
  while (i > 0 || j > 0) {
    if (i > 0 && from[i - 1] == Dim(1)) {
      --i;
      continue;
    }
    if (j > 0 && to[j - 1] == Dim(1)) {
      --j;
      continue;
    }
    TW_CHECK(i > 0 && j > 0, "a reshape changes the number of elements");
    // A group of axes that has the same number of elements on both sides.
    const std::size_t last = i - 1;
    AffineForm merged = at[--j];
    std::int64_t covered = to[j].value(), operand = from[--i].value();
    while (covered != operand) {
      if (covered < operand) {
        merged += at[--j].mapped(covered, 0);
        covered *= to[j].value();
      } else {
        operand *= from[--i].value();
      }
    }
    for (std::size_t k = last; k > i; --k) {
      const auto divided = divide(merged, from[k].value(), box_);
      if (const auto* split = std::get_if<BoxSplit>(&divided)) {
        split_ = *split;
        return 0;
      }
      own[k] = std::get<Quotient>(divided).remainder;
      merged = std::get<Quotient>(divided).quotient;
    }
    own[i] = merged;
  }
  return value(n.operands[0], own);
}

std::uint64_t BoxValues::einsum(const graph::Node& n, const Position& at) {
  const graph::Equation equation = graph::parse_equation(n.text, false).equation;
  const std::string summed = equation.summed();
  std::vector<std::int64_t> extents(summed.size());
  for (std::size_t k = 0; k < n.operands.size(); ++k)
    for (std::size_t axis = 0; axis < equation.operands[k].size(); ++axis)
      if (const std::size_t s = summed.find(equation.operands[k][axis]); s != std::string::npos)
        extents[s] = shape(n.operands[k])[axis].value();
  std::uint64_t sum = 0;
  std::vector<Position> own(n.operands.size());
  for_each_index(extents, [&](const std::vector<std::int64_t>& index) {
    std::uint64_t product = 1;
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      own[k].clear();
      for (char label : equation.operands[k]) {
        const std::size_t s = summed.find(label);
        own[k].push_back(s == std::string::npos ? at[equation.result.find(label)] : AffineForm{.base = index[s], .steps = {}});
      }
      product = multiply_residues(product, value(n.operands[k], own[k]));
    }
    sum = add_residues(sum, product);
    return !has_stopped();
  });
  return sum;
}

// A maximum and the like are hashes of the elements in any order.
std::uint64_t BoxValues::reduce(const graph::Node& n, const Position& at) {
  const graph::TensorShape& from = shape(n.operands[0]);
  std::vector<std::int64_t> extents;
  Position own(from.size());
  std::vector<bool> is_reduced(from.size());
  for (int axis : n.axes) {
    extents.push_back(from[static_cast<std::size_t>(axis)].value());
    is_reduced[static_cast<std::size_t>(axis)] = true;
  }
  for (std::size_t axis = 0, kept = 0; axis < from.size(); ++axis) {
    if (!is_reduced[axis]) own[axis] = at[kept];
    if (!is_reduced[axis] || n.keep_dims) ++kept;
  }
  const std::uint64_t kind = chain(chain(kSeed, kReduction), static_cast<std::uint64_t>(n.kind));
  std::uint64_t all = n.kind == Combine::prod ? 1 : 0;
  for_each_index(extents, [&](const std::vector<std::int64_t>& index) {
    for (std::size_t i = 0; i < index.size(); ++i) own[static_cast<std::size_t>(n.axes[i])] = {.base = index[i], .steps = {}};
    const std::uint64_t x = value(n.operands[0], own);
    all = n.kind == Combine::prod  ? multiply_residues(all, x)
          : n.kind == Combine::sum ? add_residues(all, x)
                                   : add_residues(all, chain(kind, x) % kPrime);
    return !has_stopped();
  });
  return n.kind == Combine::sum || n.kind == Combine::prod ? all : chain(kind, all) % kPrime;
}

}  // namespace tilewright::passes::search
