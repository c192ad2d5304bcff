// Multiplies the bytes of each load and store by the programs and by the iterations of the loops that execute it.
#include "backend/host/launch_bytes.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// What the addresses of an access depend on. Those of x + program_id(0) * columns + k + arange, where k is the index of a loop, depend on
/// the base x, axis 0 of the grid and the loop.
class Dependences {
 public:
  Dependences(const Function& f, ValueId pointer) : f_(f) { visit(pointer); }

  /// Whether other values of what the addresses depend on give other addresses, as far as can be told: the addresses are sums of products.
  bool are_sums() const { return are_sums_ && base_.valid(); }
  ValueId base() const { return base_; }  // a parameter
  bool has_axis(std::size_t axis) const { return axes_.contains(static_cast<std::int64_t>(axis)); }
  bool has_loop(OpId loop) const { return loops_.contains(loop.index); }

 private:
  void visit(ValueId v) {
    if (!visited_.insert(v.index).second) return;
    if (const OpId id = f_.value(v).op)
      visit_op(id);
    else
      visit_argument(v);
  }

  void visit_op(OpId id) {
    switch (f_.kind(id)) {
      case OpKind::program_id_: axes_.insert(f_.attr(id, ir::AttrName::axis)); return;
      case OpKind::constant_:
      case OpKind::arange_: return;
      case OpKind::add_ptr_:
      case OpKind::add_:
      case OpKind::sub_:
      case OpKind::mul_:
      case OpKind::cast_:
      case OpKind::bitcast_:
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_:
        for (ValueId x : f_.op(id).operands) visit(x);
        return;
      default: are_sums_ = false;
    }
  }

  void visit_argument(ValueId v) {
    const ir::ValueData& argument = f_.value(v);
    if (argument.block == f_.body()) {
      if (!f_.type(v).is_pointer()) return;
      are_sums_ = are_sums_ && !base_.valid();
      base_ = v;
      return;
    }
    const OpId loop = f_.block(argument.block).parent;
    if (f_.kind(loop) != OpKind::for_) {
      are_sums_ = false;
      return;
    }
    loops_.insert(loop.index);
    // The index begins at operand 0; the carried value `number` begins at the operand behind the three bounds.
    visit(f_.operand(loop, argument.number == 0 ? 0 : static_cast<int>(argument.number) + 2));
  }

  const Function& f_;
  ValueId base_;
  bool are_sums_ = true;
  std::unordered_set<std::int64_t> axes_;
  std::unordered_set<std::uint32_t> loops_, visited_;
};

class LaunchBytes {
 public:
  explicit LaunchBytes(Emitter& e) : e_(e), b_(e.b()), f_(e.f()) {}

  Value* emit() {
    Value* stored = nullptr;
    std::unordered_set<std::uint32_t> written;  // parameters
    f_.walk([&](OpId id) {
      if (f_.kind(id) != OpKind::store_ || f_.type(f_.operand(id, 1)).is_scalar()) return;
      Value* bytes = bytes_of(id, f_.type(f_.operand(id, 1)), nullptr);
      stored = stored ? b_.CreateAdd(stored, bytes) : bytes;
      written.insert(Dependences(f_, f_.operand(id, 0)).base().index);
    });
    if (!stored) return nullptr;
    // Several loads of a parameter read the same memory, as the passes over a row do.
    std::map<std::uint32_t, Value*> loaded;
    f_.walk([&](OpId id) {
      if (f_.kind(id) != OpKind::load_ || f_.type(f_.result(id)).is_scalar()) return;
      const Dependences d(f_, f_.operand(id, 0));
      if (!d.are_sums() || written.contains(d.base().index)) return;
      Value* bytes = bytes_of(id, f_.type(f_.result(id)), &d);
      Value*& most = loaded[d.base().index];
      most = most ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, most, bytes) : bytes;
    });
    Value* read = e_.i64(0);
    for (const auto& [base, bytes] : loaded) read = b_.CreateAdd(read, bytes);
    return b_.CreateAdd(stored, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, stored, read));
  }

 private:
  /// The bytes of an access by all programs, or by those that differ in what the addresses depend on.
  Value* bytes_of(OpId id, Type t, const Dependences* of) {
    Value* bytes = e_.i64(t.elements() * t.element_bytes());
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!of || of->has_axis(axis)) bytes = b_.CreateMul(bytes, b_.CreateZExt(e_.grid_extent(axis), b_.getInt64Ty()));
    for (OpId outer = parent(id); outer; outer = parent(outer))
      if (f_.kind(outer) == OpKind::for_ && (!of || of->has_loop(outer)))
        if (Value* trips = trips_of(outer)) bytes = b_.CreateMul(bytes, trips);
    return bytes;
  }
  OpId parent(OpId id) const { return f_.block(f_.op(id).parent).parent; }

  /// The iterations of a loop, i64; null if the launch does not determine them.
  Value* trips_of(OpId loop) {
    Value *const step = number_of(f_.operand(loop, 2)), *distance = distance_of(f_.operand(loop, 0), f_.operand(loop, 1));
    const auto* by = llvm::dyn_cast_or_null<llvm::ConstantInt>(step);
    if (!distance || !by || by->getSExtValue() <= 0) return nullptr;
    distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, e_.i64(0));
    return b_.CreateUDiv(b_.CreateAdd(distance, e_.i64(by->getSExtValue() - 1)), step);
  }

  /// The distance between two bounds: of numbers of the launch, or of `lo` and lo + n, as in the part of a program, which may also end at a
  /// limit.
  Value* distance_of(ValueId lo, ValueId hi) {
    if (Value *const from = number_of(lo), *const to = number_of(hi); from && to) return b_.CreateSub(to, from);
    if (const OpId least = f_.defined_by(hi, OpKind::minimum_)) {
      Value* const first = distance_of(lo, f_.operand(least, 0));
      return first ? first : distance_of(lo, f_.operand(least, 1));
    }
    const OpId sum = f_.defined_by(hi, OpKind::add_);
    for (int i = 0; sum && i < 2; ++i)
      if (f_.operand(sum, i) == lo) return number_of(f_.operand(sum, 1 - i));
    return nullptr;
  }

  /// A constant or a parameter, which may be cast, or the least or greatest of such numbers, as i64; else null. A limit that is not a
  /// number of the launch does not count: of two loops into which one was divided (passes/split_masked_loops.cpp), the first has all
  /// iterations.
  Value* number_of(ValueId v) {
    if (const auto bits = f_.constant_bits(v)) return e_.i64(ir::integer_value(f_.type(v).element(), *bits));
    const OpId id = f_.value(v).op;
    if (id && f_.type(v).is_integer() && (f_.kind(id) == OpKind::minimum_ || f_.kind(id) == OpKind::maximum_)) {
      Value *x = number_of(f_.operand(id, 0)), *y = number_of(f_.operand(id, 1));
      const auto kind = f_.kind(id) == OpKind::minimum_ ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
      return x && y ? b_.CreateBinaryIntrinsic(kind, x, y) : x ? x : y;
    }
    if (const OpId cast = f_.defined_by(v, OpKind::cast_)) return f_.type(v).is_integer() ? number_of(f_.operand(cast, 0)) : nullptr;
    if (f_.value(v).op || f_.value(v).block != f_.body() || !f_.type(v).is_integer()) return nullptr;
    return b_.CreateIntCast(e_.scalar(v), b_.getInt64Ty(), ir::is_signed(f_.type(v).element()));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Function& f_;
};

}  // namespace

Value* emit_launch_bytes(Emitter& e) { return LaunchBytes(e).emit(); }

}  // namespace tilewright::backend::host
