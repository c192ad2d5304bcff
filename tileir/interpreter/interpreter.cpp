// The reference interpreter executes every op of a function in order, on whole tiles. This file has the loop over a block's ops and the ops
// that read no tiles.
#include "tileir/interpreter/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/interpreter/evaluate.h"
#include "tileir/interpreter/state.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

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

Interpreter::Interpreter(const Function& f, const InterpretOptions& options) : f_(f), options_(options) {
  std::vector<TileValue>& values = now_->values;
  values.resize(f.value_capacity());
  for (std::size_t i = 0; i < values.size(); ++i) values[i].type = f.value(ValueId{static_cast<std::uint32_t>(i)}).type;
  f.walk([&](OpId id) {
    has_products_ = has_products_ || f.kind(id) == OpKind::mma_async_;
    has_bulk_copies_ = has_bulk_copies_ || f.kind(id) == OpKind::bulk_copy_ || f.kind(id) == OpKind::bulk_store_;
  });
}

void Interpreter::run_program(std::span<const std::uint64_t> arguments, std::array<std::int32_t, 3> id) {
  id_ = id;
  executed_ = 0;
  cells_.clear(), mbarriers_.clear(), unfenced_.clear(), written_.clear(), storing_.clear();
  begin_body();
  if (options_.begin_program) options_.begin_program(id);
  const auto& args = f_.block(f_.body()).args;
  TW_CHECK(arguments.size() == args.size(), "interpret: one word a parameter");
  for (std::size_t i = 0; i < args.size(); ++i) {
    const int width = type(args[i]).element_bits();
    words(args[i]).assign(1, width == 64 ? arguments[i] : arguments[i] & ((std::uint64_t{1} << width) - 1));
  }
  run_agents();
}

Interpreter::Words& Interpreter::result(OpId id, int i) {
  const ValueId r = f_.result(id, i);
  words(r).resize(static_cast<std::size_t>(type(r).elements()));
  return words(r);
}

std::int64_t Interpreter::scalar_integer(ValueId v) { return integer_value(type(v).element(), scalar(v)); }

void Interpreter::count_op(OpId id) {
  if (++executed_ > options_.max_ops)
    throw Error(f_.where(id), fmt::format("interpreter: more than {} operations in one program", options_.max_ops));
}

void Interpreter::run(BlockId b) {
  for (OpId id : f_.ops(b)) {
    count_op(id);
    execute(id);
  }
}

void Interpreter::execute(OpId id) {
  switch (f_.kind(id)) {
#define TW_ELEMENTWISE_OP(name) \
  case OpKind::name##_: return run_lanes(id);
#define TW_OTHER_OP(name) \
  case OpKind::name##_: return run_##name(id);
#include "tileir/dispatch.def"
  }
  TW_UNREACHABLE("interpreting an op that the table lacks");
}

// ---- program and create ----
void Interpreter::run_program_id(OpId id) { result(id)[0] = static_cast<std::uint32_t>(id_[f_.attr(id, AttrName::axis)]); }
void Interpreter::run_num_programs(OpId id) { result(id)[0] = static_cast<std::uint32_t>(options_.grid[f_.attr(id, AttrName::axis)]); }
void Interpreter::run_constant(OpId id) {
  auto& out = result(id);
  std::fill(out.begin(), out.end(), static_cast<std::uint64_t>(f_.attr(id, AttrName::value)));
}
void Interpreter::run_arange(OpId id) {
  auto& out = result(id);
  const std::int64_t lo = f_.attr(id, AttrName::lo);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(lo + static_cast<std::int64_t>(i));
}

// ---- layout: conversions do not change values ----
void Interpreter::run_convert_layout(OpId id) { result(id) = words(f_.operand(id, 0)); }

// ---- element-wise ----
void Interpreter::run_lanes(OpId id) {
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

void interpret(const Function& f, std::span<const std::uint64_t> arguments, const InterpretOptions& options) {
  Interpreter interpreter(f, options);
  for (std::int32_t z = 0; z < options.grid[2]; ++z)
    for (std::int32_t y = 0; y < options.grid[1]; ++y)
      for (std::int32_t x = 0; x < options.grid[0]; ++x) interpreter.run_program(arguments, {x, y, z});
}

}  // namespace tilewright::ir
