// Element-wise ops as PTX: each op on each element type is code without branches that ptxas accepts, with the expected instructions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/backend/ptx_assembler.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/type_rules/type_rules.h"

namespace tilewright::backend {

using namespace ir;
using testing::checked_ptx;
using testing::compile_for;
using testing::count;

namespace {

// One target of each kind: 7.5 lacks bf16 and min.NaN; 8.x lacks bf16 sums and fp8; 9.0 has all of them.
constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_90a"};

bool has_fast(OpKind k) {
  const auto& attributes = info(k).attributes;
  return std::any_of(attributes.begin(), attributes.end(), [](const AttrInfo& a) { return a.name == AttrName::fast; });
}

/// Stores to an own buffer what the op makes of loaded scalars of these elements, for each combination that its rule takes.
Function all_signatures(OpKind k) {
  Function f("ops");
  Builder b(f);
  int buffers = 0;
  const auto buffer = [&](Type t, bool is_const) {
    return f.add_param(Type::pointer(t.element(), is_const), {fmt::format("p{}", buffers++)});
  };
  const auto use = [&](std::span<const Type> operands, std::span<const Type> declared) {
    std::vector<ValueId> x;
    for (const Type& t : operands) {
      const ValueId p = buffer(t, true);
      x.push_back(f.result(b.create(OpKind::load_, std::span(&p, 1))));
    }
    for (const bool fast : {false, true}) {
      if (fast && !(operands[0].is_float() && has_fast(k))) continue;
      const ValueId y = f.result(b.create(k, x, fast ? std::vector<Attr>{{AttrName::fast, 1}} : std::vector<Attr>{}, declared));
      const ValueId stored[] = {buffer(f.type(y), false), y};
      b.create(OpKind::store_, stored);
    }
  };
  std::vector<Type> types(info(k).operands.size());
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < types.size(); ++i) combinations *= kElementCount;
  for (std::size_t c = 0; c < combinations; ++c) {
    for (std::size_t i = 0, rest = c; i < types.size(); ++i, rest /= kElementCount)
      types[i] = Type(static_cast<Element>(rest % kElementCount));
    if (infer({k, types, {}, {}}).ok()) {
      use(types, {});
    } else if (info(k).family == Family::convert) {
      for (int e = 0; e < kElementCount; ++e) {
        const Type declared(static_cast<Element>(e));
        if (infer({k, types, {}, std::span(&declared, 1)}).ok()) use(types, std::span(&declared, 1));
      }
    }
  }
  return f;
}

/// PTX of store(op(x, y, z)) on scalars.
std::string one(OpKind k, std::vector<Element> operands, Element result, const char* target, bool fast = false) {
  Function f("one");
  Builder b(f);
  std::vector<ValueId> x;
  for (Element e : operands) x.push_back(f.add_param(Type(e), {fmt::format("x{}", x.size())}));
  const Type declared(result);
  const bool states = info(k).family == Family::convert;
  const ValueId y = f.result(b.create(k, x, fast ? std::vector<Attr>{{AttrName::fast, 1}} : std::vector<Attr>{},
                                      states ? std::span(&declared, 1) : std::span<const Type>()));
  const ValueId stored[] = {f.add_param(Type::pointer(result, false), {"p"}), y};
  b.create(OpKind::store_, stored);
  return checked_ptx(compile_for(std::move(f), target, 1));
}

}  // namespace

TEST_CASE("nvptx element-wise ops: every signature calls nothing, keeps nothing in memory, and assembles") {
  for (OpKind k : all_ops()) {
    const Family family = info(k).family;
    if (family != Family::unary && family != Family::binary && family != Family::ternary && family != Family::convert) continue;
    for (const char* target : kTargets) {
      CAPTURE(text(k));
      CAPTURE(target);
      checked_ptx(compile_for(all_signatures(k), target, 1));
    }
  }
}

TEST_CASE("nvptx element-wise ops: f32 arithmetic names its rounding, so that the assembler does not contract it") {
  for (const char* target : kTargets) {
    CHECK(count(one(OpKind::add_, {Element::f32, Element::f32}, Element::f32, target), "add.rn.f32") == 1);
    CHECK(count(one(OpKind::mul_, {Element::f32, Element::f32}, Element::f32, target), "mul.rn.f32") == 1);
    CHECK(count(one(OpKind::mul_, {Element::f16, Element::f16}, Element::f16, target), "mul.rn.f16") == 1);
    CHECK(count(one(OpKind::fma_, {Element::f16, Element::f16, Element::f16}, Element::f16, target), "fma.rn.f16") == 1);
    CHECK(count(one(OpKind::add_, {Element::f64, Element::f64}, Element::f64, target), "add.rn.f64") == 1);
  }
  CHECK(count(one(OpKind::add_, {Element::bf16, Element::bf16}, Element::bf16, "sm_80"), "fma.rn.bf16") == 1);
  CHECK(count(one(OpKind::add_, {Element::bf16, Element::bf16}, Element::bf16, "sm_90"), "add.rn.bf16") == 1);
}

