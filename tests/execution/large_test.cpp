// Functions so large that the host back end outlines parts of them: values that are used in several parts, and memory, must be right.
#include <doctest/doctest.h>

#include <random>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/machines.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;
const Type kInts(Element::i32, Shape{64}), kFloats(Element::f32, Shape{64}), kInt(Element::i32);

std::size_t parts(const Function& f) {
  backend::CompileOptions options;
  options.target = "cpu";
  const std::string ir = backend::compile(f, options, {.keep_text = true, .dump = {}}).llvm_ir;
  std::size_t n = 0;
  for (std::size_t at = 0; (at = ir.find("define internal void @tilewright_entry.part", at)) != std::string::npos; ++at) ++n;
  return n;
}

/// Random operations on values of each kind that are alive.
class RandomOps {
 public:
  std::vector<ValueId> ints, masks, floats, scalars;

  void append(Builder& b, int count) {
    for (int i = 0; i < count; ++i) switch (random_() % 8) {
        case 0: replace(ints, b.binary(OpKind::add_, pick(ints), pick(ints))); break;
        case 1: replace(ints, b.binary(OpKind::mul_, pick(ints), pick(ints))); break;
        case 2: replace(ints, b.binary(OpKind::bit_xor_, pick(ints), b.broadcast(pick(scalars), Shape{64}))); break;
        case 3: replace(masks, b.binary(OpKind::lt_, pick(ints), pick(ints))); break;
        case 4: replace(masks, b.binary(OpKind::bit_or_, pick(masks), b.binary(OpKind::gt_, pick(floats), pick(floats)))); break;
        case 5: replace(ints, b.select(pick(masks), pick(ints), pick(ints))); break;
        case 6: replace(floats, b.binary(OpKind::maximum_, pick(floats), b.cast(pick(ints), Element::f32))); break;
        default: replace(scalars, b.binary(OpKind::sub_, b.binary(OpKind::mul_, pick(scalars), pick(scalars)), pick(scalars)));
      }
  }
  ValueId pick(const std::vector<ValueId>& from) { return from[random_() % from.size()]; }

 private:
  void replace(std::vector<ValueId>& in, ValueId v) { in[random_() % in.size()] = v; }
  std::mt19937 random_{20};
};

RandomOps inputs(SequenceBuilder& p) {
  RandomOps ops;
  for (int i = 0; i < 24; ++i) {
    ops.ints.push_back(p.input(kInts));
    ops.floats.push_back(p.small_input(kFloats));
    ops.scalars.push_back(p.scalar(kInt, static_cast<std::uint64_t>(3 * i + 1)));
  }
  for (int i = 0; i < 8; ++i) ops.masks.push_back(p.input(Type(Element::boolean, Shape{64})));
  return ops;
}

}  // namespace

TEST_CASE("large: thousands of ops of one loop nest") {
  SequenceBuilder p("nest");
  RandomOps ops = inputs(p);
  ops.append(p.ir(), 4000);
  for (int i = 0; i < 4; ++i) p.output(ops.ints[i]), p.output(ops.floats[i]), p.output(ops.masks[i]), p.output(ops.scalars[i]);
  const fuzz::Program program = p.take();
  CHECK(parts(program.function) >= 2);
  check_on_machines(program);
}

TEST_CASE("large: hundreds of loop nests in a loop that carries tiles and scalars") {
  for (const std::int64_t trips : {0, 3}) {
    SequenceBuilder p("loop");
    Builder& b = p.ir();
    Function& f = b.function();
    RandomOps ops = inputs(p);
    const ValueId operands[] = {b.constant(kInt, 0), p.scalar(kInt, static_cast<std::uint64_t>(trips)),
                                b.constant(kInt, 1), ops.ints[0],
                                ops.floats[0],       ops.scalars[0]};
    const OpId loop = b.create(OpKind::for_, operands);
    const BlockId body = f.region(loop);
    ops.scalars[1] = f.add_arg(body, kInt);
    ops.ints[0] = f.add_arg(body, kInts), ops.floats[0] = f.add_arg(body, kFloats), ops.scalars[0] = f.add_arg(body, kInt);
    Builder in(f);
    in.at_end(body);
    for (int i = 0; i < 40; ++i) {
      ops.append(in, 40);
      // A reduction ends a loop nest: what comes after needs its result.
      const ValueId total =
          combine(in, OpKind::reduce_, {ops.pick(ops.ints)}, {{AttrName::axis, 0, {}}, {AttrName::commutative, 1, {}}},
                  [](Builder& inner, const std::vector<ValueId>& x) { return std::vector{inner.binary(OpKind::add_, x[0], x[1])}; })[0];
      ops.scalars[static_cast<std::size_t>(i) % ops.scalars.size()] = total;
      ops.ints[1] = in.binary(OpKind::sub_, ops.pick(ops.ints), in.broadcast(total, Shape{64}));
    }
    const ValueId next[] = {ops.ints[1], ops.floats[1], ops.scalars[2]};
    in.create(OpKind::yield_, next);
    for (int i = 0; i < 3; ++i) p.output(f.result(loop, i));
    const fuzz::Program program = p.take();
    CHECK(parts(program.function) >= 2);
    check_on_machines(program);
  }
}

TEST_CASE("large: loads and stores that overlap keep their order across parts") {
  SequenceBuilder p("memory");
  Builder& b = p.ir();
  Function& f = b.function();
  const ValueId seed = p.small_input(Type(Element::i32, Shape{1024}));
  p.output(seed);  // the buffer that all of this moves within
  const ValueId base = f.arg(f.body(), 1), scale = p.scalar(kInt, 3);
  const auto at = [&](std::int64_t offset) {
    const ValueId index = b.binary(OpKind::add_, b.arange(0, 64), b.constant(kInts, offset));
    return b.add_ptr(b.broadcast(base, Shape{64}), index);
  };
  for (int i = 0; i < 200; ++i) {
    const ValueId from = at(i % 16 * 37), loaded = f.result(b.create(OpKind::load_, std::span(&from, 1)));
    const ValueId stored[] = {at(i % 13 * 51), b.binary(OpKind::mul_, loaded, b.broadcast(scale, Shape{64}))};
    b.create(OpKind::store_, stored);
  }
  const fuzz::Program program = p.take();
  CHECK(parts(program.function) >= 2);
  check_on_machines(program);
}

TEST_CASE("large: thousands of scalar ops") {
  SequenceBuilder p("scalars");
  Builder& b = p.ir();
  std::vector<ValueId> x;
  for (int i = 0; i < 12; ++i) x.push_back(p.scalar(Type(Element::u64), static_cast<std::uint64_t>(i) * 7919 + 1));
  for (std::size_t i = 0; i < 4000; ++i) x[i % 12] = b.binary(i % 3 == 0 ? OpKind::mul_ : OpKind::sub_, x[(i * 5 + 1) % 12], x[i % 12]);
  for (ValueId v : x) p.output(v);
  const fuzz::Program program = p.take();
  CHECK(parts(program.function) >= 2);
  check_on_machines(program);
}

}  // namespace tilewright::test
