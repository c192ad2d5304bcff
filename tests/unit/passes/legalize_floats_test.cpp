// Small floats after legalization against evaluate_scalar, which rounds each op's exact result once. NaNs may differ in their bits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "passes/all_passes.h"
#include "tests/unit/passes/straight_line_eval.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

namespace tilewright::passes {
namespace {

using ir::Element;
using ir::OpKind;
using ir::Type;
using testing::StraightLine;
using Words = std::vector<std::uint64_t>;

bool is_small(Element e) { return ir::is_float(e) && ir::bits(e) < 32; }

/// Ops that do more to a small float than carry it, as texts; empty after the pass.
std::vector<std::string> offenders(const ir::Function& f, bool f16_instruction) {
  std::vector<std::string> found;
  f.walk([&](ir::OpId id) {
    const OpKind k = f.kind(id);
    const bool carries = !ir::info(k).has(ir::kElementwise) || k == OpKind::constant_ || k == OpKind::select_ || k == OpKind::bitcast_ ||
                         k == OpKind::add_ptr_;
    if (carries) return;
    bool small = false;
    for (const auto& list : {f.op(id).operands, f.op(id).results})
      for (ir::ValueId v : list) small |= !f.type(v).is_pointer() && is_small(f.type(v).element());
    if (!small) return;
    if (k == OpKind::cast_ && f16_instruction) {
      const Element a = f.type(f.operand(id, 0)).element(), b = f.type(f.result(id)).element();
      if ((a == Element::f16 && b == Element::f32) || (a == Element::f32 && b == Element::f16)) return;
    }
    found.push_back(ir::print(f, id));
  });
  return found;
}

/// store p, op(x0, x1, ...)
ir::Function one_op(OpKind k, std::span<const Element> operands, Element result) {
  ir::Function f("one");
  std::vector<ir::ValueId> xs;
  for (Element e : operands) xs.push_back(f.add_param(Type(e, {}), {"x" + std::to_string(xs.size())}));
  const ir::ValueId p = f.add_param(Type::pointer(result, false), {"p"});
  ir::Builder b(f);
  const Type t(result, {});
  const ir::OpId op = k == OpKind::cast_ ? b.create(k, xs, {}, std::span(&t, 1)) : b.create(k, xs);
  const ir::ValueId stored[] = {p, f.result(op)};
  b.create(OpKind::store_, stored);
  return f;
}

bool same(Element e, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  if (!ir::is_float(e)) return false;
  const double x = ir::float_value(e, a), y = ir::float_value(e, b);
  return std::isnan(x) && std::isnan(y);
}

/// An array of an element's memory form.
std::vector<unsigned char> pack(Element e, const Words& words) {
  const std::size_t size = ir::bytes(e);
  std::vector<unsigned char> out(words.size() * size);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(out.data() + i * size, &words[i], size);
  return out;
}

/// Legalizes the op for a target with and without f16 instructions and compares lane by lane.
void check(OpKind k, const std::vector<Element>& elements, Element result, const std::vector<Words>& operands) {
  std::vector<Type> types;
  std::vector<std::vector<unsigned char>> arrays;
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    types.emplace_back(elements[i], std::span<const std::int64_t>{});
    arrays.push_back(pack(elements[i], operands[i]));
  }
  for (const auto& a : arrays) pointers.push_back(a.data());
  const std::size_t n = operands[0].size(), size = ir::bytes(result);
  for (const bool f16_instruction : {false, true}) {
    ir::Function f = one_op(k, elements, result);
    PassContext context;
    context.target.has_f16_conversion = f16_instruction;
    legalize_floats(f, context);
    REQUIRE(ir::verify(f).empty());
    CHECK(offenders(f, f16_instruction) == std::vector<std::string>{});
    std::vector<unsigned char> out(n * size);
    StraightLine(f).run(pointers, out.data(), n);
    int wrong = 0;
    for (std::size_t i = 0; i < n && wrong < 3; ++i) {
      std::uint64_t lane[3] = {}, got = 0;
      for (std::size_t j = 0; j < elements.size(); ++j) lane[j] = operands[j][i];
      std::memcpy(&got, out.data() + i * size, size);
      const std::uint64_t expected = ir::evaluate_scalar(k, types, std::span(lane, elements.size()), Type(result, {}));
      if (same(result, got, expected)) continue;
      ++wrong;
      FAIL_CHECK(fmt::format("{} {} -> {} of {:#x} {:#x} {:#x}: got {:#x}, expected {:#x}, f16 instruction {}", ir::text(k),
                             ir::text(elements[0]), ir::text(result), lane[0], lane[1], lane[2], got, expected, f16_instruction));
    }
  }
}

constexpr Element kSmall[] = {Element::f16, Element::bf16, Element::f8e4m3, Element::f8e5m2};

/// Every pattern of a type of at most 16 bits; else random bits, and every number of `target` and every midpoint between its
/// neighbours, each with its own neighbours in the type: where a second rounding would show.
Words patterns(Element e, Element target, std::mt19937_64& random) {
  Words w;
  if (ir::bits(e) <= 16) {
    for (std::uint64_t i = 0; i < (std::uint64_t{1} << ir::bits(e)); ++i) w.push_back(i);
    return w;
  }
  const std::uint64_t mask = ir::bits(e) == 64 ? ~std::uint64_t{0} : 0xffffffff;
  for (int i = 0; i < 20000; ++i) w.push_back((random() >> (random() % 64)) & mask);
  for (int i = 0; i < 20000; ++i) w.push_back(random() & mask);
  const int step = ir::bits(target) == 16 ? 7 : 1;
  for (int code = 0; code < (1 << ir::bits(target)); code += step) {
    const double v = ir::float_value(target, code), next = ir::float_value(target, code + 1);
    for (const double x : {v, (v + next) / 2}) {
      if (ir::is_float(e)) {
        const std::uint64_t bits = ir::element_bits(e, x);
        for (const int d : {-1, 0, 1}) w.push_back((bits + d) & mask);
      } else if (std::abs(x) < 0x1p63) {
        for (const int d : {-1, 0, 1}) w.push_back((static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) + d) & mask);
      }
    }
  }
  return w;
}

