// Reductions, by the steps of tileir/layout/reduce_steps.h: across_registers, across_lanes by shuffles (or reduce_warp, one instruction for
// a whole warp), across_warps through shared memory.
#include "backend/nvptx/reduce.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <bit>
#include <optional>

#include "backend/nvptx/shared_tile.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

using ir::ReduceStep;

namespace {

/// The kind of the only op of a region, applied to its two arguments; none if the region has other ops.
std::optional<OpKind> only_op(const Function& f, OpId id) {
  const BlockId region = f.region(id);
  const auto& args = f.block(region).args;
  const OpId op = f.value(f.operand(f.terminator(region), 0)).op;
  if (args.size() != 2 || !op || f.op(op).parent != region || f.block(region).first != op) return std::nullopt;
  const auto& x = f.op(op).operands;
  if (x.size() != 2 || !((x[0] == args[0] && x[1] == args[1]) || (x[0] == args[1] && x[1] == args[0]))) return std::nullopt;
  return f.kind(op);
}

/// redux.sync of 32-bit integers (sm_80 and up); narrower ones are extended.
llvm::Intrinsic::ID whole_warp_instruction(OpKind k, Type t) {
  if (!(t.is_integer() || t.is_bool()) || t.element_bits() > 32) return llvm::Intrinsic::not_intrinsic;
  const bool is_signed = ir::is_signed(t.element());
  switch (k) {
    case OpKind::add_: return llvm::Intrinsic::nvvm_redux_sync_add;
    case OpKind::maximum_: return is_signed ? llvm::Intrinsic::nvvm_redux_sync_max : llvm::Intrinsic::nvvm_redux_sync_umax;
    case OpKind::minimum_: return is_signed ? llvm::Intrinsic::nvvm_redux_sync_min : llvm::Intrinsic::nvvm_redux_sync_umin;
    case OpKind::bit_and_: return llvm::Intrinsic::nvvm_redux_sync_and;
    case OpKind::bit_or_: return llvm::Intrinsic::nvvm_redux_sync_or;
    case OpKind::bit_xor_: return llvm::Intrinsic::nvvm_redux_sync_xor;
    default: return llvm::Intrinsic::not_intrinsic;
  }
}

/// Emits one reduce. One register represents all registers that were combined, and holds their result.
class Reducer {
 public:
  Reducer(Emitter& e, OpId id)
      : e_(e),
        b_(e.b()),
        id_(id),
        commutative_(e.f().attr(id, ir::AttrName::commutative) != 0),
        axis_(static_cast<int>(e.f().attr(id, ir::AttrName::axis))),
        layout_(e.layout(e.f().operand(id, 0)).without_free_registers()),
        plan_(e.plans().reduce(id)),
        shared_(e.scratch_offset(id)) {
    for (ValueId x : e.f().op(id).operands) {
      values_.push_back(select_registers(e.registers(x), e.layout(x), layout_));
      types_.push_back(e.f().type(x).scalar());
    }
  }

  void run() {
    auto exchange = plan_.exchanges.begin();
    for (std::size_t i = 0; i < plan_.steps.size();) {
      const ReduceStep& step = plan_.steps[i];
      if (step.crosses_warps()) {
        across_warps(*exchange);
        i += exchange++->count;
      } else if (step.lane == 0) {
        across_registers(step);
        ++i;
      } else if (const auto instruction = whole_warp(i)) {
        for (std::uint32_t r : representatives()) values_[0][r] = reduce_warp(instruction, values_[0][r]);
        i += ir::TargetDesc::kLog2WarpLanes;
      } else {
        across_lanes(step);
        ++i;
      }
    }
    set_results();
  }

