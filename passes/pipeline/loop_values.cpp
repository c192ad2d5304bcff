// Computes iteration counts, counters and carried values.
#include "passes/pipeline/loop_values.h"

#include "tileir/op_kind.h"

namespace tilewright::passes {

LoopValues::LoopValues(Rewriter& rw, OpId loop) : rw_(rw), f_(rw.function()), loop_(loop) {
  rw_.at(loop_);
  const ValueId lo = f_.operand(loop_, 0), hi = f_.operand(loop_, 1);
  const Element e = f_.type(lo).element(), u = ir::integer(ir::bits(e), false);
  const ir::Type t(u);
  const std::int64_t s = ir::integer_value(e, *f_.constant_bits(f_.operand(loop_, 2)));
  const ValueId distance = rw_.cast(rw_.binary(OpKind::sub_, hi, lo), u);
  last_ = rw_.binary(OpKind::div_, rw_.binary(OpKind::sub_, distance, rw_.constant(t, 1)), rw_.constant(t, s));
  count_ = rw_.select(rw_.binary(OpKind::lt_, lo, hi), rw_.binary(OpKind::add_, last_, rw_.constant(t, 1)), rw_.constant(t, 0));
}

ValueId LoopValues::step() {
  const ir::Type t = f_.type(first_counter());
  return rw_.constant(t, ir::integer_value(t.element(), *f_.constant_bits(f_.operand(loop_, 2))));
}

ValueId LoopValues::carry(ValueId init) {
  f_.add_operand(loop_, init);
  const ir::Type t = f_.type(init);
  const ValueId arg = f_.add_arg(body(), t), result = f_.add_result(loop_, t);
  for (ValueId v : {arg, result}) f_.set_layout(v, f_.layout_id(init));
  f_.add_operand(f_.terminator(body()), arg);
  return arg;
}

void LoopValues::set_next(ValueId arg, ValueId next) {
  rw_.set_operand(f_.terminator(body()), static_cast<int>(f_.value(arg).number) - 1, next);
}

/// from + iterations * by.
ValueId LoopValues::advanced(ValueId from, ValueId iterations, ValueId by) {
  const ValueId n = rw_.cast(iterations, f_.type(from).element());
  return rw_.binary(OpKind::add_, from, rw_.binary(OpKind::mul_, n, by));
}

ValueId LoopValues::counter_after(ValueId from, std::int64_t iterations) {
  if (iterations == 0) return from;
  const ir::Type t = f_.type(from);
  const std::int64_t s = ir::integer_value(t.element(), *f_.constant_bits(f_.operand(loop_, 2)));
  return rw_.binary(OpKind::add_, from, rw_.constant(t, iterations * s));
}

ValueId LoopValues::exists(int iteration) { return rw_.binary(OpKind::lt_, rw_.constant(f_.type(count_), iteration), count_); }

ValueId LoopValues::end_of(int distance) {
  const ValueId lo = first_counter(), ahead = rw_.constant(f_.type(count_), distance);
  const ValueId end = advanced(lo, rw_.binary(OpKind::sub_, count_, ahead), step());
  return rw_.select(rw_.binary(OpKind::lt_, ahead, count_), end, lo);
}

}  // namespace tilewright::passes
