// Differential test of canonicalize: for each pair of operators, the interpreter must give the same bits before and after the pass, on
// operands at the edges of the rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "passes/all_passes.h"
#include "tileir/builder.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/op_kind.h"
#include "tileir/type_rules/type_rules.h"
#include "tileir/verifier.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

constexpr Element kIntegers[] = {Element::i8, Element::u8, Element::i32, Element::u32, Element::i64, Element::u64};
constexpr Element kFloats[] = {Element::f16, Element::bf16, Element::f32, Element::f64};
constexpr std::int64_t kLanes = 32;

/// The operands (as bits) at which rules for this element type change their answer: 0, 1, powers of two, widths, limits, infinities, NaN.
std::vector<std::uint64_t> edges(Element e) {
  std::vector<std::uint64_t> v;
  if (e == Element::boolean) return {0, 1};
  if (is_float(e)) {
    const double inf = std::numeric_limits<double>::infinity();
    const double least = e == Element::f16 ? 0x1p-24 : e == Element::bf16 ? 0x1p-133 : e == Element::f32 ? 0x1p-149 : 5e-324;
    const double big = e == Element::f16 ? 65504 : 0x1p126;
    for (double x : {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -4.0, 3.0, 1.25, 0x1p-14, least, big, inf, -inf, std::nan("")})
      v.push_back(element_bits(e, x));
    return v;
  }
  const int width = bits(e);
  for (std::int64_t x : {0, 1, -1, 2, 3, 4, 8, 12, width - 1, width, width + 1, -2}) v.push_back(element_bits(e, x));
  v.push_back(std::uint64_t{1} << (width - 1));        // least, or 2^(width - 1)
  v.push_back((std::uint64_t{1} << (width - 1)) - 1);  // greatest
  return v;
}

/// A kernel over two tiles, x and y, of kLanes elements of one type. Each result that keep() names is stored to a buffer of its own.
class Kernel {
 public:
  explicit Kernel(Element e) : element_(e), b_(f_) {
    x_ = load(f_.add_param(Type::pointer(e, true), {"x", 1}));
    y_ = load(f_.add_param(Type::pointer(e, true), {"y", 1}));
  }
  Builder& build() { return b_; }
  ValueId x() const { return x_; }
  ValueId y() const { return y_; }
  ValueId constant(std::uint64_t bits) { return b_.constant_bits(f_.type(x_), bits); }
  void keep(ValueId v, std::string text) {
    kept_.push_back(v);
    texts_.push_back(std::move(text));
  }

  /// Stores the kept results, runs the kernel before and after canonicalize, and describes the first difference; "" if there is none. Any
  /// two NaNs are equal.
  std::string check() {
    for (ValueId v : kept_) {
      const ValueId p = f_.add_param(Type::pointer(f_.type(v).element(), false), {"out", 1});
      const ValueId operands[] = {lanes(p), v};
      b_.create(OpKind::store_, operands);
    }
    Function simple = f_;
    passes::canonicalize(simple, {});
    verify_or_throw(simple);
    const auto before = run(f_), after = run(simple);
    for (std::size_t i = 0; i < kept_.size(); ++i)
      for (std::size_t k = 0; k < before[i].size(); ++k) {
        const Element e = f_.type(kept_[i]).element();
        const auto is_nan = [&](std::uint64_t bits) { return is_float(e) && std::isnan(float_value(e, bits)); };
        if (before[i][k] == after[i][k] || (is_nan(before[i][k]) && is_nan(after[i][k]))) continue;
        return std::string(ir::text(element_)) + ": " + texts_[i] + " at lane " + std::to_string(k);
      }
    return "";
  }

 private:
  ValueId lanes(ValueId p) {
    const std::vector<std::int64_t> shape{kLanes};
    return b_.add_ptr(b_.broadcast(p, shape), b_.arange(0, kLanes));
  }
  ValueId load(ValueId p) {
    const ValueId a = lanes(p);
    return f_.result(b_.create(OpKind::load_, std::span(&a, 1)));
  }

