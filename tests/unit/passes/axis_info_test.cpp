// axis_info: expected results on small programs, and results on random programs compared with the interpreter.
#include "passes/analysis/axis_info.h"

#include <doctest/doctest.h>

#include <bit>
#include <string>

#include "integer_programs.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"

using namespace tilewright;
using namespace tilewright::ir;
using passes::AxisInfo;
using passes::AxisInfoAnalysis;

namespace {

std::uint64_t low_bits(std::uint64_t x, int n) { return n >= 64 ? x : x & ((std::uint64_t{1} << n) - 1); }

/// Why a claim about these elements is false; empty if it is true. Sets `wraps` if a run of signed indices wraps; then nothing is promised.
std::string refuted(const AxisInfo& info, Type t, const std::vector<std::uint64_t>& x, bool& wraps) {
  const int width = t.element_bits();
  const std::int64_t unit = t.is_pointer() ? bytes(t.element()) : 1;
  const bool is_index = t.is_integer() && is_signed(t.element()) && width >= 32;
  const auto divides = [&](std::int64_t d, std::uint64_t v) { return low_bits(v & static_cast<std::uint64_t>(d - 1), width) == 0; };
  if (info.constant)
    for (std::uint64_t v : x)
      if (v != low_bits(static_cast<std::uint64_t>(*info.constant), width)) return "constant";
  if (t.is_scalar()) return divides(info.scalar_divisibility, x[0]) ? "" : "divisibility of the scalar";
  std::size_t stride = 1;
  for (int d = t.rank() - 1; d >= 0; --d) {
    const std::int64_t c = info.contiguity[d], k = info.constancy[d];
    for (std::int64_t v : {c, k, info.divisibility[d]})
      if (v < 1 || !std::has_single_bit(static_cast<std::uint64_t>(v))) return "no power of two";
    if (c > t.extent(d) || k > t.extent(d)) return "run longer than the axis";
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto position = static_cast<std::int64_t>(i / stride) % t.extent(d);
      if (position % c == 0 && !divides(info.divisibility[d], x[i])) return "divisibility along axis " + std::to_string(d);
      if (position % k != 0 && x[i] != x[i - stride]) return "constancy along axis " + std::to_string(d);
      if (position % c == 0) continue;
      if (x[i] != low_bits(x[i - stride] + static_cast<std::uint64_t>(unit), width)) return "contiguity along axis " + std::to_string(d);
      if (is_index && x[i] == std::uint64_t{1} << (width - 1)) wraps = true;
    }
    stride *= static_cast<std::size_t>(t.extent(d));
  }
  return "";
}

AxisInfo info_of(const Function& f, ValueId v) { return AxisInfoAnalysis(f)(v); }

struct Kernel {
  Function f{"test"};
  Builder b{f};
  ValueId i32(std::int64_t v) { return b.constant(Type(Element::i32), v); }
  ValueId splat(std::int64_t v, std::int64_t n) { return b.constant(Type(Element::i32, std::vector{n}), v); }
  ValueId param(Type t, std::int64_t divisible_by) { return f.add_param(t, {"p", divisible_by}); }
};

}  // namespace

TEST_CASE("axis_info: no claim about a random program is false") {
  int claims = 0, excused = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const test::IntegerProgram p = test::random_integer_program(seed, 1.0);
    const AxisInfoAnalysis analysis(p.f);
    const test::Trace trace = test::run(p, p.f);
    bool wraps = false;
    for (std::size_t i = 0; i < p.observed.size() && !wraps; ++i) {
      const ValueId v = p.observed[i].value;
      for (const auto& elements : trace[i]) {
        const std::string wrong = refuted(analysis(v), p.f.type(v), elements, wraps);
        if (!wrong.empty() && !wraps) {
          FAIL_CHECK("seed ", seed, ": ", wrong, " of value ", i, " of those observed\n", analysis.print(), print(p.f));
          return;
        }
        ++claims;
      }
    }
    excused += wraps;
  }
  CHECK(claims > 20000);
  CHECK(excused < 150);  // programs cut short because an index wrapped in a run
}