TEST_CASE("legalize_floats: casts round once, between all pairs of types") {
  std::mt19937_64 random(1);
  for (const Element small : kSmall)
    for (int i = 0; i < ir::kElementCount; ++i) {
      const Element other = static_cast<Element>(i);
      const auto values = [&](Element from, Element to) { return from == Element::boolean ? Words{0, 1} : patterns(from, to, random); };
      if (other != small) check(OpKind::cast_, {small}, other, {values(small, other)});
      if (!is_small(other)) check(OpKind::cast_, {other}, small, {values(other, small)});
    }
}

TEST_CASE("legalize_floats: ops of one operand are exact for every 16-bit pattern") {
  std::mt19937_64 random(2);
  for (const Element e : {Element::f16, Element::bf16}) {
    const Words all = patterns(e, e, random);
    for (const OpKind k :
         {OpKind::neg_, OpKind::abs_, OpKind::ceil_, OpKind::floor_, OpKind::round_, OpKind::rint_, OpKind::trunc_, OpKind::sqrt_})
      check(k, {e}, e, {all});
    for (const OpKind k : {OpKind::isnan_, OpKind::isinf_}) check(k, {e}, Element::boolean, {all});
  }
}

/// Random patterns, half of them special values or numbers of a similar size.
Words operands_of(Element e, std::size_t n, std::mt19937_64& random) {
  const std::uint64_t infinity = e == Element::f16 ? 0x7c00 : 0x7f80, one = ir::element_bits(e, 1.0);
  const std::uint64_t special[] = {0,      1,   2,       infinity, infinity - 1,  infinity + 1,
                                   0x7fff, one, one + 1, one - 1,  infinity / 31, infinity / 31 * 2};
  Words w;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t r = random(), sign = (r >> 20) & 0x8000;
    switch (r % 4) {
      case 0: w.push_back(special[(r >> 8) % std::size(special)] | sign); break;
      case 1: w.push_back(((one + (r >> 40) % 4096 - 2048) & 0x7fff) | sign); break;
      default: w.push_back((r >> 32) & 0xffff);
    }
  }
  return w;
}

