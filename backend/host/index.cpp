// Emits gather and histogram.
#include <optional>

#include "backend/host/nest.h"
#include "backend/host/rows_ahead.h"
#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// Fetches the elements that the next iteration of a loop will load, while those of this one are counted: the processor, which foresees
/// nothing while it does not load, would wait for memory then.
class NextElements {
 public:
  NextElements(Emitter& e, OpId histogram) : e_(e), step_(along_vector()), nest_(e, step_) {
    const Function& f = e.f();
    const ValueId x = e.plan().resolve(f.operand(histogram, 0)).value;
    const OpId load = f.value(x).op;
    if (e.check() || !load || f.kind(load) != ir::OpKind::load_ || f.type(x).rank() != 1) return;
    const ValueId pointer = f.operand(load, 0);
    if (e.axes()(pointer).contiguity[0] < f.type(x).extent(0) || !continues_down(f, e.plan(), e.axes(), load)) return;
    pointer_ = pointer;
    nest_.enter(0);
    llvm::BasicBlock* const block = e.new_block("ahead");
    e.b().CreateBr(block);
    e.b().SetInsertPoint(block);
  }

  /// Fetches those that follow element i of the next iteration, so many bytes of them.
  void fetch(Value* i, std::int64_t bytes) {
    if (!pointer_) return;
    constexpr std::int64_t kLineBytes = 64;
    llvm::IRBuilder<>& b = e_.b();
    const Type t = e_.f().type(*pointer_);
    nest_.begin_lanes();
    nest_.set_index(0, b.CreateAdd(i, e_.i64(t.extent(0)), "", true, true));
    Value* const first = b.CreateIntToPtr(nest_.evaluate(*pointer_, {0, -1, -1, -1, -1}, false), b.getPtrTy());
    for (std::int64_t at = 0; at < bytes; at += kLineBytes) {
      Value* const line = b.CreateConstGEP1_64(b.getInt8Ty(), first, static_cast<std::uint64_t>(at));
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b.getInt32(0), b.getInt32(2), b.getInt32(1)});
    }
  }

 private:
  static Step along_vector() {
    Step step;
    step.extents = {1};
    return step;
  }

  Emitter& e_;
  const Step step_;
  Nest nest_;
  std::optional<ValueId> pointer_;
};

}  // namespace

void emit_gather(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const Type x = f.type(f.operand(id, 0));
  const Type index = f.type(f.operand(id, 1));
  const auto axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  const std::int64_t extent = x.extent(axis);
  const std::int64_t picked = index.extent(axis);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  Value* from = e.operand_buffer(id, 0);
  Value* indices = e.operand_buffer(id, 1);
  Value* to = e.buffer_of(f.result(id));
  // The row-major offset of [outer, at, i] in a shape [..., along, inner].
  const auto offset = [&](Value* outer, std::int64_t along, Value* at, Value* i) {
    Value* row = b.CreateAdd(b.CreateMul(outer, e.i64(along), "", true, true), at, "", true, true);
    return b.CreateAdd(b.CreateMul(row, e.i64(inner), "", true, true), i, "", true, true);
  };
  e.loop(x.elements() / (extent * inner), 1, [&](Value* outer) {
    e.loop(picked, 1, [&](Value* k) {
      e.loop(inner, 1, [&](Value* i) {
        Value* result = offset(outer, picked, k, i);
        Value* at = b.CreateIntCast(e.read_lanes(indices, index, result, 1), b.getInt64Ty(), ir::is_signed(index.element()));
        // Modulo the extent, so that a wrong index reads a wrong element of the buffer but no other memory.
        e.move_block(x, 1, to, result, from, offset(outer, extent, b.CreateAnd(at, e.i64(extent - 1)), i));
      });
    });
  });
}

void emit_histogram(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const ValueId x = f.operand(id, 0);
  const bool masked = f.op(id).operands.size() > 1;
  const Type t = f.type(x);
  const Type bins = f.type(f.result(id));
  const Type slot_type(ir::Element::i32);
  // A table has one slot more than bins, for elements that are not counted: so no branch and no masked addition is needed. Consecutive
  // elements are counted in different tables if these are small and adding them up is cheap enough: equal elements in one table would
  // wait for each other's stores.
  constexpr std::int64_t kMostBytes = 16 << 10;               // a third of a first-level cache
  const std::int64_t size = (bins.elements() / 16 + 1) * 16;  // whole vectors
  const bool is_spread = t.elements() >= 4 * bins.elements() && 4 * size * bins.element_bytes() <= kMostBytes;
  const std::int64_t tables = is_spread ? 4 : 1;
  const std::int64_t bytes = tables * size * bins.element_bytes();
  constexpr std::int64_t kTogether = 1024;  // slots are computed vector by vector, and then read one by one
  const std::int64_t together = std::min(t.elements(), kTogether);
  // Vectors of two are not used: if a slot is loaded as i32 from a stored <2 x i32> and extended, LLVM 19 takes both elements.
  const auto vector = together < 4 ? 1u : static_cast<unsigned>(std::min<std::int64_t>(e.target().lanes(), together));
  const Emitter::ScratchRange scratch = e.allocate_scratch(bytes), slots = e.allocate_scratch(together * slot_type.element_bytes());
  Value* counts = scratch.address;
  b.CreateMemSet(counts, b.getInt8(0), static_cast<std::uint64_t>(bytes), llvm::Align(64));
  const auto values = [&](int operand, Value* i) {
    const ValueId v = f.operand(id, operand);
    return f.type(v).is_scalar() ? e.scalar(v) : e.read_lanes(e.operand_buffer(id, operand), f.type(v), i, vector);
  };
  NextElements next(e, id);
  e.loop(t.elements(), together, [&](Value* first) {
    e.loop(together, vector, [&](Value* at) {
      Value* i = b.CreateAdd(first, at, "", true, true);
      Value* v = values(0, i);
      if (ir::bits(t.element()) < 32) v = b.CreateIntCast(v, with_lanes_of(b.getInt32Ty(), v), ir::is_signed(t.element()));
      // Read as unsigned numbers, negative values are beyond all bins.
      Value* beyond = llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(bins.elements()));
      v = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v, beyond);
      if (masked) v = b.CreateSelect(values(1, i), v, beyond);
      e.write_lanes(slots.address, slot_type, at, b.CreateTrunc(v, with_lanes_of(b.getInt32Ty(), v)));
    });
    e.loop(together, vector, [&](Value* at) {
      next.fetch(b.CreateAdd(first, at, "", true, true), vector * t.element_bytes());
      for (unsigned i = 0; i < vector; ++i) {
        Value* bin = e.read_lanes(slots.address, slot_type, b.CreateAdd(at, e.i64(i), "", true, true), 1);
        Value* slot = b.CreateAdd(b.CreateZExt(bin, b.getInt64Ty()), e.i64(i % tables * size), "", true, true);
        e.write_lanes(counts, bins, slot, b.CreateAdd(e.read_lanes(counts, bins, slot, 1), b.getInt32(1)));
      }
    });
  });
  e.free_scratch(slots);
  Value* to = e.buffer_of(f.result(id));
  const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(e.target().lanes(), bins.elements()));
  e.loop(bins.elements(), lanes, [&](Value* bin) {
    Value* sum = e.read_lanes(counts, bins, bin, lanes);
    for (std::int64_t table = 1; table < tables; ++table)
      sum = b.CreateAdd(sum, e.read_lanes(counts, bins, b.CreateAdd(bin, e.i64(table * size), "", true, true), lanes));
    e.write_lanes(to, bins, bin, sum);
  });
  e.free_scratch(scratch);
}

}  // namespace tilewright::backend::host