TEST_CASE("axis_info: the test of claims refutes false ones") {
  const Type t(Element::i32, std::vector<std::int64_t>{4});
  bool wraps = false;
  AxisInfo info;
  info.contiguity[0] = 4;
  info.divisibility[0] = 8;
  CHECK(refuted(info, t, {8, 9, 10, 11}, wraps) == "");
  CHECK(refuted(info, t, {8, 9, 10, 12}, wraps) == "contiguity along axis 0");
  CHECK(refuted(info, t, {4, 5, 6, 7}, wraps) == "divisibility along axis 0");
  info.contiguity[0] = 1;
  CHECK(refuted(info, t, {8, 9, 10, 11}, wraps) == "divisibility along axis 0");
  info.divisibility[0] = 1;
  info.constancy[0] = 2;
  CHECK(refuted(info, t, {1, 1, 7, 7}, wraps) == "");
  CHECK(refuted(info, t, {1, 7, 7, 7}, wraps) == "constancy along axis 0");
  info.constant = 7;
  CHECK(refuted(info, t, {1, 1, 7, 7}, wraps) == "constant");
}

TEST_CASE("axis_info: a block of a program's elements is aligned") {
  Kernel k;
  const ValueId pid = k.f.result(k.b.create(OpKind::program_id_, {}, {Attr{AttrName::axis, 0, {}}}));
  const ValueId start = k.b.broadcast(k.b.binary(OpKind::mul_, pid, k.i32(64)), std::vector<std::int64_t>{64});
  const ValueId offsets = k.b.binary(OpKind::add_, start, k.b.arange(0, 64));
  const ValueId p = k.param(Type::pointer(Element::f32, true), 16);
  const ValueId address = k.b.add_ptr(k.b.broadcast(p, std::vector<std::int64_t>{64}), offsets);
  CHECK(info_of(k.f, offsets).contiguity[0] == 64);
  CHECK(info_of(k.f, offsets).divisibility[0] == 64);
  CHECK(info_of(k.f, address).contiguity[0] == 64);
  CHECK(info_of(k.f, address).divisibility[0] == 16);
}

TEST_CASE("axis_info: a bound that divides makes a mask constant in runs") {
  Kernel k;
  const ValueId n = k.param(Type(Element::i32), 16);
  const ValueId bound = k.b.broadcast(n, std::vector<std::int64_t>{64}), i = k.b.arange(0, 64);
  CHECK(info_of(k.f, k.b.binary(OpKind::lt_, i, bound)).constancy[0] == 16);
  CHECK(info_of(k.f, k.b.binary(OpKind::ge_, i, bound)).constancy[0] == 16);
  CHECK(info_of(k.f, k.b.binary(OpKind::gt_, bound, i)).constancy[0] == 16);
  CHECK(info_of(k.f, k.b.binary(OpKind::le_, i, bound)).constancy[0] == 1);
  CHECK(info_of(k.f, k.b.binary(OpKind::eq_, i, bound)).constancy[0] == 1);
}

TEST_CASE("axis_info: quotients and remainders of a range") {
  Kernel k;
  const ValueId i = k.b.arange(0, 64), c = k.splat(8, 64), three = k.splat(24, 64);
  CHECK(info_of(k.f, k.b.binary(OpKind::div_, i, c)).constancy[0] == 8);
  CHECK(info_of(k.f, k.b.binary(OpKind::rem_, i, c)).contiguity[0] == 8);
  CHECK(info_of(k.f, k.b.binary(OpKind::div_, i, three)).constancy[0] == 8);
  CHECK(info_of(k.f, k.b.binary(OpKind::rem_, i, three)).contiguity[0] == 8);
  // C++'s division truncates: -8 / 8 is -1, but -7 / 8 is 0.
  const ValueId below_zero = k.b.arange(-64, 0);
  CHECK(info_of(k.f, k.b.binary(OpKind::div_, below_zero, c)).constancy[0] == 1);
  CHECK(info_of(k.f, k.b.binary(OpKind::rem_, below_zero, c)).contiguity[0] == 1);
  CHECK(info_of(k.f, k.b.binary(OpKind::shr_, below_zero, k.splat(3, 64))).constancy[0] == 8);
}

TEST_CASE("axis_info: products and shifts carry divisors") {
  Kernel k;
  const ValueId n = k.param(Type(Element::i32), 16), i = k.b.arange(0, 4);
  const ValueId rows = k.b.binary(OpKind::mul_, i, k.b.broadcast(n, std::vector<std::int64_t>{4}));
  CHECK(info_of(k.f, rows).divisibility[0] == 16);
  CHECK(info_of(k.f, rows).contiguity[0] == 1);
  CHECK(info_of(k.f, k.b.binary(OpKind::shl_, n, k.i32(3))).scalar_divisibility == 128);
  CHECK(info_of(k.f, k.b.binary(OpKind::shr_, n, k.i32(3))).scalar_divisibility == 2);
  CHECK(info_of(k.f, k.b.binary(OpKind::div_, n, k.i32(4))).scalar_divisibility == 4);
}