TEST_CASE("nvptx element-wise ops: functions of f32 are the instructions that ACCURACY.md counts on") {
  const auto f32 = [](OpKind k, bool fast = false) {
    return one(k, std::vector(info(k).operands.size(), Element::f32), Element::f32, "sm_80", fast);
  };
  CHECK(count(f32(OpKind::exp2_), "ex2.approx.ftz.f32") == 1);
  const std::string exp = f32(OpKind::exp_);
  CHECK(count(exp, "ex2.approx.ftz.f32") == 1);
  CHECK(count(exp, "fma.rn.sat.f32") == 1);
  CHECK(count(exp, "fma.rm.f32") == 1);
  CHECK(count(f32(OpKind::rsqrt_), "rsqrt.approx.f32") == 1);
  CHECK(count(f32(OpKind::sqrt_), "sqrt.rn.f32") == 1);
  CHECK(count(f32(OpKind::div_), "div.full.f32") == 1);
  CHECK(count(f32(OpKind::div_rn_), "div.rn.f32") == 1);
  CHECK(count(f32(OpKind::div_, true), "div.approx.ftz.f32") == 1);
  CHECK(count(f32(OpKind::log_, true), "lg2.approx.ftz.f32") == 1);
  CHECK(count(f32(OpKind::sin_, true), "sin.approx.ftz.f32") == 1);
  CHECK(count(f32(OpKind::cos_, true), "cos.approx.ftz.f32") == 1);
  CHECK(count(f32(OpKind::tanh_, true), "tanh.approx.f32") == 1);
}

TEST_CASE("nvptx element-wise ops: conversions are single instructions, with NaN put right where PTX gives another number") {
  using E = Element;
  CHECK(count(one(OpKind::cast_, {E::f32}, E::i32, "sm_80"), "cvt.rzi.s32.f32") == 1);
  CHECK(count(one(OpKind::cast_, {E::f32}, E::i32, "sm_80"), "setp.nan") == 0);
  CHECK(count(one(OpKind::cast_, {E::f32}, E::u64, "sm_80"), "setp.nan.f32") == 1);
  CHECK(count(one(OpKind::cast_, {E::f64}, E::i32, "sm_80"), "setp.nan.f64") == 1);
  CHECK(count(one(OpKind::cast_, {E::f32}, E::bf16, "sm_80"), "cvt.rn.bf16.f32") == 1);
  CHECK(count(one(OpKind::cast_, {E::f32}, E::bf16, "sm_75"), "cvt.rn.bf16.f32") == 0);
  CHECK(count(one(OpKind::cast_, {E::f64}, E::f16, "sm_75"), "cvt.rn.f16.f64") == 1);
  CHECK(count(one(OpKind::cast_, {E::i64}, E::f16, "sm_75"), "cvt.rn.f16.s64") == 1);
  CHECK(count(one(OpKind::cast_, {E::f32}, E::f8e4m3, "sm_90"), "cvt.rn.satfinite.e4m3x2.f32") == 1);
  CHECK(count(one(OpKind::cast_, {E::f8e5m2}, E::f32, "sm_90"), "cvt.rn.f16x2.e5m2x2") == 1);
}

TEST_CASE("nvptx element-wise ops: floating point becomes integers of 16 and 8 bits by way of 32, which ptxas keeps whole") {
  using E = Element;
  for (const E from : {E::f16, E::f32, E::f64})
    for (const E to : {E::i16, E::u16, E::i8, E::u8}) {
      const std::string ptx = one(OpKind::cast_, {from}, to, "sm_80");
      CHECK(count(ptx, is_signed(to) ? "cvt.rzi.s32." : "cvt.rzi.u32.") == 1);
      CHECK(count(ptx, is_signed(to) ? "min.s32" : "min.u32") == 1);
      CHECK(count(ptx, "max.s32") == (is_signed(to) ? 1 : 0));
    }
}

TEST_CASE("nvptx element-wise ops: neighbours of 16 bits go two at a time") {
  const auto tile = [](const char* element, const char* of) {
    return fmt::format(R"(kernel @k(%x: ptr<{1}> {{divisible_by = 16}}, %y: ptr<{0}> {{divisible_by = 16}}) {{
  %i = arange {{lo = 0, hi = 1024}} : i32[1024]
  %a = broadcast %x : ptr<{1}>[1024]
  %b = add_ptr %a, %i : ptr<{1}>[1024]
  %c = broadcast %y : ptr<{0}>[1024]
  %d = add_ptr %c, %i : ptr<{0}>[1024]
  %v = load %b : {1}[1024]
  %w = {2} : {0}[1024]
  store %d, %w
}})",
                       element, std::string_view(of).starts_with("cast") ? "f32" : element, of);
  };
  const auto ptx = [&](const char* element, const char* of, const char* target) {
    return checked_ptx(compile_for(tile(element, of), target, 4));
  };
  const std::string narrowed = ptx("bf16", "cast %v", "sm_80");
  CHECK(count(narrowed, "cvt.rn.bf16x2.f32") == 4);
  CHECK(count(narrowed, "cvt.rn.bf16.f32") == 0);
  CHECK(count(narrowed, "mov.b32 {") + count(narrowed, "prmt") == 0);
  CHECK(count(ptx("f16", "cast %v", "sm_80"), "cvt.rn.f16x2.f32") == 4);
  CHECK(count(ptx("f16", "cast %v", "sm_75"), "cvt.rn.f16.f32") == 8);
  CHECK(count(ptx("f16", "mul %v, %v", "sm_75"), "mul.rn.f16x2") == 4);
  CHECK(count(ptx("bf16", "fma %v, %v, %v", "sm_80"), "fma.rn.bf16x2") == 4);
  CHECK(count(ptx("bf16", "add %v, %v", "sm_90"), "add.rn.bf16x2") == 4);
}

}  // namespace tilewright::backend