 private:
  std::uint32_t representative(std::uint32_t r) const { return combined_.reduce(r).value; }
  std::vector<std::uint32_t> representatives() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t r = 0; r < values_[0].size(); ++r)
      if (representative(r) == r) out.push_back(r);
    return out;
  }
  std::uint32_t along(std::uint32_t flat) const { return (flat & layout_.axis_mask(axis_)) >> layout_.axis_shift(axis_); }
  std::vector<Value*> held(std::uint32_t r) const {
    std::vector<Value*> out;
    for (const Registers& v : values_) out.push_back(v[r]);
    return out;
  }
  void hold(std::uint32_t r, const std::vector<Value*>& v) {
    for (std::size_t j = 0; j < v.size(); ++j) values_[j][r] = v[j];
  }

  /// Whether the element in register r is the later operand of a step; null: never. For a commutative region this does not matter.
  Value* is_later(const ReduceStep& step, std::uint32_t r) {
    if (commutative_) return nullptr;
    std::uint32_t mask = 0;
    int bit = 0;
    for (const HardwareDim d : {HardwareDim::lane, HardwareDim::warp})
      for (const std::uint32_t basis : layout_.bases(d))
        mask |= static_cast<std::uint32_t>(std::popcount(along(basis) & step.later) & 1) << bit++;
    const bool constant = (std::popcount(along(layout_.apply(HardwareDim::reg, r)) & step.later) & 1) != 0;
    if (mask == 0) return constant ? b_.getTrue() : nullptr;
    Value* parity = e_.parity_of_thread(mask);
    return constant ? b_.CreateNot(parity) : parity;
  }

  std::vector<Value*> combined(const ReduceStep& step, std::uint32_t r, const std::vector<Value*>& own, const std::vector<Value*>& other) {
    Value* later = is_later(step, r);
    if (!later) return e_.combine(id_, own, other);
    std::vector<Value*> first, second;
    for (std::size_t j = 0; j < own.size(); ++j) {
      first.push_back(b_.CreateSelect(later, other[j], own[j]));
      second.push_back(b_.CreateSelect(later, own[j], other[j]));
    }
    return e_.combine(id_, first, second);
  }

  void across_registers(const ReduceStep& step) {
    const std::vector<std::uint32_t> before = representatives();
    const std::uint32_t distance = representative(step.reg);
    combined_.insert(step.reg);
    for (std::uint32_t r : before)
      if (representative(r) == r) hold(r, combined(step, r, held(r), held(r ^ distance)));
  }

  void across_lanes(const ReduceStep& step) {
    std::vector<std::vector<Value*>> others;
    const std::vector<std::uint32_t> all = representatives();
    for (std::uint32_t r : all) {
      std::vector<Value*>& other = others.emplace_back();
      for (const Registers& v : values_) other.push_back(e_.shuffle(Shuffle::bfly, v[representative(r ^ step.reg)], e_.i32(step.lane)));
    }
    for (std::size_t i = 0; i < all.size(); ++i) hold(all[i], combined(step, all[i], held(all[i]), others[i]));
  }

  /// The instruction for steps i and later, if they combine all lanes of a warp for each register; none if there is no such instruction.
  llvm::Intrinsic::ID whole_warp(std::size_t i) const {
    const auto op = only_op(e_.f(), id_);
    if (e_.target().sm < 80 || !op || i + ir::TargetDesc::kLog2WarpLanes > plan_.steps.size()) return llvm::Intrinsic::not_intrinsic;
    ir::F2Span lanes;
    for (std::size_t k = i; k < i + ir::TargetDesc::kLog2WarpLanes; ++k) {
      const ReduceStep& step = plan_.steps[k];
      if (step.reg != 0 || step.warp != 0 || !lanes.insert(step.lane)) return llvm::Intrinsic::not_intrinsic;
    }
    return whole_warp_instruction(*op, types_[0]);
  }

  Value* reduce_warp(llvm::Intrinsic::ID instruction, Value* v) {
    const bool is_signed = ir::is_signed(types_[0].element());
    Value* word = is_signed ? b_.CreateSExt(v, b_.getInt32Ty()) : b_.CreateZExt(v, b_.getInt32Ty());
    return b_.CreateTrunc(b_.CreateIntrinsic(instruction, {}, {word, b_.getInt32(UINT32_MAX)}), v->getType());
  }

  void across_warps(const passes::ReduceExchange& x) {
    std::vector<ir::SharedPlan> swizzles;
    const std::int64_t begin = shared_;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      swizzles.push_back(ir::plan_swizzle(x.partials, x.wanted, types_[j].element_bytes()));
      Registers partials;
      for (std::uint32_t r = 0; r < 1u << x.register_bits.size(); ++r) partials.push_back(values_[j][spread(r, x.register_bits)]);
      store_tile_to_shared(e_, types_[j], partials, x.partials, swizzles[j], shared_, e_.redundant_thread_predicate(x.partials));
      shared_ += passes::exchange_bytes(x, types_[j]);
    }
    e_.barrier();
    std::vector<Registers> read;
    std::int64_t at = begin;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      read.push_back(load_tile_from_shared(e_, types_[j], x.wanted, swizzles[j], at));
      at += passes::exchange_bytes(x, types_[j]);
    }
    const std::uint32_t parts = 1u << x.count;
    for (std::uint32_t r = 0; r < 1u << x.register_bits.size(); ++r) {
      std::vector<std::vector<Value*>> partials(parts);
      for (std::uint32_t y = 0; y < parts; ++y)
        for (const Registers& v : read) partials[y].push_back(v[r << x.count | y]);
      // The bits of y: for each step, on which side a partial result is; 0 is the earlier side.
      std::uint32_t done = 0;
      for (const int bit : x.bits) {
        const std::uint32_t other = 1u << bit;
        for (std::uint32_t y = 0; y < parts; ++y)
          if ((y & (done | other)) == 0) partials[y] = e_.combine(id_, partials[y], partials[y | other]);
        done |= other;
      }
      hold(spread(r, x.register_bits), partials[0]);
    }
  }

  static std::uint32_t spread(std::uint32_t r, const std::vector<int>& bits) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) out |= (r >> i & 1) << bits[i];
    return out;
  }

  void set_results() {
    const LinearLayout left = layout_.without_axis(axis_);
    const std::vector<std::uint32_t> all = representatives();
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const ValueId y = e_.f().result(id_, static_cast<int>(j));
      if (e_.f().type(y).is_scalar()) {
        e_.set(y, {values_[j][0]});
        continue;
      }
      const LinearLayout& to = e_.layout(y);
      std::map<std::uint32_t, Value*> by_flat_index;
      for (std::uint32_t r : all) by_flat_index.emplace(left.apply(HardwareDim::reg, r), values_[j][r]);
      Registers out;
      for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
        const auto found = by_flat_index.find(to.apply(HardwareDim::reg, r));
        TW_CHECK(found != by_flat_index.end(), "the layouts of a reduce's operand and results do not agree");
        out.push_back(found->second);
      }
      e_.set(y, std::move(out));
    }
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const bool commutative_;
  const int axis_;
  const LinearLayout layout_;
  const passes::ReducePlan& plan_;
  std::int64_t shared_;
  std::vector<Registers> values_;  // indexed by operand
  std::vector<Type> types_;
  ir::F2Span combined_;
};

}  // namespace

void emit_reduce(Emitter& e, OpId id) { Reducer(e, id).run(); }

}  // namespace tilewright::backend::nvptx
