// Buffers of random elements around a kernel, and the comparison on every machine.
#include "tests/execution/machines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime/devices.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/machine.h"
#include "tests/fuzz/random.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::test {

using namespace ir;

const std::vector<std::string>& machines() {
  static const std::vector<std::string> usable = [] {
    std::vector<std::string> out;
    if (const char* named = std::getenv("EXECUTION_DEVICES")) {
      std::istringstream names(named);
      for (std::string name; std::getline(names, name, ',');) out.push_back(name);
      return out;
    }
    for (const char* name : {"cpu", "cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:0"}) {
      try {
        rt::open_device(name, {});
        out.push_back(name);
      } catch (const Error&) {  // this machine lacks the level, or the GPU
      }
    }
    for (const char* name : {"emulator:sm_75", "emulator:sm_80", "emulator:sm_90a"}) out.push_back(name);
    return out;
  }();
  return usable;
}

namespace {

/// Units in the last place that GPUs may be off by (passes/ACCURACY.md); everything else is exact.
double ulp_of(const fuzz::Machine& machine, OpKind k) {
  if (!machine.description.is_gpu()) return 0;
  // The emulator rounds the instructions that erf and tan become as the interpreter does, a GPU does not.
  const bool is_gpu = machine.name.starts_with("cuda");
  switch (k) {
    case OpKind::div_:
    case OpKind::exp_:
    case OpKind::exp2_:
    case OpKind::rsqrt_:
    case OpKind::log_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::tanh_: return 4;
    case OpKind::erf_: return is_gpu ? 4 : 0;
    case OpKind::tan_: return is_gpu ? 5 : 0;
    case OpKind::atan_:
    case OpKind::atan2_: return is_gpu ? 4 : 0;
    case OpKind::log1p_: return is_gpu ? 2 : 0;
    default: return 0;
  }
}

fuzz::Tolerance tolerance_of(const fuzz::Machine& machine, const Function& f) {
  double ulp = 0;
  f.walk([&](OpId id) { ulp = std::max(ulp, ulp_of(machine, f.kind(id))); });
  return {ulp};
}

}  // namespace

void check_on_machines(const fuzz::Program& p) {
  // Lanes that meet do so in order here, in any order on a GPU.
  const bool has_order = !fuzz::check_meaning(p, true).empty();
  for (const std::string& name : machines()) {
    // Sizes of programs in turn: fewer warps than parts of a tile, and more.
    constexpr int kWarps[] = {4, 1, 8, 2};
    static std::size_t turn = 0;
    fuzz::Machine machine(name, kWarps[turn++ % std::size(kWarps)]);
    if (has_order && machine.description.is_gpu()) continue;
    fuzz::RewritingExecutor reference = machine.reference();
    const auto difference = fuzz::compare(p, reference, *machine.executor, tolerance_of(machine, p.function));
    // A tile that shared memory cannot hold is refused on some GPUs, by a message that says so.
    if (difference && difference->find("bytes of shared memory; a program of") != std::string::npos) continue;
    if (difference && difference->find(fuzz::DeviceExecutor::kTooLong) != std::string::npos) continue;
    INFO(name, ", ", machine.num_warps, " warps: ", difference.value_or(""), "\n", fuzz::text(p));
    CHECK_FALSE(difference.has_value());
  }
}

namespace {

std::uint64_t random_bits(fuzz::Random& random, ir::Element e) {
  const std::uint64_t raw = random.next();
  if (e == ir::Element::boolean) return raw & 1;
  if (!ir::is_float(e)) {
    constexpr std::int64_t kSpecial[] = {0, 1, -1, 2, 31, 32, 63, 64, INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -128, 127, -32768};
    return element_bits(e, random.chance(30)   ? random.pick(kSpecial)
                           : random.chance(50) ? random.between(-100, 100)
                                               : static_cast<std::int64_t>(raw));
  }
  constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e-30, 65504, 1e-40, 1e300, 3e9, -3e9, HUGE_VAL, -HUGE_VAL, NAN};
  if (random.chance(25)) return element_bits(e, random.pick(kSpecial));
  if (random.chance(50)) return element_bits(e, (random.between(-1000, 1000) + 0.25) / 64.0);
  return bits(e) == 64 ? raw : raw & ((std::uint64_t{1} << bits(e)) - 1);
}

}  // namespace

