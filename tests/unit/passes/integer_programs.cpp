// Generates a program in three steps, and runs it in the interpreter:
//
//   1. leaves: parameters, aranges, constants and program ids begin the pool of values.
//   2. ops: each new op takes operands from the pool and adds its results to it. In a region the pool has the region's values too.
//   3. observe: some of the values are stored to a buffer each, for each iteration of the loops around them at an offset of its own.
#include "integer_programs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "tileir/builder.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;

constexpr Element kIntegers[] = {Element::i8,  Element::i16, Element::i32, Element::i32, Element::i32,
                                 Element::i64, Element::u8,  Element::u16, Element::u32, Element::u64};
constexpr int kMaxLog2 = 6;  // limit for the elements of an arange or a broadcast

class Generator {
 public:
  Generator(std::uint32_t seed, double share) : random_(seed), share_(share), f_(program_.f), b_(f_) {}

  IntegerProgram make() {
    leaves();
    ops(8 + below(8), 0, Scope{});
    verify_or_throw(f_);
    return std::move(program_);
  }

 private:
  /// The loops around the insertion point.
  struct Scope {
    int trips = 1;      // how often a value is computed here, at most
    ValueId iteration;  // an i64 from 0 to trips - 1: which of these times it is; none outside of loops
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  template <class C>
  auto pick(const C& c) {
    return c[static_cast<std::size_t>(below(static_cast<int>(std::size(c))))];
  }

  /// A new parameter, and the argument that it is called with.
  ValueId param(Type t, std::int64_t divisible_by, std::uint64_t value) {
    program_.scalars.push_back(value);
    return f_.add_param(t, {"p" + std::to_string(program_.scalars.size()), divisible_by});
  }

  void keep(ValueId v) { pool_.push_back(v); }

  void leaves() {
    for (int i = 0; i < 3; ++i) {
      const Element e = pick(kIntegers);
      const std::int64_t divisor = std::int64_t{1} << below(6);
      keep(param(Type(e), divisor, element_bits(e, divisor * (below(9) - 3))));
    }
    const std::int64_t alignment = std::int64_t{1} << below(7);
    keep(param(Type::pointer(pick(kIntegers), false), alignment, 4096 + static_cast<std::uint64_t>(alignment * below(64))));
    for (int i = 0; i < 3; ++i) keep(arange());
    keep(b_.constant(Type(Element::i32), below(64) - 20));
    const Attr axis{AttrName::axis, below(3), {}};
    keep(f_.result(b_.create(OpKind::program_id_, {}, {axis})));
  }

  ValueId arange() {
    const std::int64_t n = std::int64_t{1} << below(kMaxLog2 + 1), lo = chance(0.5) ? 0 : (below(20) - 8) * (1 << below(4));
    const ValueId v = b_.arange(lo, lo + n);
    return chance(0.3) ? b_.cast(v, pick(kIntegers)) : v;
  }

  /// A value of exactly this type: one of the pool, a scalar of the pool cast and broadcast, or a constant.
  ValueId like(Type t) {
    std::vector<ValueId> fits;
    for (ValueId v : pool_)
      if (f_.type(v) == t) fits.push_back(v);
    if (!fits.empty() && chance(0.6)) return pick(fits);
    if (t.is_pointer()) return b_.constant_bits(t, 0);
    if (t.is_bool()) return b_.constant_bits(t, static_cast<std::uint64_t>(below(2)));
    for (ValueId v : pool_)
      if (f_.type(v).is_scalar() && f_.type(v).is_integer() && chance(0.4)) return b_.broadcast(b_.cast(v, t.element()), t.shape());
    // Small numbers, and powers of two: where rules and divisibility have their edges.
    const std::int64_t c = chance(0.5) ? below(20) - 6 : (std::int64_t{1} << below(std::min(bits(t.element()), 8))) - below(2);
    return b_.constant(t, c);
  }