  std::vector<std::vector<std::uint64_t>> run(const Function& f) const {
    // x takes the edges in order, y every fifth one, so that the lanes pair different ones.
    const std::vector<std::uint64_t> values = edges(element_);
    const auto n = static_cast<std::size_t>(bytes(element_));
    std::vector<std::byte> x(n * kLanes), y(n * kLanes);
    for (std::size_t k = 0; k < kLanes; ++k) {
      std::memcpy(&x[k * n], &values[k % values.size()], n);
      std::memcpy(&y[k * n], &values[(k * 5 + 3) % values.size()], n);
    }
    // Buffers of 8 bytes a lane, which the widest element fills; the elements are unpacked below.
    std::vector<std::vector<std::uint64_t>> words(kept_.size(), std::vector<std::uint64_t>(kLanes));
    std::vector<std::uint64_t> arguments{reinterpret_cast<std::uint64_t>(x.data()), reinterpret_cast<std::uint64_t>(y.data())};
    for (auto& w : words) arguments.push_back(reinterpret_cast<std::uint64_t>(w.data()));
    interpret(f, arguments);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto size = static_cast<std::size_t>(bytes(f_.type(kept_[i]).element()));
      const auto* at = reinterpret_cast<const std::byte*>(words[i].data());
      std::vector<std::uint64_t> elements(kLanes);
      for (std::size_t k = 0; k < kLanes; ++k) std::memcpy(&elements[k], at + k * size, size);
      words[i] = std::move(elements);
    }
    return words;
  }

  Element element_;
  Function f_{"rules"};
  Builder b_;
  ValueId x_, y_;
  std::vector<ValueId> kept_;
  std::vector<std::string> texts_;
};

/// The binary ops that the type rules allow for this element type: arithmetic and comparisons. Without math functions of two operands,
/// because canonicalize has no rule for them.
std::vector<OpKind> binary_ops(Element e) {
  std::vector<OpKind> ops;
  const Type t(e);
  for (OpKind k : all_ops()) {
    if (info(k).family != Family::binary || k == OpKind::pow_ || k == OpKind::atan2_ || k == OpKind::hypot_) continue;
    const Type operands[] = {t, t};
    if (infer({k, operands, {}, {}}).ok()) ops.push_back(k);
  }
  return ops;
}

std::vector<OpKind> unary_ops(Type t) {
  std::vector<OpKind> ops;
  for (OpKind k :
       {OpKind::neg_, OpKind::abs_, OpKind::bit_not_, OpKind::ceil_, OpKind::floor_, OpKind::rint_, OpKind::trunc_, OpKind::round_})
    if (infer({k, std::span(&t, 1), {}, {}}).ok()) ops.push_back(k);
  return ops;
}

std::string name(OpKind k) { return std::string(text(k)); }

/// Keeps, for all op2 and u and all edges c and d:
///   c op x, (x op c) op2 d,                                   constants
///   u(x op y), u(x op x),                                     one operand
///   (x op y) op2 z, z op2 (x op y), u(x op y) op2 z, z op2 u(z)   for z = x and z = y, if op gives the type of its operands
void keep_pairs(Kernel& kernel, Element e, OpKind op) {
  Builder& b = kernel.build();
  const ValueId x = kernel.x(), y = kernel.y();
  for (std::uint64_t c : edges(e)) {
    const ValueId left = b.binary(op, kernel.constant(c), x), right = b.binary(op, x, kernel.constant(c));
    kernel.keep(left, std::to_string(c) + ' ' + name(op) + " x");
    const Type t = b.function().type(right);
    for (OpKind op2 : binary_ops(t.element()))
      for (std::uint64_t d : edges(t.element()))
        kernel.keep(b.binary(op2, right, b.constant_bits(t, d)),
                    "(x " + name(op) + ' ' + std::to_string(c) + ") " + name(op2) + ' ' + std::to_string(d));
  }
  const ValueId xy = b.binary(op, x, y), xx = b.binary(op, x, x);
  const Type t = b.function().type(xy);
  for (OpKind op2 : unary_ops(t))
    for (ValueId v : {xy, xx}) kernel.keep(b.unary(op2, v), name(op2) + " of " + name(op));
  if (t != b.function().type(x)) return;
  for (OpKind op2 : binary_ops(e))
    for (ValueId z : {x, y}) {
      kernel.keep(b.binary(op2, xy, z), "(x " + name(op) + " y) " + name(op2) + " x or y");
      kernel.keep(b.binary(op2, z, xy), "x or y " + name(op2) + " (x " + name(op) + " y)");
      for (OpKind u : unary_ops(t)) kernel.keep(b.binary(op2, b.unary(u, xy), z), name(op2) + " of " + name(u) + " of " + name(op));
      for (OpKind u : unary_ops(t)) kernel.keep(b.binary(op2, z, b.unary(u, z)), name(op2) + " with " + name(u));
    }
}

}  // namespace

TEST_CASE("canonicalize: pairs of operators on integers and bools keep every bit") {
  for (Element e : {Element::boolean, Element::i8, Element::u8, Element::u32, Element::i64})
    for (OpKind op : binary_ops(e)) {
      Kernel kernel(e);
      keep_pairs(kernel, e, op);
      CHECK(kernel.check() == "");
    }
}

