// Tests the fuzzer: its programs are valid and cover the op table, wrong semantics are found, and failing programs are reduced.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/differential.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/reduce_program.h"
#include "tests/fuzz/signatures.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

using namespace tilewright;
using namespace tilewright::fuzz;
using namespace tilewright::ir;

namespace {

using Rewrite = RewritingExecutor::Rewrite;

/// A mistake is caught by one of the first programs of the generator. The rarest is caught by one program in 300 or so: what is searched
/// must be many times that, since a change of the generator draws all programs anew.
constexpr std::uint64_t kMostPrograms = 10'000;

std::vector<OpId> ops_of(const Function& f, OpKind kind) {
  std::vector<OpId> ids;
  f.walk([&](OpId id) {
    if (f.kind(id) == kind) ids.push_back(id);
  });
  return ids;
}
bool contains(const Function& f, OpKind kind) { return !ops_of(f, kind).empty(); }

/// A value that differs from v in every lane that is not NaN.
ValueId spoiled(Builder& b, ValueId v) {
  const Type t = b.function().type(v);
  if (t.is_pointer()) return b.add_ptr(v, b.constant(t.with_element(Element::i32), 1));
  if (t.is_bool()) return b.unary(OpKind::bit_not_, v);
  if (is_fp8(t.element()))
    return b.bitcast(b.binary(OpKind::bit_xor_, b.bitcast(v, Type(Element::u8)), b.constant(t.with_element(Element::u8), 0x80)), t);
  if (t.is_float()) return b.unary(OpKind::neg_, v);
  return b.binary(OpKind::add_, v, b.constant(t, 1));
}

/// The first result of every op of this kind is wrong, an assertion says the contrary; any other op without results does not happen.
Rewrite spoil(OpKind kind) {
  return [kind](Function& f) {
    for (OpId id : ops_of(f, kind)) {
      if (f.erased(id)) continue;  // erased together with the op around it
      if (kind == OpKind::device_assert_) {
        Builder b(f);
        b.before(id);
        f.set_operand(id, 0, b.unary(OpKind::bit_not_, f.operand(id, 0)));
        continue;
      }
      if (f.op(id).results.empty()) {
        f.erase(id);
        continue;
      }
      const ValueId r = f.result(id);
      const std::vector<OpId> users = f.value(r).users;
      Builder b(f);
      b.after(id);
      const ValueId wrong = spoiled(b, r);
      for (OpId user : users)
        for (std::size_t i = 0; i < f.op(user).operands.size(); ++i)
          if (f.operand(user, static_cast<int>(i)) == r) f.set_operand(user, static_cast<int>(i), wrong);
    }
  };
}

/// Every op of this kind for which `make` gives a value becomes that value.
Rewrite instead(OpKind kind, std::function<ValueId(Builder&, const std::vector<ValueId>&, Type result)> make) {
  return [=](Function& f) {
    for (OpId id : ops_of(f, kind)) {
      Builder b(f);
      b.before(id);
      const std::vector<ValueId> operands = f.op(id).operands;
      const ValueId v = make(b, operands, f.type(f.result(id)));
      if (!v) continue;
      f.replace_uses(f.result(id), v);
      f.erase(id);
    }
  };
}
Rewrite other_op(OpKind kind, OpKind wrong) {
  return instead(kind, [=](Builder& b, const std::vector<ValueId>& x, Type) {
    return x.size() == 1 ? b.unary(wrong, x[0]) : b.binary(wrong, x[0], x[1]);
  });
}

/// How many programs it takes until `candidate` is caught; 0 if it is not. Programs without the op are not asked.
std::uint64_t programs_until_caught(Executor& candidate, OpKind kind) {
  InterpreterExecutor reference;
  for (std::uint64_t seed = 1; seed <= kMostPrograms; ++seed) {
    const Program p = generate(seed);
    if (contains(p.function, kind) && compare(p, reference, candidate)) return seed;
  }
  return 0;
}

/// Mistakes that lowerings really make, each wrong on few operands only.
struct Mistake {
  std::string name;
  OpKind kind;
  Rewrite rewrite;
};
std::vector<Mistake> mistakes() {
  const auto masks_dropped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::store_))
      if (f.op(id).operands.size() > 2) f.erase_operand(id, 2);
  };
  const auto other_dropped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::load_))
      if (f.op(id).operands.size() > 2) f.erase_operand(id, 2);
  };
  const auto not_commutative = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::reduce_))
      if (f.attr(id, AttrName::commutative)) f.set_attr(id, {AttrName::commutative, 0, {}});
  };
  const auto arguments_swapped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::reduce_)) {
      const BlockId region = f.region(id);
      const std::vector<ValueId> args = f.block(region).args;
      const OpId end = f.terminator(region);
      // An earlier element where the later one is yielded, and the other way round.
      for (std::size_t i = 0; i < args.size() / 2; ++i)
        for (std::size_t k = 0; k < f.op(end).operands.size(); ++k)
          if (f.operand(end, static_cast<int>(k)) == args[args.size() / 2 + i]) f.set_operand(end, static_cast<int>(k), args[i]);
    }
  };
  const auto one_trip_more = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::for_)) {
      Builder b(f);
      b.before(id);
      f.set_operand(id, 1, b.binary(OpKind::add_, f.operand(id, 1), b.constant(f.type(f.operand(id, 1)), 1)));
    }
  };
  const auto step_forward = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::for_)) {
      Builder b(f);
      b.before(id);
      f.set_operand(id, 2, b.unary(OpKind::abs_, f.operand(id, 2)));
    }
  };
  // Carried values copied one after the other: a swap becomes a copy.
  const auto copies_in_turn = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::for_)) {
      const std::vector<ValueId> args = f.block(f.region(id)).args;
      const OpId end = f.terminator(f.region(id));
      for (std::size_t i = 0; i < f.op(end).operands.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          if (f.operand(end, static_cast<int>(i)) == args[k + 1])
            f.set_operand(end, static_cast<int>(i), f.operand(end, static_cast<int>(k)));
    }
  };
  const auto other_side = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::if_)) {
      Builder b(f);
      b.before(id);
      f.set_operand(id, 0, b.unary(OpKind::bit_not_, f.operand(id, 0)));
    }
  };
  const auto accumulator_lost = instead(OpKind::dot_, [](Builder& b, const std::vector<ValueId>& x, Type t) {
    const ValueId operands[] = {x[0], x[1], b.constant(t, 0)};
    return b.function().result(b.create(OpKind::dot_, operands));
  });
  const auto by_i64 = instead(OpKind::cast_, [](Builder& b, const std::vector<ValueId>& x, Type t) {
    const Type from = b.function().type(x[0]);
    return from.is_float() && t.is_integer() && bits(t.element()) < 64 ? b.cast(b.cast(x[0], Element::i64), t.element()) : ValueId{};
  });
  const auto by_f32 = instead(OpKind::cast_, [](Builder& b, const std::vector<ValueId>& x, Type t) {
    const bool narrow = b.function().type(x[0]).element() == Element::f64 && t.is_float() && bits(t.element()) < 32;
    return narrow ? b.cast(b.cast(x[0], Element::f32), t.element()) : ValueId{};
  });
  const auto logical_shift = instead(OpKind::shr_, [](Builder& b, const std::vector<ValueId>& x, Type t) {
    const Type u(integer(bits(t.element()), false));
    return b.bitcast(b.binary(OpKind::shr_, b.bitcast(x[0], u), b.bitcast(x[1], u)), t);
  });
  const auto shift_modulo = instead(OpKind::shl_, [](Builder& b, const std::vector<ValueId>& x, Type t) {
    return b.binary(OpKind::shl_, x[0], b.binary(OpKind::bit_and_, x[1], b.constant(t, bits(t.element()) - 1)));
  });
  const auto two_roundings = instead(OpKind::fma_, [](Builder& b, const std::vector<ValueId>& x, Type) {
    return b.binary(OpKind::add_, b.binary(OpKind::mul_, x[0], x[1]), x[2]);
  });
  const auto flat_transpose =
      instead(OpKind::permute_, [](Builder& b, const std::vector<ValueId>& x, Type t) { return b.reshape(x[0], t.shape()); });
  const auto cat_swapped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::cat_)) {
      const ValueId a = f.operand(id, 0);
      f.set_operand(id, 0, f.operand(id, 1));
      f.set_operand(id, 1, a);
    }
  };
  const auto unsigned_offsets = instead(OpKind::add_ptr_, [](Builder& b, const std::vector<ValueId>& x, Type) {
    const Type t = b.function().type(x[1]);
    return is_signed(t.element()) ? ValueId{} : b.add_ptr(x[0], b.bitcast(x[1], Type(integer(bits(t.element()), true))));
  });
  const auto without = [](OpKind kind, AttrName name) {
    return [=](Function& f) {
      for (OpId id : ops_of(f, kind))
        if (f.attr(id, name)) f.set_attr(id, {name, 0});
    };
  };
  const auto last_axis = [](Type t) { return Attr{AttrName::axis, t.rank() - 1}; };
  const auto flipped = [=](Builder& b, ValueId v) {
    const Type t = b.function().type(v);
    return t.rank() == 0 ? v : b.function().result(b.create(OpKind::flip_, std::span(&v, 1), {last_axis(t)}));
  };
  const auto ties_turned = [=](Function& f) {
    for (OpId id : ops_of(f, OpKind::sort_)) {
      Builder b(f);
      b.before(id);
      for (std::size_t i = 0; i < f.op(id).operands.size(); ++i)
        f.set_operand(id, static_cast<int>(i), flipped(b, f.operand(id, static_cast<int>(i))));
    }
  };
  const auto lanes_turned = [=](Function& f) {
    for (OpId id : ops_of(f, OpKind::atomic_add_)) {
      Builder b(f);
      b.before(id);
      for (std::size_t i = 0; i < f.op(id).operands.size(); ++i)
        f.set_operand(id, static_cast<int>(i), flipped(b, f.operand(id, static_cast<int>(i))));
      const ValueId r = f.result(id);
      const std::vector<OpId> users = f.value(r).users;
      b.after(id);
      const ValueId turned = flipped(b, r);
      for (OpId user : users)
        for (std::size_t i = 0; i < f.op(user).operands.size(); ++i)
          if (f.operand(user, static_cast<int>(i)) == r && turned != r) f.set_operand(user, static_cast<int>(i), turned);
    }
  };
  const auto new_value = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::atomic_xor_)) {
      const ValueId r = f.result(id);
      const std::vector<OpId> users = f.value(r).users;
      Builder b(f);
      b.after(id);
      const ValueId updated = b.binary(OpKind::bit_xor_, r, f.operand(id, 1));
      for (OpId user : users)
        for (std::size_t i = 0; i < f.op(user).operands.size(); ++i)
          if (f.operand(user, static_cast<int>(i)) == r) f.set_operand(user, static_cast<int>(i), updated);
    }
  };
  const auto last_dropped = [](OpKind kind, std::size_t most) {
    return [=](Function& f) {
      for (OpId id : ops_of(f, kind))
        if (f.op(id).operands.size() > most) f.erase_operand(id, static_cast<int>(most));
    };
  };
  const auto clamped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::gather_)) {
      Builder b(f);
      b.before(id);
      const ValueId index = f.operand(id, 1);
      const std::int64_t extent = f.type(f.operand(id, 0)).extent(static_cast<int>(f.attr(id, AttrName::axis)));
      f.set_operand(id, 1, b.binary(OpKind::minimum_, index, b.constant(f.type(index), extent - 1)));
    }
  };
  const auto scales_swapped = [](Function& f) {
    for (OpId id : ops_of(f, OpKind::dot_scaled_)) {
      const ValueId a = f.operand(id, 1), b = f.operand(id, 3);
      if (f.type(a) != f.type(b)) continue;
      f.set_operand(id, 1, b);
      f.set_operand(id, 3, a);
    }
  };
  return {
      {"a reverse scan runs forward", OpKind::scan_, without(OpKind::scan_, AttrName::reverse)},
      {"a sort is not stable", OpKind::sort_, ties_turned},
      {"a descending sort ascends", OpKind::sort_, without(OpKind::sort_, AttrName::descending)},
      {"a gather clamps its index", OpKind::gather_, clamped},
      {"a histogram counts masked-off lanes", OpKind::histogram_, last_dropped(OpKind::histogram_, 1)},
      {"an atomic touches masked-off lanes", OpKind::atomic_max_, last_dropped(OpKind::atomic_max_, 2)},
      {"the lanes of an atomic come last first", OpKind::atomic_add_, lanes_turned},
      {"an atomic gives the new value", OpKind::atomic_xor_, new_value},
      {"dot_scaled swaps its scales", OpKind::dot_scaled_, scales_swapped},
      {"the mask of a store is dropped", OpKind::store_, masks_dropped},
      {"the other of a load is dropped", OpKind::load_, other_dropped},
      {"a reduce takes elements in order instead of lanes", OpKind::reduce_, not_commutative},
      {"a reduce mixes up earlier and later", OpKind::reduce_, arguments_swapped},
      {"a loop runs to its bound inclusively", OpKind::for_, one_trip_more},
      {"a negative step counts up", OpKind::for_, step_forward},
      {"carried values are copied one after the other", OpKind::for_, copies_in_turn},
      {"an if takes the other side", OpKind::if_, other_side},
      {"dot forgets its accumulator", OpKind::dot_, accumulator_lost},
      {"float to narrow integer wraps instead of saturating", OpKind::cast_, by_i64},
      {"f64 to small floats rounds twice", OpKind::cast_, by_f32},
      {"a signed shift is logical", OpKind::shr_, logical_shift},
      {"a shift count is taken modulo the width", OpKind::shl_, shift_modulo},
      {"fma rounds twice", OpKind::fma_, two_roundings},
      {"permute moves nothing", OpKind::permute_, flat_transpose},
      {"cat swaps its operands", OpKind::cat_, cat_swapped},
      {"unsigned offsets are sign-extended", OpKind::add_ptr_, unsigned_offsets},
      {"minimum lets the number win", OpKind::minimum_,
       instead(OpKind::minimum_, [](Builder& b, const std::vector<ValueId>& x,
                                    Type t) { return t.is_float() ? b.binary(OpKind::fmin_, x[0], x[1]) : ValueId{}; })},
      {"fmax lets NaN win", OpKind::fmax_, other_op(OpKind::fmax_, OpKind::maximum_)},
      {"round goes to even", OpKind::round_, other_op(OpKind::round_, OpKind::rint_)},
      {"lt holds for equal values", OpKind::lt_, other_op(OpKind::lt_, OpKind::le_)},
      {"ge is the negation of lt", OpKind::ge_,
       instead(OpKind::ge_, [](Builder& b, const std::vector<ValueId>& x,
                               Type) { return b.unary(OpKind::bit_not_, b.binary(OpKind::lt_, x[0], x[1])); })},
  };
}

}  // namespace