  Shape random_shape(int log2_elements) {
    Shape s(static_cast<std::size_t>(below(3) + 1), 1);
    for (int i = 0; i < log2_elements; ++i) s[static_cast<std::size_t>(below(static_cast<int>(s.size())))] *= 2;
    return s;
  }

  ValueId reshaped(ValueId x) {
    const Type t = f_.type(x);
    if (t.is_scalar()) return b_.broadcast(x, random_shape(below(kMaxLog2 + 1)));
    switch (below(3)) {
      case 0: return b_.reshape(x, random_shape(t.log2_elements()));
      case 1: {
        Shape axes(static_cast<std::size_t>(t.rank()));
        for (int d = 0; d < t.rank(); ++d) axes[static_cast<std::size_t>(d)] = d;
        std::shuffle(axes.begin(), axes.end(), random_);
        return b_.permute(x, axes);
      }
      default: {
        Shape s = t.shape();
        for (auto& n : s)
          if (n == 1 && t.log2_elements() <= 3) n = std::int64_t{1} << below(3);
        return b_.broadcast(x, s);
      }
    }
  }

  ValueId on_bool(ValueId x) {
    const Type t = f_.type(x);
    constexpr OpKind kOps[] = {OpKind::bit_and_, OpKind::bit_or_, OpKind::bit_xor_, OpKind::eq_, OpKind::ne_};
    switch (below(5)) {
      case 0: return b_.unary(OpKind::bit_not_, x);
      case 1: return b_.binary(pick(kOps), x, like(t));
      case 2: return b_.cast(x, pick(kIntegers));
      case 3: {
        const Type arm = t.with_element(pick(kIntegers));
        return b_.select(x, like(arm), like(arm));
      }
      default: return b_.select(x, like(t), like(t));
    }
  }

  ValueId on_pointer(ValueId x) {
    const Type t = f_.type(x);
    if (chance(0.15)) return b_.select(like(t.with_element(Element::boolean)), x, like(t));
    if (chance(0.1)) return b_.bitcast(x, Type(Element::i64));
    if (chance(0.1)) return b_.bitcast(x, Type::pointer(pick(kIntegers), true));
    return b_.add_ptr(x, like(t.with_element(pick(kIntegers))));
  }

  ValueId on_integer(ValueId x) {
    const Type t = f_.type(x);
    constexpr OpKind kOps[] = {OpKind::add_, OpKind::add_, OpKind::sub_,     OpKind::mul_,     OpKind::mul_,    OpKind::div_,
                               OpKind::rem_, OpKind::shl_, OpKind::shr_,     OpKind::bit_and_, OpKind::bit_or_, OpKind::bit_xor_,
                               OpKind::div_, OpKind::rem_, OpKind::minimum_, OpKind::maximum_};
    constexpr OpKind kComparisons[] = {OpKind::eq_, OpKind::ne_, OpKind::lt_, OpKind::le_, OpKind::gt_, OpKind::ge_};
    constexpr OpKind kUnary[] = {OpKind::neg_, OpKind::abs_, OpKind::bit_not_};
    const int choice = below(20);
    if (choice < 10) {
      const ValueId y = like(t);
      return chance(0.7) ? b_.binary(pick(kOps), x, y) : b_.binary(pick(kOps), y, x);
    }
    if (choice < 13) return b_.binary(pick(kComparisons), x, like(t));
    if (choice < 15) return b_.cast(x, pick(kIntegers));
    if (choice < 16) return b_.cast(x, Element::boolean);
    if (choice < 17) return b_.unary(pick(kUnary), x);
    if (choice < 18) return b_.unary(chance(0.5) ? OpKind::popcount_ : OpKind::ffs_, x);
    return b_.select(like(t.with_element(Element::boolean)), x, like(t));
  }

