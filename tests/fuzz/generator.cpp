// The steps of a generation: which op comes next, and on which values.
#include "tests/fuzz/generator.h"

#include <algorithm>
#include <string>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"
#include "tileir/type_rules/type_rules.h"

namespace tilewright::fuzz {

using namespace ir;

Program generate(std::uint64_t seed, const GeneratorOptions& options) { return Maker(seed, options).make(); }

Maker::Maker(std::uint64_t seed, const GeneratorOptions& options)
    : r_(seed), options_(options), p_{Function("fuzz_" + std::to_string(seed)), {}, {1, 1, 1}, seed}, f_(p_.function), b_(f_) {
  f_.add_file(f_.name + ".cpp");
}

Program Maker::make() {
  p_.grid = {static_cast<std::int32_t>(r_.between(1, 3)), static_cast<std::int32_t>(r_.between(1, 2)), r_.chance(30) ? 2 : 1};
  if (r_.chance(50)) p_.grid = {1, 1, 1};
  if (options_.matrix_products > 0 && r_.chance(options_.matrix_products)) {
    for (std::int64_t n = r_.between(1, 2); n > 0; --n) matrix_product_step();
    return std::move(p_);
  }
  choose_shapes();
  for (int i = 0; i < 2; ++i) load_step();
  steps(static_cast<int>(r_.between(options_.min_ops, options_.max_ops)));
  store_sinks();
  return std::move(p_);
}

/// A few shapes that fit one another, so that values of different shapes meet through broadcast, reshape, permute and reduce.
void Maker::choose_shapes() {
  const int usual = std::min(options_.max_log2_elements, 7);
  int total = static_cast<int>(r_.chance(15) ? r_.between(0, options_.max_log2_elements) : r_.between(1, usual));
  // Seldom so much that rows are sorted in parts.
  if (options_.max_log2_elements == GeneratorOptions().max_log2_elements && r_.chance(1)) options_.max_log2_elements = total = 13;
  const int inner = static_cast<int>(r_.between(0, total));
  const std::int64_t n = std::int64_t{1} << total, columns = std::int64_t{1} << inner, rows = n / columns;
  shapes_ = {{}, {n}, {rows, columns}, {rows, 1}, {1, columns}};
  if (r_.chance(35)) {
    const std::int64_t half = rows > 1 ? 2 : 1;
    shapes_.push_back({half, rows / half, columns});
  }
  if (r_.chance(10)) shapes_.push_back({1, n, 1});
}

Loc Maker::next_loc() { return {0, ++line_, 0}; }

Type Maker::any_type() {
  // The full shapes come twice: most work should be on tiles.
  const std::size_t i = r_.below(shapes_.size() + 2);
  return Type(static_cast<Element>(r_.below(kElementCount)), i < shapes_.size() ? shapes_[i] : shapes_[i - shapes_.size() + 1]);
}

void Maker::steps(int n) {
  for (int i = 0; i < n; ++i) step();
}

void Maker::step() {
  b_.set_loc(next_loc());
  using Step = void (Maker::*)();
  struct Choice {
    int share;  // share in percent
    Step step;
    bool nests = false;  // makes regions, or is slow in them
  };
  static constexpr Choice kChoices[] = {
      {47, &Maker::elementwise_step},   {9, &Maker::shape_step},      {8, &Maker::load_step},        {4, &Maker::store_step},
      {7, &Maker::reduce_step},         {3, &Maker::scan_step},       {2, &Maker::sort_step},        {2, &Maker::gather_step},
      {1, &Maker::histogram_step},      {3, &Maker::atomic_step},     {2, &Maker::hint_step},        {1, &Maker::print_step},
      {1, &Maker::assert_step},         {1, &Maker::ptx_step},        {2, &Maker::dot_step, true},   {1, &Maker::dot_scaled_step, true},
      {3, &Maker::for_step, true},      {2, &Maker::if_step, true},   {1, &Maker::while_step, true}, {1, &Maker::walk_step, true},
      {2, &Maker::dot_loop_step, true}, {4, &Maker::masked_map_step},
  };
  int draw = static_cast<int>(r_.below(107));
  for (const Choice& c : kChoices)
    if ((draw -= c.share) < 0) {
      if (c.nests && depth_ >= 2) break;  // deeper nests cost time and find nothing new
      return (this->*c.step)();
    }
  elementwise_step();
}

void Maker::elementwise_step() {
  // A cast has a case for each pair of elements, where other ops have a few: it takes more draws to see them all.
  const OpKind kind = r_.chance(15) ? OpKind::cast_ : r_.pick(elementwise_ops());
  std::span<const Signature> all = signatures(kind);
  const Signature* chosen = &r_.pick(all);
  Shape shape = any_type().shape();
  // Mostly an op on a value that is there, rather than one for which all operands must be made.
  if (const ValueId seed = pick([](Type) { return true; }); seed && r_.chance(75)) {
    shape = f_.type(seed).shape();
    std::vector<const Signature*> fitting;
    for (const Signature& s : all)
      if (std::find(s.operands.begin(), s.operands.end(), f_.type(seed).element()) != s.operands.end()) fitting.push_back(&s);
    if (!fitting.empty()) chosen = r_.pick(fitting);
  }
  std::vector<ValueId> operands;
  for (Element e : chosen->operands) {
    // Now and then the same value twice, or a constant: what simplification looks for.
    const Type t(e, shape);
    const bool again = !operands.empty() && f_.type(operands.back()) == t && r_.chance(10);
    operands.push_back(again ? operands.back() : r_.chance(10) ? constant(t) : value_of(t));
  }
  if (kind == OpKind::bitcast_) operands[0] = without_nan(operands[0]);
  if (kind == OpKind::copysign_) operands[1] = without_nan(operands[1]);
  const Type declared(chosen->result, shape);
  keep(result(b_.create(kind, operands, random_attributes(kind), std::span(&declared, 1))));
}

Attr Maker::axis_of(Type t) { return {AttrName::axis, static_cast<std::int64_t>(r_.below(t.rank())), {}}; }

void Maker::shape_step() {
  const ValueId x = pick([](Type) { return true; });
  if (!x) return load_step();
  const Type t = f_.type(x);
  switch (r_.below(8)) {
    case 0:
      for (const Shape& s : shapes_)
        if (Type(t.element(), s).log2_elements() == t.log2_elements() && s != t.shape()) {
          keep(b_.reshape(x, s));
          return;
        }
      break;
    case 1:
      for (const Shape& s : shapes_) {
        const Type to(t.element(), s);
        if (!t.is_scalar() && s != t.shape() && r_.chance(70) &&
            infer({OpKind::broadcast_, std::span(&t, 1), {}, std::span(&to, 1)}).ok()) {
          keep(b_.broadcast(x, s));
          return;
        }
      }
      break;
    case 2:
      if (t.rank() >= 2) {
        Shape axes(t.rank());
        for (int i = 0; i < t.rank(); ++i) axes[i] = i;
        // Half of them rotate: of three axes, a rotation differs from its inverse.
        if (r_.chance(50))
          std::rotate(axes.begin(), axes.begin() + 1, axes.end());
        else
          for (int i = t.rank() - 1; i > 0; --i) std::swap(axes[i], axes[r_.below(i + 1)]);
        keep(b_.permute(x, axes));
        return;
      }
      break;
    case 3:
      if (t.rank() > 0) {
        keep(result(b_.create(OpKind::flip_, std::span(&x, 1), {axis_of(t)})));
        return;
      }
      break;
    case 4:
      if (t.rank() > 0 && t.log2_elements() < options_.max_log2_elements) {
        const ValueId pair[] = {x, value_of(t)};
        keep(result(b_.create(OpKind::cat_, pair, {axis_of(t)})));
        return;
      }
      break;
    case 5:
      if (t.rank() < kMaxRank && t.log2_elements() < options_.max_log2_elements) {
        const ValueId pair[] = {x, value_of(t)};
        keep(b_.binary(OpKind::join_, pair[0], pair[1]));
        return;
      }
      break;
    case 6:
      if (t.log2_elements() > 0) {
        const Shape pairs = t.elements() == 2 ? Shape{2} : Shape{t.elements() / 2, 2};
        const ValueId tile = t.extent(t.rank() - 1) == 2 ? x : b_.reshape(x, pairs);
        const OpId id = b_.create(OpKind::split_, std::span(&tile, 1));
        keep(result(id));
        keep(f_.result(id, 1));
        return;
      }
      break;
    default: break;
  }
  // Nothing of the kind fits: something new instead.
  const Shape& shape = r_.pick(shapes_);
  if (shape.size() == 1 && r_.chance(50)) {
    const std::int64_t lo = r_.between(-3, 5);
    keep(b_.arange(lo, lo + shape[0]));
  } else if (r_.chance(50)) {
    const OpKind kind = r_.chance(50) ? OpKind::program_id_ : OpKind::num_programs_;
    keep(result(b_.create(kind, {}, {{AttrName::axis, static_cast<std::int64_t>(r_.below(3)), {}}})));
  } else {
    keep(constant(any_type()));
  }
}

ValueId Maker::pick(const std::function<bool(Type)>& accept) {
  std::vector<ValueId> fitting;
  for (ValueId v : pool_)
    if (accept(f_.type(v))) fitting.push_back(v);
  if (fitting.empty()) return {};
  // The later of two draws: later values end longer chains of ops.
  return fitting[std::max(r_.below(fitting.size()), r_.below(fitting.size()))];
}

ValueId Maker::value_of(Type t) {
  if (r_.chance(85))
    if (const ValueId v = pick([&](Type u) { return u == t; })) return v;
  if (making_ < 3 && r_.chance(75)) {
    ++making_;
    const ValueId v = convert_to(t);
    --making_;
    if (v) return v;
  }
  if (r_.chance(70)) return load(input_region(t.element(), t.elements()), t.shape());
  if (t.is_scalar() && r_.chance(30)) return keep(scalar_parameter(t, random_bits(t.element(), 1)));
  return keep(constant(t));
}

/// A value of type t made from one of the pool that differs in element or shape; none if there is nothing to start from.
ValueId Maker::convert_to(Type t) {
  const auto from = pick([&](Type u) { return u.same_shape(t) && u != t; });
  if (from && r_.chance(70)) return keep(b_.cast(from, t.element()));
  const auto narrow = pick([&](Type u) { return u != t && infer({OpKind::broadcast_, std::span(&u, 1), {}, std::span(&t, 1)}).ok(); });
  if (narrow && r_.chance(60)) return keep(b_.broadcast(narrow, t.shape()));
  const auto other = pick([&](Type u) { return u.scalar() == t.scalar() && u != t && u.log2_elements() == t.log2_elements(); });
  if (other) return keep(b_.reshape(other, t.shape()));
  return from ? keep(b_.cast(from, t.element())) : ValueId{};
}

ValueId Maker::constant(Type t) { return b_.constant_bits(t, random_bits(t.element(), static_cast<int>(r_.below(3)))); }

ValueId Maker::changed(ValueId v) {
  const Type t = f_.type(v);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const OpKind kind = r_.pick(elementwise_ops());
    const auto fits = [&](const Signature& s) {
      return s.result == t.element() && s.operands.size() == 2 && s.operands[0] == t.element() && s.operands[1] == t.element();
    };
    const auto all = signatures(kind);
    if (kind == OpKind::copysign_ || std::none_of(all.begin(), all.end(), fits)) continue;
    return keep(b_.binary(kind, v, value_of(t)));
  }
  return value_of(t);
}