TEST_CASE("fuzz generator: programs verify, have a meaning, and depend on nothing but the seed") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Program p = generate(seed);
    CAPTURE(seed);
    CHECK(verify(p.function).empty());
    CHECK(check_meaning(p) == "");
    if (seed % 10 == 0) CHECK(text(p) == text(generate(seed)));
  }
}

TEST_CASE("fuzz generator: every op of the table occurs") {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) coverage.count(generate(seed).function);
  for (OpKind k : coverage.missing()) FAIL_CHECK("never generated: " << ir::text(k));
}

TEST_CASE("fuzz generator: programs survive printing and parsing") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string printed = print(generate(seed).function);
    if (print(parse(printed, "fuzz.tile")) != printed) FAIL_CHECK("seed " << seed);
  }
}

TEST_CASE("fuzz comparison: an executor agrees with itself") {
  InterpreterExecutor a, b;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    if (const auto difference = compare(generate(seed), a, b)) FAIL_CHECK("seed " << seed << ": " << *difference);
}

TEST_CASE("fuzz comparison: another order of reduction is seen") {
  InterpreterExecutor in_order, by_lanes({16});
  std::uint64_t seed = 1;
  while (seed < kMostPrograms && !compare(generate(seed), in_order, by_lanes)) ++seed;
  CHECK(seed < kMostPrograms);
}