TEST_CASE("axis_info: an unsigned run that may wrap is not extended") {
  Kernel k;
  const std::vector<std::int64_t> shape{8};
  const ValueId n = k.param(Type(Element::u32), 1);
  const ValueId i = k.b.cast(k.b.arange(0, 8), Element::u32);
  const ValueId sum = k.b.binary(OpKind::add_, i, k.b.broadcast(n, shape));
  CHECK(info_of(k.f, sum).contiguity[0] == 8);
  CHECK(info_of(k.f, k.b.cast(sum, Element::u64)).contiguity[0] == 1);
  CHECK(info_of(k.f, k.b.cast(i, Element::u64)).contiguity[0] == 8);
}

TEST_CASE("axis_info: a run of 8-bit integers that wraps is not ordered") {
  Kernel k;
  const std::vector<std::int64_t> shape{256};
  const ValueId i = k.b.cast(k.b.arange(0, 256), Element::i8);  // 0 .. 127, -128 .. -1
  CHECK(info_of(k.f, i).contiguity[0] == 256);
  const ValueId zero = k.b.constant(Type(Element::i8, shape), 0);
  CHECK(info_of(k.f, k.b.binary(OpKind::lt_, i, zero)).constancy[0] == 128);
  CHECK(info_of(k.f, k.b.cast(i, Element::i32)).contiguity[0] == 128);
}

TEST_CASE("axis_info: reshape keeps the runs of the axes that stay, and cuts those of the innermost that does not") {
  Kernel k;
  const ValueId i = k.b.arange(0, 32);
  const auto reshaped = [&](ValueId x, std::vector<std::int64_t> shape) { return info_of(k.f, k.b.reshape(x, shape)); };
  CHECK(reshaped(i, {4, 8}).contiguity[1] == 8);
  CHECK(reshaped(i, {4, 8}).divisibility[1] == 8);
  CHECK(reshaped(i, {4, 8}).contiguity[0] == 1);
  CHECK(reshaped(i, {1, 32, 1}).contiguity[1] == 32);
  const ValueId column = k.b.broadcast(k.b.reshape(k.b.arange(0, 8), std::vector<std::int64_t>{8, 1}), std::vector<std::int64_t>{8, 4});
  CHECK(info_of(k.f, column).contiguity[0] == 8);
  CHECK(reshaped(column, {8, 1, 4}).contiguity[0] == 8);
  CHECK(reshaped(column, {4, 8}).contiguity[0] == 1);
  CHECK(reshaped(column, {4, 8}).constancy[1] == 4);
}

TEST_CASE("axis_info: a loop keeps what every trip keeps") {
  Kernel k;
  const ValueId lo = k.i32(0), hi = k.param(Type(Element::i32), 1), step = k.i32(32);
  const ValueId operands[] = {lo, hi, step, k.b.arange(0, 16), lo};
  const OpId loop = k.b.create(OpKind::for_, operands);
  const BlockId body = k.f.region(loop);
  k.b.at_end(body);
  const ValueId iv = k.f.add_arg(body, Type(Element::i32));
  const ValueId tile = k.f.add_arg(body, Type(Element::i32, std::vector<std::int64_t>{16})), count = k.f.add_arg(body, Type(Element::i32));
  const ValueId next = k.b.binary(OpKind::add_, tile, k.splat(4, 16));
  const ValueId values[] = {next, k.b.binary(OpKind::add_, count, k.i32(1))};
  k.b.create(OpKind::yield_, values);
  CHECK(info_of(k.f, iv).scalar_divisibility == 32);
  CHECK(info_of(k.f, tile).contiguity[0] == 16);
  CHECK(info_of(k.f, tile).divisibility[0] == 4);
  CHECK(info_of(k.f, count).scalar_divisibility == 1);
  CHECK(info_of(k.f, k.f.result(loop, 0)).divisibility[0] == 4);
}

TEST_CASE("axis_info: values are printed under the names of the IR's text") {
  Kernel k;
  k.param(Type::pointer(Element::f32, true), 16);
  k.b.arange(0, 8);
  k.b.constant(Type(Element::i32), 12);
  CHECK(AxisInfoAnalysis(k.f).print() ==
        "%p: divisibility = 16\n%0: contiguity = [8], divisibility = [2^62], constancy = [1]\n%1: divisibility = 4, constant = 12\n");
}