ValueId Maker::without_nan(ValueId x) {
  const Type t = f_.type(x);
  if (!t.is_float()) return x;
  const ValueId tested = is_fp8(t.element()) ? b_.cast(x, Element::f32) : x;
  const ValueId nan = b_.unary(OpKind::isnan_, tested);
  return b_.select(nan, b_.constant_float(t, 1), x);
}

ValueId Maker::scalar_condition() {
  if (r_.chance(40)) return value_of(Type(Element::boolean));
  const ValueId n = value_of(Type(Element::i32)), bound = b_.constant(Type(Element::i32), r_.between(-2, 3));
  return b_.binary(r_.chance(50) ? OpKind::lt_ : OpKind::ne_, n, bound);
}

/// Stores values that are not used yet, because a wrong value must reach memory to be found.
void Maker::store_sinks() {
  std::vector<ValueId> sinks;
  for (ValueId v : pool_)
    if (!f_.has_uses(v)) sinks.push_back(v);
  constexpr std::size_t kMost = 6;
  while (sinks.size() > kMost) sinks.erase(sinks.begin() + static_cast<std::ptrdiff_t>(r_.below(sinks.size())));
  for (ValueId v : sinks) {
    b_.set_loc(next_loc());
    const Type t = f_.type(v);
    store(output_region(t.element(), t.elements()), v);
  }
}

}  // namespace tilewright::fuzz