  ValueId value_op() {
    const ValueId x = pick(pool_);
    const Type t = f_.type(x);
    if (chance(0.25)) return reshaped(x);
    if (t.is_pointer()) return on_pointer(x);
    return t.is_bool() ? on_bool(x) : on_integer(x);
  }

  /// A value of the pool, most often a tile: an initial value of a loop, or the type of a branch's result.
  ValueId carriable() {
    for (int i = 0; i < 20; ++i)
      if (const ValueId v = pick(pool_); !f_.type(v).is_scalar() || chance(0.2)) return v;
    return pick(pool_);
  }

  /// The value that an iteration yields for a carried value: often that value plus or minus a step, else any value of its type.
  ValueId next_of(ValueId arg) {
    const Type t = f_.type(arg);
    const auto step = [&](Type s) { return chance(0.5) ? b_.constant(s, below(9) - 2) : like(s); };
    if (t.is_pointer() && chance(0.7)) return b_.add_ptr(arg, step(t.with_element(pick(kIntegers))));
    if (t.is_integer() && chance(0.6)) return b_.binary(chance(0.8) ? OpKind::add_ : OpKind::sub_, arg, step(t));
    return like(t);
  }

  void for_loop(int depth, const Scope& scope) {
    const Type iv(Element::i32);
    const int trips = below(5), step = pick(std::vector<int>{1, 2, 4, -1, -3}), lo = (below(5) - 1) * 4;
    const int last = step > 0 ? below(step) : -below(-step);  // the last step may lead beyond hi
    std::vector<ValueId> operands{b_.constant(iv, lo), b_.constant(iv, lo + trips * step - last), b_.constant(iv, step)};
    const int carried = below(3);
    for (int i = 0; i < carried; ++i) operands.push_back(carriable());
    const OpId loop = b_.create(OpKind::for_, operands);
    const BlockId body = f_.region(loop), outer = b_.block();
    const std::vector<ValueId> before = pool_;
    b_.at_end(body);
    const ValueId i = f_.add_arg(body, iv);
    keep(i);
    std::vector<ValueId> args;
    for (int k = 0; k < carried; ++k) args.push_back(f_.add_arg(body, f_.type(operands[static_cast<std::size_t>(k) + 3])));
    for (ValueId a : args) keep(a);
    // The iteration, (i - lo) / step, is at most 3: two nested loops number theirs 4 * outer + inner, below kMaxTrips.
    const Type wide(Element::i64);
    ValueId iteration = b_.binary(OpKind::sub_, i, operands[0]);
    iteration = b_.cast(b_.binary(OpKind::div_, iteration, operands[2]), Element::i64);
    if (scope.iteration) iteration = b_.binary(OpKind::add_, iteration, b_.binary(OpKind::mul_, scope.iteration, b_.constant(wide, 4)));
    const Scope inner{scope.trips * 4, iteration};
    observe(args, inner);
    ops(2 + below(5), depth + 1, inner);
    std::vector<ValueId> next;
    for (ValueId a : args) next.push_back(next_of(a));
    b_.create(OpKind::yield_, next);
    finish(loop, outer, before, scope);
  }

  void branch(int depth, const Scope& scope) {
    std::vector<Type> types;
    for (int i = 0; i < 1 + below(2); ++i) types.push_back(f_.type(carriable()));
    const ValueId condition = like(Type(Element::boolean));
    const OpId id = b_.create(OpKind::if_, std::span(&condition, 1), {}, types);
    const BlockId outer = b_.block();
    const std::vector<ValueId> before = pool_;
    for (int arm = 0; arm < 2; ++arm) {
      pool_ = before;
      b_.at_end(f_.region(id, arm));
      ops(1 + below(3), depth + 1, scope);
      std::vector<ValueId> out;
      for (Type t : types) out.push_back(like(t));
      b_.create(OpKind::yield_, out);
    }
    finish(id, outer, before, scope);
  }