TEST_CASE("canonicalize: pairs of operators on floats keep every bit, NaN's aside") {
  for (Element e : {Element::f16, Element::f32})
    for (OpKind op : binary_ops(e)) {
      Kernel kernel(e);
      keep_pairs(kernel, e, op);
      CHECK(kernel.check() == "");
    }
}

TEST_CASE("canonicalize: fma with constants keeps every bit") {
  for (Element e : kFloats) {
    Kernel kernel(e);
    Builder& b = kernel.build();
    for (std::uint64_t c : edges(e)) {
      const ValueId k = kernel.constant(c), x = kernel.x(), y = kernel.y();
      kernel.keep(b.ternary(OpKind::fma_, x, k, y), "fma(x, c, y)");
      kernel.keep(b.ternary(OpKind::fma_, k, x, y), "fma(c, x, y)");
      kernel.keep(b.ternary(OpKind::fma_, x, y, k), "fma(x, y, c)");
      kernel.keep(b.ternary(OpKind::fma_, b.unary(OpKind::neg_, x), b.unary(OpKind::neg_, y), k), "fma(-x, -y, c)");
    }
    CHECK(kernel.check() == "");
  }
}

TEST_CASE("canonicalize: casts in a row keep every bit") {
  std::vector<Element> all{Element::boolean, Element::i16, Element::u16, Element::f8e4m3, Element::f8e5m2};
  all.insert(all.end(), std::begin(kIntegers), std::end(kIntegers));
  all.insert(all.end(), std::begin(kFloats), std::end(kFloats));
  for (Element e : all) {
    if (is_fp8(e)) continue;  // their edges are those of the wider floats, cast
    Kernel kernel(e);
    Builder& b = kernel.build();
    for (Element middle : all)
      for (Element to : all)
        kernel.keep(b.cast(b.cast(kernel.x(), middle), to), std::string(text(middle)) + " then " + std::string(text(to)));
    for (Element small : {Element::f8e4m3, Element::f8e5m2})
      for (Element middle : all)
        for (Element to : all) kernel.keep(b.cast(b.cast(b.cast(kernel.x(), small), middle), to), "through " + std::string(text(small)));
    CHECK(kernel.check() == "");
  }
}

TEST_CASE("canonicalize: selects of bools and conditions that are negated keep every bit") {
  Kernel kernel(Element::boolean);
  Builder& b = kernel.build();
  std::vector<ValueId> arms{kernel.x(), kernel.y(), b.unary(OpKind::bit_not_, kernel.x()), kernel.constant(0), kernel.constant(1)};
  for (ValueId c : arms)
    for (ValueId x : arms)
      for (ValueId y : arms) kernel.keep(b.select(c, x, y), "select");
  CHECK(kernel.check() == "");
}

TEST_CASE("canonicalize: two permutes are one, for all pairs of three axes") {
  const std::vector<std::int64_t> shape{2, 4, 4};
  std::vector<std::int64_t> first{0, 1, 2};
  Kernel kernel(Element::i32);
  Builder& b = kernel.build();
  do {
    std::vector<std::int64_t> second{0, 1, 2};
    do {
      const ValueId tile = b.reshape(kernel.x(), shape);
      const ValueId twice = b.permute(b.permute(tile, first), second);
      kernel.keep(b.reshape(twice, std::vector<std::int64_t>{kLanes}), "permute of permute");
    } while (std::next_permutation(second.begin(), second.end()));
  } while (std::next_permutation(first.begin(), first.end()));
  CHECK(kernel.check() == "");
}

TEST_CASE("canonicalize: what takes the place of an op keeps where it was written") {
  Function f("where");
  f.add_file("user.cpp");
  Builder b(f);
  const ValueId x = f.add_param(Type(Element::u32), {"x", 1}), p = f.add_param(Type::pointer(Element::u32, false), {"p", 1});
  b.set_loc({0, 7, 3});
  const ValueId quotient = b.binary(OpKind::div_, x, b.constant(Type(Element::u32), 8));
  b.set_loc({0, 9, 1});
  const ValueId operands[] = {p, quotient};
  const OpId store = b.create(OpKind::store_, operands);
  passes::canonicalize(f, {});
  const OpId shift = f.defined_by(f.operand(store, 1), OpKind::shr_);
  REQUIRE(shift);
  CHECK(f.op(shift).loc == Loc{0, 7, 3});
}
