// Arithmetic of polynomials, and the ops that it stands for.
#include "passes/pipeline/polynomial_form.h"

#include <algorithm>

#include "passes/pipeline/last_iteration.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

constexpr std::size_t kMostTerms = 48, kMostAtoms = 6;

}  // namespace

std::optional<std::int64_t> Polynomial::constant() const {
  if (is_lost_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0;
  return terms_.begin()->first.empty() ? std::optional(terms_.begin()->second) : std::nullopt;
}

void Polynomial::add(std::int64_t factor, const Monomial& m) {
  const auto [at, is_new] = terms_.try_emplace(m, 0);
  is_lost_ = is_lost_ || __builtin_add_overflow(at->second, factor, &at->second) || m.size() > kMostAtoms;
  if (at->second == 0) terms_.erase(at);
  is_lost_ = is_lost_ || terms_.size() > kMostTerms;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  sum.is_lost_ = a.is_lost_ || b.is_lost_;
  for (const auto& [m, factor] : b.terms_) sum.add(factor, m);
  return sum;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  product.is_lost_ = a.is_lost_ || b.is_lost_;
  for (const auto& [x, p] : a.terms_)
    for (const auto& [y, q] : b.terms_) {
      Monomial m = x;
      m.insert(m.end(), y.begin(), y.end());
      std::ranges::sort(m);
      std::int64_t factor = 0;
      product.is_lost_ = product.is_lost_ || __builtin_mul_overflow(p, q, &factor);
      product.add(factor, m);
      if (product.is_lost_) return product;
    }
  return product;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + b * Polynomial(-1); }

std::optional<PolynomialReader::Moved> PolynomialReader::moved(ValueId v, const std::vector<int>& axes) const {
  const OpId id = f_.value(v).op;
  if (!id || f_.op(id).operands.empty()) return std::nullopt;
  const ValueId x = f_.operand(id, 0);
  const ir::Type from = f_.type(x), to = f_.type(v);
  std::vector<int> of_operand(static_cast<std::size_t>(from.rank()), -1);
  switch (f_.kind(id)) {
    case OpKind::convert_layout_:
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return Moved{x, axes};
    case OpKind::broadcast_:
      for (int i = 0; i < from.rank(); ++i)
        if (from.extent(i) > 1) of_operand[static_cast<std::size_t>(i)] = axes[static_cast<std::size_t>(i)];
      return Moved{x, of_operand};
    case OpKind::permute_:
      for (int i = 0; i < to.rank(); ++i)
        of_operand[static_cast<std::size_t>(f_.attr_list(id, AttrName::axes)[static_cast<std::size_t>(i)])] =
            axes[static_cast<std::size_t>(i)];
      return Moved{x, of_operand};
    case OpKind::reshape_: {
      // Only axes of one element come and go.
      int next = 0;
      for (int i = 0; i < from.rank(); ++i) {
        if (from.extent(i) == 1) continue;
        while (next < to.rank() && to.extent(next) == 1) ++next;
        if (next == to.rank() || to.extent(next) != from.extent(i)) return std::nullopt;
        of_operand[static_cast<std::size_t>(i)] = axes[static_cast<std::size_t>(next++)];
      }
      return Moved{x, of_operand};
    }
    default: return std::nullopt;
  }
}

std::optional<Polynomial> PolynomialReader::read(ValueId v, const std::vector<int>& axes) {
  const ir::Type t = f_.type(v);
  if (!t.is_integer() || !ir::is_signed(t.element())) return std::nullopt;
  std::optional<Polynomial> p;
  if (const auto constant = ir::constant_integer(f_, v))
    p = Polynomial(*constant);
  else if (const auto m = moved(v, axes))
    p = read(m->from, m->axes);
  else if (const OpId id = f_.value(v).op)
    p = read_op(id, axes);
  else
    p = read_carried(v);
  if (!p && t.is_scalar()) p = Polynomial(Atom::value(v));
  if (p && p->is_lost()) return std::nullopt;
  if (p && ir::bits(t.element()) <= 32) {
    auto at_origin = p->terms();
    std::erase_if(at_origin, [](const auto& term) { return std::ranges::any_of(term.first, [](const Atom& a) { return a.is_axis(); }); });
    narrow_.insert(std::move(at_origin));
  }
  return p;
}

bool PolynomialReader::is_narrow(const Polynomial& p) const {
  if (p.is_lost()) return false;
  if (p.is_zero() || narrow_.contains(p.terms())) return true;
  if (p.terms().size() > 1) return false;
  const auto& [m, factor] = *p.terms().begin();
  if (m.size() == 1 && factor == 1 && !m.front().is_axis() && ir::bits(f_.type(m.front().value()).element()) <= 32) return true;
  return std::ranges::any_of(narrow_, [&](const auto& terms) {
    return terms.size() == 1 && terms.begin()->first == m && 0 < factor && factor <= terms.begin()->second;
  });
}

std::optional<Polynomial> PolynomialReader::read_op(OpId id, const std::vector<int>& axes) {
  const auto& operands = f_.op(id).operands;
  // Index arithmetic does not wrap from 32 bits on; results of fewer bits do.
  const int width = ir::bits(f_.type(f_.op(id).results.front()).element());
  if (width < 32) return std::nullopt;
  const auto both = [&](auto&& combine) -> std::optional<Polynomial> {
    const auto a = read(operands[0], axes), b = read(operands[1], axes);
    return a && b ? std::optional<Polynomial>(combine(*a, *b)) : std::nullopt;
  };
  switch (f_.kind(id)) {
    case OpKind::arange_: {
      Polynomial p(f_.attr(id, AttrName::lo));
      if (axes[0] >= 0) p = p + Polynomial(Atom::axis(axes[0]));
      return p;
    }
    case OpKind::cast_: {
      const ir::Type from = f_.type(operands[0]);
      return from.is_integer() && ir::bits(from.element()) <= width ? read(operands[0], axes) : std::nullopt;
    }
    case OpKind::add_: return both([](const Polynomial& a, const Polynomial& b) { return a + b; });
    case OpKind::sub_: return both([](const Polynomial& a, const Polynomial& b) { return a - b; });
    case OpKind::mul_: return both([](const Polynomial& a, const Polynomial& b) { return a * b; });
    case OpKind::shl_: {
      const auto by = f_.constant_bits(operands[1]);
      const auto x = read(operands[0], axes);
      return by && *by < 32 && x ? std::optional(*x * Polynomial(std::int64_t{1} << *by)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

/// init + (counter - lo) / s * step, if s divides the step.
std::optional<Polynomial> PolynomialReader::read_carried(ValueId v) {
  const ir::ValueData& d = f_.value(v);
  if (!loop_ || d.block != f_.region(loop_) || d.number == 0) return std::nullopt;
  const auto induction = induction_of(f_, loop_, static_cast<int>(d.number) - 1);
  const std::int64_t s = ir::constant_integer(f_, f_.operand(loop_, 2)).value_or(0);
  if (!induction || s <= 0) return std::nullopt;
  const auto init = read(induction->init, {}), step = read(induction->step, {}), lo = read(f_.operand(loop_, 0), {});
  if (!init || !step || !lo) return std::nullopt;
  Polynomial each;
  for (const auto& [m, factor] : step->terms()) {
    if (factor % s != 0) return std::nullopt;
    each.add(factor / s, m);
  }
  return *init + (Polynomial(Atom::value(f_.arg(f_.region(loop_), 0))) - *lo) * each;
}

std::optional<PolynomialReader::Pointer> PolynomialReader::read_pointer(ValueId v, const std::vector<int>& axes) {
  if (const auto m = moved(v, axes)) return read_pointer(m->from, m->axes);
  const OpId id = f_.value(v).op;
  if (!id) {
    const bool is_param = f_.value(v).block == f_.body() && f_.type(v).is_scalar();
    return is_param ? std::optional(Pointer{v, {}}) : std::nullopt;
  }
  if (f_.kind(id) != OpKind::add_ptr_) return std::nullopt;
  auto pointer = read_pointer(f_.operand(id, 0), axes);
  const auto by = read(f_.operand(id, 1), axes);
  if (!pointer || !by) return std::nullopt;
  pointer->offset = pointer->offset + *by;
  return pointer->offset.is_lost() ? std::nullopt : pointer;
}

std::optional<Polynomial> PolynomialReader::difference(ValueId a, ValueId b, const std::vector<int>& axes, std::int64_t plus) {
  if (!f_.type(a).is_integer() || !ir::is_signed(f_.type(a).element())) return std::nullopt;
  const auto x = read(a, axes), y = read(b, axes);
  return x && y ? std::optional(*x - *y + Polynomial(plus)) : std::nullopt;
}

std::optional<std::vector<Polynomial>> PolynomialReader::read_mask(ValueId v, const std::vector<int>& axes) {
  if (const auto bits = f_.constant_bits(v); bits && *bits != 0) return std::vector<Polynomial>{};
  if (const auto m = moved(v, axes)) return read_mask(m->from, m->axes);
  const OpId id = f_.value(v).op;
  if (!id) return std::nullopt;
  const auto& operands = f_.op(id).operands;
  std::optional<Polynomial> bound;
  switch (f_.kind(id)) {
    case OpKind::bit_and_: {
      auto a = read_mask(operands[0], axes), b = read_mask(operands[1], axes);
      if (!a || !b) return std::nullopt;
      a->insert(a->end(), b->begin(), b->end());
      return a;
    }
    case OpKind::lt_: bound = difference(operands[0], operands[1], axes, 0); break;
    case OpKind::gt_: bound = difference(operands[1], operands[0], axes, 0); break;
    case OpKind::le_: bound = difference(operands[0], operands[1], axes, -1); break;
    case OpKind::ge_: bound = difference(operands[1], operands[0], axes, -1); break;
    default: return std::nullopt;
  }
  if (!bound || bound->is_lost()) return std::nullopt;
  return std::vector<Polynomial>{*bound};
}

}  // namespace tilewright::passes