std::vector<ValueId> combine(Builder& b, OpKind kind, const std::vector<ValueId>& x, std::vector<Attr> attrs,
                             const std::function<std::vector<ValueId>(Builder&, const std::vector<ValueId>&)>& body) {
  Function& f = b.function();
  const OpId id = b.create(kind, x, std::move(attrs));
  const BlockId region = f.region(id);
  std::vector<ValueId> args;
  for (int side = 0; side < 2; ++side)
    for (ValueId v : x) args.push_back(f.add_arg(region, f.type(v).scalar()));
  Builder inside(f);
  inside.at_end(region);
  const std::vector<ValueId> out = body(inside, args);
  inside.create(OpKind::yield_, out);
  return f.op(id).results;
}

SequenceBuilder::SequenceBuilder(const std::string& name) : builder_(program_.function) {
  program_.function = Function(name);
  builder_ = Builder(program_.function);
}

ValueId SequenceBuilder::pointers(Type shape, bool is_const, std::vector<std::byte> contents) {
  const ValueId base = program_.function.add_param(Type::pointer(shape.element(), is_const),
                                                   {"p" + std::to_string(program_.arguments.size()), bytes(shape.element())});
  fuzz::Argument argument;
  argument.is_buffer = true;
  argument.element = shape.element();
  argument.bytes = std::move(contents);
  program_.arguments.push_back(std::move(argument));
  if (shape.is_scalar()) return base;
  const std::int64_t n = shape.elements();
  const ValueId index = builder_.reshape(builder_.arange(0, n), shape.shape());
  return builder_.add_ptr(builder_.broadcast(base, shape.shape()), index);
}

ValueId SequenceBuilder::input(Type t) {
  fuzz::Random random(seed_++);
  std::vector<std::byte> contents(static_cast<std::size_t>(t.elements()) * bytes(t.element()));
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const std::uint64_t word = random_bits(random, t.element());
    std::memcpy(&contents[static_cast<std::size_t>(i) * bytes(t.element())], &word, bytes(t.element()));
  }
  const ValueId p = pointers(t, true, std::move(contents));
  return builder_.function().result(builder_.create(OpKind::load_, std::span(&p, 1)));
}

ValueId SequenceBuilder::small_input(Type t) {
  fuzz::Random random(seed_++);
  std::vector<std::byte> contents(static_cast<std::size_t>(t.elements()) * bytes(t.element()));
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const std::uint64_t word = element_bits(t.element(), random.between(t.is_bool() || is_unsigned(t.element()) ? 0 : -4, 4));
    std::memcpy(&contents[static_cast<std::size_t>(i) * bytes(t.element())], &word, bytes(t.element()));
  }
  const ValueId p = pointers(t, true, std::move(contents));
  return builder_.function().result(builder_.create(OpKind::load_, std::span(&p, 1)));
}

ValueId SequenceBuilder::scalar(Type t, std::uint64_t bits) {
  fuzz::Argument argument;
  argument.word = bits;
  program_.arguments.push_back(argument);
  return program_.function.add_param(t, {"s" + std::to_string(program_.arguments.size()), 1});
}

void SequenceBuilder::output(ValueId v, ValueId mask) {
  const Type t = builder_.function().type(v);
  const std::vector<std::byte> poison(static_cast<std::size_t>(t.elements()) * bytes(t.element()), std::byte{0xa5});
  std::vector<ValueId> operands{pointers(t, false, poison), v};
  if (mask) operands.push_back(mask);
  builder_.create(OpKind::store_, operands);
}

fuzz::Program SequenceBuilder::take() {
  verify_or_throw(program_.function);
  return std::move(program_);
}

}  // namespace tilewright::test