TEST_CASE("legalize_floats: ops of two operands are the exact result rounded once") {
  std::mt19937_64 random(3);
  for (const Element e : {Element::f16, Element::bf16}) {
    const Words a = operands_of(e, 60000, random), b = operands_of(e, 60000, random);
    for (const OpKind k : {OpKind::add_, OpKind::sub_, OpKind::mul_, OpKind::div_, OpKind::div_rn_, OpKind::minimum_, OpKind::maximum_,
                           OpKind::fmin_, OpKind::fmax_, OpKind::copysign_})
      check(k, {e, e}, e, {a, b});
    for (const OpKind k : {OpKind::eq_, OpKind::ne_, OpKind::lt_, OpKind::le_, OpKind::gt_, OpKind::ge_})
      check(k, {e, e}, Element::boolean, {a, b});
  }
}

TEST_CASE("legalize_floats: fma rounds once, sums that a double cannot hold included") {
  std::mt19937_64 random(4);
  for (const Element e : {Element::f16, Element::bf16}) {
    Words a = operands_of(e, 200000, random), b = operands_of(e, 200000, random), c = operands_of(e, 200000, random);
    // Products half way between two bf16 numbers, pushed off by the least of numbers.
    for (int i = 0; i < 20000; ++i) {
      a.push_back(0x3f80 + random() % 128), b.push_back(0x3f80 + random() % 128), c.push_back(1 + random() % 64 + (random() % 2) * 0x8000);
    }
    check(OpKind::fma_, {e, e, e}, e, {a, b, c});
  }
  // 1.5 * 1.0078125 = 1.51171875 is half way between two numbers: a tiny positive addend makes it round up, a negative one down.
  const std::uint64_t x = ir::element_bits(Element::bf16, 1.5), y = ir::element_bits(Element::bf16, 1.0078125);
  check(OpKind::fma_, {Element::bf16, Element::bf16, Element::bf16}, Element::bf16, {{x, x}, {y, y}, {1, 0x8001}});
}

TEST_CASE("legalize_floats: sign ops keep the bits of NaN") {
  for (const Element e : {Element::f16, Element::bf16}) {
    const std::uint16_t nans[] = {0x7fa5, 0xffa5};
    for (const OpKind k : {OpKind::neg_, OpKind::abs_}) {
      const Element operand[] = {e};
      ir::Function f = one_op(k, operand, e);
      legalize_floats(f, {});
      std::uint16_t out[2];
      const void* in[] = {nans};
      StraightLine(f).run(in, out, 2);
      CHECK(out[0] == (k == OpKind::neg_ ? 0xffa5 : 0x7fa5));
      CHECK(out[1] == 0x7fa5);
    }
  }
}

TEST_CASE("legalize_floats: f32 to bf16 and back stays short") {
  const auto count = [](Element from, Element to) {
    ir::Function f = one_op(OpKind::cast_, std::span(&from, 1), to);
    legalize_floats(f, {});
    int ops = 0;
    f.walk([&](ir::OpId id) { ops += f.kind(id) != OpKind::constant_ && f.kind(id) != OpKind::bitcast_ && f.kind(id) != OpKind::store_; });
    return ops;
  };
  CHECK(count(Element::f32, Element::bf16) <= 9);
  CHECK(count(Element::bf16, Element::f32) == 2);
}

TEST_CASE("legalize_floats: a function without small floats stays as it is") {
  const Element f64[] = {Element::f64};
  ir::Function f = one_op(OpKind::sqrt_, f64, Element::f64);
  CHECK_FALSE(legalize_floats(f, {}));
  const Element f16[] = {Element::f16};
  ir::Function g = one_op(OpKind::cast_, f16, Element::f32);
  PassContext context;
  context.target.has_f16_conversion = true;
  CHECK_FALSE(legalize_floats(g, context));
}

}  // namespace
}  // namespace tilewright::passes
