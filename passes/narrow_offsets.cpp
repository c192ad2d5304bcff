// Narrows offsets of pointers from 64 to 32 bits, which cost half or less, if the ranges of all intermediate results fit.
//
//   add_ptr(p, cast<i64>(a) * c + cast<i64>(b))   ->   add_ptr(p, a * c + b)     if the ranges of the product and of the sum fit i32
//
// Input, output: any IR. Only integers change, and their values stay the same. See tests/files/passes/narrow_offsets/.
#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr Range kNarrow{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};

class Narrower {
 public:
  explicit Narrower(Function& f) : rw_(f), f_(f), axes_(f) {}

  bool run(const std::vector<OpId>& pointers) {
    std::vector<ValueId> replaced;
    for (OpId id : pointers) {
      const ValueId offset = f_.operand(id, 1);
      if (answer_of(offset) != Answer::profitable || has_wide_user(offset)) continue;
      rw_.set_operand(id, 1, narrow(offset));
      replaced.push_back(offset);
    }
    for (ValueId v : replaced) rw_.erase_unused(v);
    return rw_.changed();
  }

 private:
  enum class Answer { impossible, possible, profitable };

  /// Whether the value can be computed in 32 bits, and whether this narrows any arithmetic.
  Answer answer_of(ValueId v) {
    if (const auto known = answers_.find(v.index); known != answers_.end()) return known->second;
    return answers_[v.index] = compute_answer(v);
  }
  Answer compute_answer(ValueId v) {
    if (!kNarrow.contains(axes_.range(v))) return Answer::impossible;
    if (f_.constant_bits(v)) return Answer::possible;
    const OpId id = f_.value(v).op;
    if (!id) return Answer::impossible;
    switch (f_.kind(id)) {
      case OpKind::cast_: {
        const Type from = f_.type(f_.operand(id, 0));
        return from.is_integer() && ir::bits(from.element()) <= 32 ? Answer::possible : Answer::impossible;
      }
      case OpKind::add_:
      case OpKind::sub_:
      case OpKind::mul_:
      case OpKind::minimum_:
      case OpKind::maximum_:
        return answer_of(f_.operand(id, 0)) != Answer::impossible && answer_of(f_.operand(id, 1)) != Answer::impossible
                   ? Answer::profitable
                   : Answer::impossible;
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_: return answer_of(f_.operand(id, 0));
      default: return Answer::impossible;
    }
  }

  /// Whether an op other than add_ptr uses the 64-bit value, so that both would be computed.
  bool has_wide_user(ValueId v) const {
    const auto& users = f_.value(v).users;
    return std::any_of(users.begin(), users.end(), [&](OpId user) { return f_.kind(user) != OpKind::add_ptr_; });
  }

  ValueId narrow(ValueId v) {
    if (const auto known = narrow_.find(v.index); known != narrow_.end()) return known->second;
    const OpId id = f_.value(v).op;
    const Type to = f_.type(v).with_element(Element::i32);
    std::vector<ValueId> operands = f_.op(id).operands;
    if (const auto bits = f_.constant_bits(v)) {
      rw_.at(id);
      return narrow_[v.index] = rw_.constant(to, ir::integer_value(Element::i64, *bits));
    }
    if (f_.kind(id) == OpKind::cast_) {
      rw_.at(id);
      return narrow_[v.index] = rw_.cast(operands[0], Element::i32);
    }
    for (ValueId& x : operands) x = narrow(x);
    rw_.at(id);
    return narrow_[v.index] = f_.result(rw_.create(f_.kind(id), operands, f_.op(id).attrs, std::span(&to, 1)));
  }

  Rewriter rw_;
  Function& f_;
  AxisInfoAnalysis axes_;  // of the values of the input: only these are queried
  std::map<std::uint32_t, Answer> answers_;
  std::map<std::uint32_t, ValueId> narrow_;
};

}  // namespace

bool narrow_offsets(Function& f, const PassContext&) {
  std::vector<OpId> pointers;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::add_ptr_ && f.type(f.operand(id, 1)).element() == Element::i64) pointers.push_back(id);
  });
  return !pointers.empty() && Narrower(f).run(pointers);
}

}  // namespace tilewright::passes
