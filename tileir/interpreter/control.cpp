// Interprets control flow with an explicit stack of the regions that are executing, so that an agent can stop in any of them; also prints,
// assertions and hints.
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/interpreter/state.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

void Interpreter::copy(std::span<const ValueId> source, std::span<const ValueId> target) {
  std::vector<Words> moved;
  moved.reserve(source.size());
  for (ValueId v : source) moved.push_back(words(v));
  for (std::size_t i = 0; i < target.size(); ++i) words(target[i]) = std::move(moved[i]);
  if (!has_products_) return;
  std::vector<std::uint64_t> products;
  for (ValueId v : source) products.push_back(now_->product_of[v.index]);
  for (std::size_t i = 0; i < target.size(); ++i) now_->product_of[target[i].index] = products[i];
}

void Interpreter::enter(OpId owner, BlockId b) { now_->frames.push_back({owner, b, f_.block(b).first}); }

void Interpreter::begin_iteration(Frame& frame, std::span<const ValueId> carried) {
  const std::span<const ValueId> args = f_.block(frame.block).args;
  copy(carried, args.subspan(1));
  words(args[0]).assign(1, element_bits(type(args[0]).element(), static_cast<std::int64_t>(frame.counter)));
  frame.next = f_.block(frame.block).first;
}

void Interpreter::leave_region() {
  Frame& frame = now_->frames.back();
  const OpId id = frame.owner;
  const auto finish = [&](std::span<const ValueId> results) {
    copy(results, f_.op(id).results);
    now_->frames.pop_back();
  };
  if (!id) return end_agent();
  const std::span<const ValueId> passed_on = yielded(frame.block);
  switch (f_.kind(id)) {
    case OpKind::for_:
      frame.counter += frame.step;
      if (frame.step > 0 ? frame.counter < frame.hi : frame.counter > frame.hi) return begin_iteration(frame, passed_on);
      return finish(passed_on);
    case OpKind::if_: return finish(passed_on);
    case OpKind::while_: {
      const bool is_test = frame.block == f_.region(id, 0);
      if (is_test && !scalar(passed_on[0])) return finish(passed_on.subspan(1));
      frame.block = f_.region(id, is_test ? 1 : 0);
      copy(is_test ? passed_on.subspan(1) : passed_on, f_.block(frame.block).args);
      frame.next = f_.block(frame.block).first;
      return;
    }
    case OpKind::roles_: return end_agent();
    default: TW_UNREACHABLE("a region that no control flow enters");
  }
}

void Interpreter::run_for(OpId id) {
  const std::span<const ValueId> init = std::span(f_.op(id).operands).subspan(3);
  Frame frame{
      id, f_.region(id), {}, scalar_integer(f_.operand(id, 0)), scalar_integer(f_.operand(id, 1)), scalar_integer(f_.operand(id, 2))};
  if (!(frame.step > 0 ? frame.counter < frame.hi : frame.step < 0 && frame.counter > frame.hi)) return copy(init, f_.op(id).results);
  now_->frames.push_back(frame);
  begin_iteration(now_->frames.back(), init);
}
void Interpreter::run_if(OpId id) { enter(id, f_.region(id, scalar(f_.operand(id, 0)) ? 0 : 1)); }
void Interpreter::run_while(OpId id) {
  copy(f_.op(id).operands, f_.block(f_.region(id, 0)).args);
  enter(id, f_.region(id, 0));
}
// A terminator does nothing: the enclosing op reads its operands.
void Interpreter::run_yield(OpId) {}
void Interpreter::run_condition(OpId) {}

// ---- debug, hints, escape ----
void Interpreter::run_device_print(OpId id) {
  if (!options_.report) return;
  Report r{id, id_, {}, -1};
  for (ValueId v : f_.op(id).operands) r.operands.push_back(&now_->values[v.index]);
  options_.report(r);
}
void Interpreter::run_device_assert(OpId id) {
  if (!options_.report) return;
  const auto& operands = f_.op(id).operands;
  const auto& condition = words(operands[0]);
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (!condition[i] && (operands.size() < 2 || words(operands[1])[i])) {
      Report r{id, id_, {}, static_cast<std::int64_t>(i)};
      return options_.report(r);
    }
}
void Interpreter::run_assume(OpId) {}
void Interpreter::run_multiple_of(OpId id) { words(f_.result(id)) = words(f_.operand(id, 0)); }
void Interpreter::run_max_contiguous(OpId id) { words(f_.result(id)) = words(f_.operand(id, 0)); }
void Interpreter::run_inline_ptx(OpId id) {
  if (f_.attr(id, AttrName::has_fallback) == 0)
    throw Error(f_.where(id),
                "inline_ptx: there is no fallback, a last argument that is callable over the tiles; only PTX targets can run it");
  words(f_.result(id)) = words(f_.op(id).operands.back());
}

}  // namespace tilewright::ir