  /// Goes on behind a loop or branch: its results join the values that were in the pool before it.
  void finish(OpId id, BlockId outer, const std::vector<ValueId>& before, const Scope& scope) {
    pool_ = before;
    b_.at_end(outer);
    const std::vector<ValueId> results = f_.op(id).results;
    observe(results, scope);
    for (ValueId v : results) keep(v);
  }

  void ops(int count, int depth, const Scope& scope) {
    for (int i = 0; i < count; ++i) {
      if (depth < 2 && chance(0.1)) {
        for_loop(depth, scope);
      } else if (depth < 2 && chance(0.05)) {
        branch(depth, scope);
      } else {
        const ValueId v = value_op();
        observe(std::vector{v}, scope);
        keep(v);
      }
    }
  }

  /// Stores some of the values, each to a new parameter's buffer at element `iteration * elements`.
  void observe(const std::vector<ValueId>& values, const Scope& scope) {
    for (ValueId v : values) {
      if (!chance(share_)) continue;
      const ValueId bits = f_.type(v).is_pointer() ? b_.bitcast(v, Type(Element::i64)) : v;
      const Type t = f_.type(bits);
      const ValueId p = param(Type::pointer(t.element(), false), 1, 0);
      program_.observed.push_back({v, static_cast<int>(program_.scalars.size()) - 1});
      const Type wide(Element::i64);
      ValueId base = p;
      if (scope.iteration) base = b_.add_ptr(p, b_.binary(OpKind::mul_, scope.iteration, b_.constant(wide, t.elements())));
      ValueId to = base;
      if (!t.is_scalar()) {
        const ValueId flat = b_.add_ptr(b_.broadcast(base, Shape{t.elements()}), b_.arange(0, t.elements()));
        to = b_.reshape(flat, t.shape());
      }
      const ValueId operands[] = {to, bits};
      b_.create(OpKind::store_, operands);
    }
  }

  std::mt19937 random_;
  double share_;
  IntegerProgram program_;
  Function& f_;
  Builder b_;
  std::vector<ValueId> pool_;
};

}  // namespace

IntegerProgram random_integer_program(std::uint32_t seed, double share) { return Generator(seed, share).make(); }

Trace run(const IntegerProgram& program, const Function& f) {
  std::vector<std::uint64_t> arguments = program.scalars;
  struct Buffer {
    std::vector<std::byte> bytes;
    std::vector<bool> written;
  };
  std::vector<Buffer> buffers;
  for (const Observed& o : program.observed) {
    const Type t = program.f.type(o.value);
    const std::size_t size = static_cast<std::size_t>(t.elements()) * 8 * kMaxTrips;  // 8: the bytes of the widest element
    buffers.push_back({std::vector<std::byte>(size), std::vector<bool>(size)});
    arguments[static_cast<std::size_t>(o.param)] = reinterpret_cast<std::uint64_t>(buffers.back().bytes.data());
  }
  InterpretOptions options;
  options.grid = {1, 1, 1};
  options.may_access = [&](std::uint64_t address, int, bool, OpId) {
    for (Buffer& b : buffers) {
      const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(b.bytes.data());
      if (offset >= b.bytes.size()) continue;
      b.written[offset] = true;
      return true;
    }
    return false;
  };
  interpret(f, arguments, options);

  // Iterations that did not compute the value wrote nothing, and are left out.
  Trace trace;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Type t = program.f.type(program.observed[i].value);
    const auto element = static_cast<std::size_t>(t.element_bytes());
    const auto n = static_cast<std::size_t>(t.elements());
    auto& iterations = trace.emplace_back();
    for (std::size_t at = 0; at + n * element <= buffers[i].bytes.size(); at += n * element) {
      if (!buffers[i].written[at]) continue;
      auto& elements = iterations.emplace_back();
      for (std::size_t k = 0; k < n; ++k) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &buffers[i].bytes[at + k * element], element);
        elements.push_back(bits);
      }
    }
  }
  return trace;
}

}  // namespace tilewright::test
