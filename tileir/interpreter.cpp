// The reference interpreter: every op of a structured function, in order, on whole tiles.
#include "tileir/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/evaluate.h"

namespace tilewright::ir {

namespace {

std::uint64_t read_element(std::uint64_t address, Element e) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), static_cast<std::size_t>(bytes(e)));
  return e == Element::boolean ? word != 0 : word;
}
void write_element(std::uint64_t address, Element e, std::uint64_t word) {
  std::memcpy(reinterpret_cast<void*>(address), &word, static_cast<std::size_t>(bytes(e)));
}

/// The row-major distance between neighbours along each axis.
std::vector<std::int64_t> strides(const Type& t) {
  std::vector<std::int64_t> s(t.rank());
  std::int64_t step = 1;
  for (int i = t.rank() - 1; i >= 0; --i) {
    s[i] = step;
    step *= t.extent(i);
  }
  return s;
}

class Interpreter {
 public:
  Interpreter(const Function& f, const InterpretOptions& options) : f_(f), options_(options), values_(f.value_capacity()) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].type = f.value(ValueId{static_cast<std::uint32_t>(i)}).type;
  }

  void run_program(std::span<const std::uint64_t> arguments, std::array<std::int32_t, 3> id) {
    id_ = id;
    executed_ = 0;
    if (options_.begin_program) options_.begin_program(id);
    const auto& args = f_.block(f_.body()).args;
    TW_CHECK(arguments.size() == args.size(), "interpret: one word a parameter");
    for (std::size_t i = 0; i < args.size(); ++i) {
      const int width = type(args[i]).is_pointer() ? 64 : bits(type(args[i]).element());
      words(args[i]).assign(1, width == 64 ? arguments[i] : arguments[i] & ((std::uint64_t{1} << width) - 1));
    }
    run(f_.body());
  }

 private:
  using Words = std::vector<std::uint64_t>;

  const Type& type(ValueId v) const { return values_[v.index].type; }
  Words& words(ValueId v) { return values_[v.index].bits; }
  Words& result(OpId id) {
    const ValueId r = f_.result(id);
    words(r).resize(static_cast<std::size_t>(type(r).elements()));
    return words(r);
  }
  std::uint64_t scalar(ValueId v) { return words(v)[0]; }
  std::int64_t scalar_integer(ValueId v) { return integer_value(type(v).element(), scalar(v)); }

  void run(BlockId b) {
    for (OpId id : f_.ops(b)) {
      if (++executed_ > options_.max_ops)
        throw Error(f_.where(id), fmt::format("interpreter: more than {} operations in one program", options_.max_ops));
      execute(id);
    }
  }

  void execute(OpId id) {
    switch (f_.kind(id)) {
#define TW_RUN_own(name) \
  case OpKind::name##_: return run_##name(id);
#define TW_RUN_lanes(name) \
  case OpKind::name##_: return run_lanes(id);
#define TW_RUN_program(name) TW_RUN_own(name)
#define TW_RUN_create(name) TW_RUN_own(name)
#define TW_RUN_shape(name) TW_RUN_own(name)
#define TW_RUN_unary(name) TW_RUN_lanes(name)
#define TW_RUN_binary(name) TW_RUN_lanes(name)
#define TW_RUN_ternary(name) TW_RUN_lanes(name)
#define TW_RUN_convert(name) TW_RUN_lanes(name)
#define TW_RUN_memory(name) TW_RUN_own(name)
#define TW_RUN_reduce(name) TW_RUN_own(name)
#define TW_RUN_linalg(name) TW_RUN_own(name)
#define TW_RUN_control(name) TW_RUN_own(name)
#define TW_OP(name, family, ...) TW_RUN_##family(name)
#include "tileir/ops.def"
#undef TW_OP
    }
    TW_UNREACHABLE("interpreting an op that the table lacks");
  }

  // ---- program and create ----
  void run_program_id(OpId id) { result(id)[0] = static_cast<std::uint32_t>(id_[f_.attr(id, AttrName::axis)]); }
  void run_num_programs(OpId id) { result(id)[0] = static_cast<std::uint32_t>(options_.grid[f_.attr(id, AttrName::axis)]); }
  void run_constant(OpId id) {
    auto& out = result(id);
    std::fill(out.begin(), out.end(), static_cast<std::uint64_t>(f_.attr(id, AttrName::value)));
  }
  void run_arange(OpId id) {
    auto& out = result(id);
    const std::int64_t lo = f_.attr(id, AttrName::lo);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(lo + static_cast<std::int64_t>(i));
  }

  // ---- shape ----
  void run_reshape(OpId id) {
    auto& out = result(id);
    const auto& x = words(f_.operand(id, 0));
    std::copy(x.begin(), x.end(), out.begin());
  }
  void run_broadcast(OpId id) {
    const ValueId x = f_.operand(id, 0);
    auto step = strides(type(x));
    for (int i = 0; i < type(x).rank(); ++i)
      if (type(x).extent(i) == 1) step[i] = 0;
    if (type(x).is_scalar()) step.assign(type(f_.result(id)).rank(), 0);
    gather(id, step);
  }
  void run_permute(OpId id) {
    const auto from = strides(type(f_.operand(id, 0)));
    std::vector<std::int64_t> step;
    for (std::int64_t axis : f_.attr_list(id, AttrName::axes)) step.push_back(from[axis]);
    gather(id, step);
  }
  void run_flip(OpId id) {
    const ValueId x = f_.operand(id, 0);
    const std::int64_t axis = f_.attr(id, AttrName::axis), extent = type(x).extent(static_cast<int>(axis)), inner = strides(type(x))[axis];
    auto& out = result(id);
    for (std::int64_t i = 0; i < type(x).elements(); ++i) {
      const std::int64_t at = i / inner % extent;
      out[i] = words(x)[i + (extent - 1 - 2 * at) * inner];
    }
  }
  void run_join(OpId id) { alternate(id, 1); }
  void run_cat(OpId id) {
    const ValueId a = f_.operand(id, 0);
    const auto axis = static_cast<int>(f_.attr(id, AttrName::axis));
    alternate(id, strides(type(a))[axis] * type(a).extent(axis));
  }
  /// Row-major: `block` elements of operand 0, as many of operand 1, the next ones of operand 0, and so on.
  void alternate(OpId id, std::int64_t block) {
    auto& out = result(id);
    const Words *const from[] = {&words(f_.operand(id, 0)), &words(f_.operand(id, 1))};
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i)
      out[i] = (*from[i / block % 2])[i / (2 * block) * block + i % block];
  }
  void run_split(OpId id) {
    const auto& x = words(f_.operand(id, 0));
    for (int half = 0; half < 2; ++half) {
      auto& out = words(f_.result(id, half));
      out.resize(x.size() / 2);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[2 * i + half];
    }
  }
  /// result[i, j, ...] = x[i * step[0] + j * step[1] + ...].
  void gather(OpId id, const std::vector<std::int64_t>& step) {
    auto& out = result(id);
    const auto& x = words(f_.operand(id, 0));
    const Type& t = type(f_.result(id));
    std::array<std::int64_t, kMaxRank> at{};
    std::int64_t from = 0;
    for (std::uint64_t& word : out) {
      word = x[from];
      for (int axis = t.rank() - 1; axis >= 0; --axis) {
        from += step[axis];
        if (++at[axis] < t.extent(axis)) break;
        from -= step[axis] * t.extent(axis);
        at[axis] = 0;
      }
    }
  }

  // ---- element-wise ----
  void run_lanes(OpId id) {
    const auto& operands = f_.op(id).operands;
    std::array<Type, 3> types;
    std::array<const std::uint64_t*, 3> in{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      types[i] = type(operands[i]);
      in[i] = words(operands[i]).data();
    }
    auto& out = result(id);
    evaluate_lanes(f_.kind(id), {std::span(types).first(operands.size()), std::span(in).first(operands.size()), type(f_.result(id)),
                                 out.data(), out.size()});
  }

  // ---- memory ----
  bool may_access(std::uint64_t address, int size, bool is_store, OpId id) const {
    return !options_.may_access || options_.may_access(address, size, is_store, id);
  }
  void run_load(OpId id) {
    const auto& operands = f_.op(id).operands;
    const auto& address = words(operands[0]);
    const Element e = type(operands[0]).element();
    auto& out = result(id);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (operands.size() > 1 && !words(operands[1])[i])
        out[i] = operands.size() > 2 ? words(operands[2])[i] : 0;
      else
        out[i] = may_access(address[i], bytes(e), false, id) ? read_element(address[i], e) : 0;
    }
  }
  void run_store(OpId id) {
    const auto& operands = f_.op(id).operands;
    const auto &address = words(operands[0]), &value = words(operands[1]);
    const Element e = type(operands[0]).element();
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (operands.size() > 2 && !words(operands[2])[i]) continue;
      if (may_access(address[i], bytes(e), true, id)) write_element(address[i], e, value[i]);
    }
  }

  // ---- reduce ----
  /// Combines the words of `earlier` and `later`, one for each tile of a reduce, into `earlier`.
  void combine(OpId id, std::uint64_t* earlier, const std::uint64_t* later) {
    const BlockId region = f_.region(id);
    const auto& args = f_.block(region).args;
    const std::size_t n = args.size() / 2;
    for (std::size_t i = 0; i < n; ++i) {
      words(args[i]).assign(1, earlier[i]);
      words(args[n + i]).assign(1, later[i]);
    }
    run(region);
    const auto& yielded = f_.op(f_.terminator(region)).operands;
    for (std::size_t i = 0; i < n; ++i) earlier[i] = scalar(yielded[i]);
  }
  void run_reduce(OpId id) {
    const auto& x = f_.op(id).operands;
    const Type& t = type(x[0]);
    const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
    const std::int64_t extent = t.extent(axis), inner = strides(t)[axis], rows = t.elements() / extent;
    const bool split = inner == 1 && f_.attr(id, AttrName::commutative) != 0;
    const std::int64_t lanes = split ? std::min<std::int64_t>(extent, options_.reduction.lanes) : 1;
    const std::size_t n = x.size();
    for (ValueId r : f_.op(id).results) words(r).resize(static_cast<std::size_t>(rows));
    Words elements(static_cast<std::size_t>(extent) * n);  // element k of tile j at k * n + j
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t base = row / inner * extent * inner + row % inner;
      for (std::int64_t k = 0; k < extent; ++k)
        for (std::size_t j = 0; j < n; ++j) elements[k * n + j] = words(x[j])[base + k * inner];
      // Partial k lives where element k was.
      for (std::int64_t k = lanes; k < extent; ++k) combine(id, &elements[(k % lanes) * n], &elements[k * n]);
      for (std::int64_t half = lanes / 2; half > 0; half /= 2)
        for (std::int64_t k = 0; k < half; ++k) combine(id, &elements[k * n], &elements[(k + half) * n]);
      for (std::size_t j = 0; j < n; ++j) words(f_.result(id, static_cast<int>(j)))[row] = elements[j];
    }
  }

  // ---- linear algebra ----
  /// acc + a b with the sum taken from acc over ascending k. Floats: one fused multiply-add a step, in the type of acc, after an
  /// exact conversion of a and b (every precision is the most exact one here). i8: wrapping 32-bit sums.
  void run_dot(OpId id) {
    const ValueId a = f_.operand(id, 0), b = f_.operand(id, 1);
    const Type &ta = type(a), &tb = type(b);
    const int rank = ta.rank();
    const std::int64_t batches = rank == 3 ? ta.extent(0) : 1, m = ta.extent(rank - 2), k = ta.extent(rank - 1), n = tb.extent(rank - 1);
    auto& out = result(id);
    const auto& acc = words(f_.operand(id, 2));
    std::copy(acc.begin(), acc.end(), out.begin());
    const Element from = ta.element(), to = type(f_.result(id)).element();
    std::vector<double> fa, fb;  // exact for every element that dot takes
    if (is_float(from)) {
      for (std::uint64_t w : words(a)) fa.push_back(float_value(from, w));
      for (std::uint64_t w : words(b)) fb.push_back(float_value(from, w));
    }
    for (std::int64_t i = 0; i < batches * m * n; ++i) {
      const std::int64_t row = i / n * k, column = i / (m * n) * k * n + i % n;
      if (to == Element::f32) {
        float sum = std::bit_cast<float>(static_cast<std::uint32_t>(out[i]));
        for (std::int64_t j = 0; j < k; ++j) sum = std::fma(static_cast<float>(fa[row + j]), static_cast<float>(fb[column + j * n]), sum);
        out[i] = std::bit_cast<std::uint32_t>(sum);
      } else if (to == Element::f64) {
        double sum = std::bit_cast<double>(out[i]);
        for (std::int64_t j = 0; j < k; ++j) sum = std::fma(fa[row + j], fb[column + j * n], sum);
        out[i] = std::bit_cast<std::uint64_t>(sum);
      } else {
        std::uint64_t sum = out[i];
        for (std::int64_t j = 0; j < k; ++j)
          sum += static_cast<std::uint64_t>(integer_value(from, words(a)[row + j]) * integer_value(from, words(b)[column + j * n]));
        out[i] = static_cast<std::uint32_t>(sum);
      }
    }
  }

  // ---- control ----
  /// target[i] = source[i], all at once: a loop may yield its carried values in another order.
  void copy(std::span<const ValueId> source, std::span<const ValueId> target) {
    std::vector<Words> moved;
    moved.reserve(source.size());
    for (ValueId v : source) moved.push_back(words(v));
    for (std::size_t i = 0; i < target.size(); ++i) words(target[i]) = std::move(moved[i]);
  }
  std::span<const ValueId> yielded(BlockId b) const { return f_.op(f_.terminator(b)).operands; }

  void run_for(OpId id) {
    const BlockId body = f_.region(id);
    const std::span<const ValueId> args = f_.block(body).args, init = std::span(f_.op(id).operands).subspan(3);
    const ValueId counter = args[0];
    // 128 bits: the last step past a bound may leave the counter's own range.
    __extension__ using Wide = __int128;
    const Wide hi = scalar_integer(f_.operand(id, 1)), step = scalar_integer(f_.operand(id, 2));
    std::span<const ValueId> carried = init;
    for (Wide i = scalar_integer(f_.operand(id, 0)); step > 0 ? i < hi : step < 0 && i > hi; i += step) {
      copy(carried, args.subspan(1));
      words(counter).assign(1, element_bits(type(counter).element(), static_cast<std::int64_t>(i)));
      run(body);
      carried = yielded(body);
    }
    copy(carried, f_.op(id).results);
  }
  void run_if(OpId id) {
    const BlockId taken = f_.region(id, scalar(f_.operand(id, 0)) ? 0 : 1);
    run(taken);
    copy(yielded(taken), f_.op(id).results);
  }
  void run_while(OpId id) {
    const BlockId before = f_.region(id, 0), after = f_.region(id, 1);
    std::span<const ValueId> carried = f_.op(id).operands;
    while (true) {
      copy(carried, f_.block(before).args);
      run(before);
      const std::span<const ValueId> condition = yielded(before), forwarded = condition.subspan(1);
      if (!scalar(condition[0])) return copy(forwarded, f_.op(id).results);
      copy(forwarded, f_.block(after).args);
      run(after);
      carried = yielded(after);
    }
  }
  // Terminators do nothing themselves: the op around them reads their operands.
  void run_yield(OpId) {}
  void run_condition(OpId) {}

  const Function& f_;
  const InterpretOptions& options_;
  std::vector<TileValue> values_;
  std::array<std::int32_t, 3> id_{};
  std::uint64_t executed_ = 0;
};

}  // namespace

void interpret(const Function& f, std::span<const std::uint64_t> arguments, const InterpretOptions& options) {
  Interpreter interpreter(f, options);
  for (std::int32_t z = 0; z < options.grid[2]; ++z)
    for (std::int32_t y = 0; y < options.grid[1]; ++y)
      for (std::int32_t x = 0; x < options.grid[0]; ++x) interpreter.run_program(arguments, {x, y, z});
}

}  // namespace tilewright::ir
