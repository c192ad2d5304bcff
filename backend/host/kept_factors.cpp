// Follows the operands of factors to scalars, parameters and loads.
#include "backend/host/kept_factors.h"

#include <algorithm>

#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;

namespace {

class Inputs {
 public:
  Inputs(const Function& f, OpId loop) : f_(f), loop_(loop), body_(f.region(loop)) {}

  std::optional<RightInputs> run(const Contraction& contraction) {
    if (!find_stores()) return std::nullopt;
    for (const ContractedDot& each : contraction.dots) {
      if (!follow(f_.operand(each.dot, 1))) return std::nullopt;
      // The memory of a left factor that is read in place is in no buffer.
      if (!each.left.load) follow_body(f_.operand(each.dot, 0));
    }
    return std::move(out_);
  }

 private:
  /// Finds the memory that stores write. Returns false if there are other effects on memory, by which programs may wait for each other.
  bool find_stores() {
    bool is_known = true;
    f_.walk([&](OpId id) {
      const ir::OpInfo& info = ir::info(f_.kind(id));
      const bool is_access = f_.kind(id) == OpKind::load_ || f_.kind(id) == OpKind::store_;
      if (!is_access && !info.has(ir::kReads) && !info.has(ir::kWrites)) return;
      if (!is_access || f_.attr(id, ir::AttrName::is_volatile)) is_known = false;
      if (f_.kind(id) != OpKind::store_) return;
      const ValueId base = parameter_of(f_.operand(id, 0));
      if (!base) is_known = false;
      written_.insert(base);
    });
    return is_known;
  }

  /// The parameter that a pointer is computed from; none if it is computed in another way.
  ValueId parameter_of(ValueId pointer) const {
    while (true) {
      const OpId id = f_.value(pointer).op;
      if (!id) return f_.value(pointer).block == f_.body() ? pointer : ValueId{};
      switch (f_.kind(id)) {
        case OpKind::add_ptr_:
        case OpKind::broadcast_:
        case OpKind::reshape_:
        case OpKind::permute_:
        case OpKind::multiple_of_:
        case OpKind::max_contiguous_: pointer = f_.operand(id, 0); break;
        default: return {};
      }
    }
  }

  bool is_written(ValueId parameter) const {
    const auto is_disjoint = [&](ValueId v) { return f_.params[f_.value(v).number].disjoint; };
    return std::any_of(written_.begin(), written_.end(),
                       [&](ValueId other) { return other == parameter || (!is_disjoint(parameter) && !is_disjoint(other)); });
  }

  /// Adds what a value is computed from. Returns false if it may change although the key does not.
  bool follow(ValueId v) {
    if (!out_.right.insert(v).second) return true;
    const OpId id = f_.value(v).op;
    const bool is_in_body = f_.defining_block(v) == body_;
    if (!is_in_body && f_.type(v).is_scalar()) {
      const bool is_parameter = !id && f_.value(v).block == f_.body();
      if (is_parameter || (id && f_.kind(id) == OpKind::constant_)) return true;
      if (f_.type(v).is_float()) return false;
      if (std::find(out_.key.begin(), out_.key.end(), v) == out_.key.end()) out_.key.push_back(v);
      return true;
    }
    if (!id) return is_in_body && f_.type(v).is_scalar() && follow_argument(v);
    const auto& op = f_.op(id);
    if (op.kind == OpKind::load_) {
      const ValueId base = parameter_of(op.operands[0]);
      if (!base || is_written(base) || !is_in_body) return false;
    } else if (!ir::info(op.kind).has(ir::kPure) || !op.regions.empty()) {
      return false;
    }
    return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId x) { return follow(x); });
  }

  /// The counter of the loop, or a scalar that it carries.
  bool follow_argument(ValueId v) {
    const auto& operands = f_.op(loop_).operands;
    if (v == f_.arg(body_, 0)) return follow(operands[0]) && follow(operands[2]);
    const std::uint32_t number = f_.value(v).number - 1;
    return follow(operands[3 + number]) && follow(f_.op(f_.terminator(body_)).operands[number]);
  }

  /// Adds the values of the body that a left factor is computed from.
  void follow_body(ValueId v) {
    const OpId id = f_.value(v).op;
    if (f_.defining_block(v) != body_ || !out_.left.insert(v).second || !id) return;
    for (ValueId x : f_.op(id).operands) follow_body(x);
  }

  const Function& f_;
  const OpId loop_;
  const BlockId body_;
  RightInputs out_;
  std::set<ValueId> written_;
};

}  // namespace

bool RightInputs::is_of_right(const Function& f, OpId id) const {
  const auto& results = f.op(id).results;
  return std::any_of(results.begin(), results.end(), [&](ValueId r) { return right.contains(r); });
}

bool RightInputs::is_only_of_right(const Function& f, OpId id) const {
  const auto& results = f.op(id).results;
  return std::all_of(results.begin(), results.end(),
                     [&](ValueId r) { return right.contains(r) && !left.contains(r) && !f.type(r).is_scalar(); });
}

std::optional<RightInputs> inputs_of_right_factors(const Function& f, const Contraction& contraction, OpId loop) {
  return Inputs(f, loop).run(contraction);
}

std::int64_t blocks_to_keep(std::int64_t bytes) {
  constexpr std::int64_t kBytes = 1 << 20;  // bytes of the second cache, or of what is quickly read behind it
  return std::max<std::int64_t>(kBytes / bytes, 1);
}

}  // namespace tilewright::backend::host
