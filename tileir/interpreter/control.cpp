// Interprets control flow, prints, assertions and hints.
#include "tileir/builder.h"
#include "tileir/interpreter/state.h"

namespace tilewright::ir {

void Interpreter::copy(std::span<const ValueId> source, std::span<const ValueId> target) {
  std::vector<Words> moved;
  moved.reserve(source.size());
  for (ValueId v : source) moved.push_back(words(v));
  for (std::size_t i = 0; i < target.size(); ++i) words(target[i]) = std::move(moved[i]);
}

void Interpreter::run_for(OpId id) {
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
void Interpreter::run_if(OpId id) {
  const BlockId taken = f_.region(id, scalar(f_.operand(id, 0)) ? 0 : 1);
  run(taken);
  copy(yielded(taken), f_.op(id).results);
}
void Interpreter::run_while(OpId id) {
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
// A terminator does nothing: the enclosing op reads its operands.
void Interpreter::run_yield(OpId) {}
void Interpreter::run_condition(OpId) {}

// ---- debug, hints, escape ----
void Interpreter::run_device_print(OpId id) {
  if (!options_.report) return;
  Report r{id, id_, {}, -1};
  for (ValueId v : f_.op(id).operands) r.operands.push_back(&values_[v.index]);
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