TEST_CASE("fuzz comparison: a wrong result of any op is caught") {
  for (OpKind kind : all_ops()) {
    // Terminators pass on what others computed; assume changes nothing; no traced program has ops that passes make.
    if (info(kind).has(kTerminator) || kind == OpKind::assume_ || is_made_by_passes(kind)) continue;
    RewritingExecutor candidate("spoiled " + std::string(ir::text(kind)), spoil(kind));
    const std::uint64_t programs = programs_until_caught(candidate, kind);
    if (programs == 0) FAIL_CHECK("not caught: a wrong " << ir::text(kind));
  }
}

TEST_CASE("fuzz: likely mistakes are caught, and shrink to a few ops that still show them") {
  for (const Mistake& m : mistakes()) {
    CAPTURE(m.name);
    RewritingExecutor candidate(m.name, m.rewrite, {16});
    InterpreterExecutor reference({16});
    const auto fails = [&](const Program& p) { return compare(p, reference, candidate).has_value(); };
    // Edits one at a time may end at a program that no single edit makes smaller; of six failing ones the best is taken.
    std::uint64_t seed = 0;
    Program small;
    std::size_t size = SIZE_MAX;
    for (int found = 0; found < 6 && size > 45; ++found) {
      Program p = generate(++seed);
      while (seed < kMostPrograms && !(contains(p.function, m.kind) && fails(p))) p = generate(++seed);
      REQUIRE(seed < kMostPrograms);
      Program shrunk = reduce_program(p, fails);
      std::size_t ops = 0;
      shrunk.function.walk([&](OpId) { ++ops; });
      if (ops < size) size = ops, small = std::move(shrunk);
    }
    CAPTURE(text(small));
    CHECK(fails(small));
    CHECK(contains(small.function, m.kind));
    CHECK(size <= 45);
  }
}
