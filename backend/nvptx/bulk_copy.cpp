// Emits bulk tensor copies (PTX ISA 9.0, section 9.7.9.27), which one thread of the first warp starts: the one that elect.sync chooses, since
// ptxas knows then that one lane alone is active, so that operands in uniform registers need no loop over lanes.
#include "backend/nvptx/bulk_copy.h"

#include <fmt/format.h>

#include "backend/nvptx/ptx_asm.h"
#include "tileir/bulk_copy_rules.h"
#include "tileir/layout/canonical_buffer.h"
#include "tilewright/error.h"

namespace tilewright::backend::nvptx {

namespace {

constexpr int kLeastCapability = 90;

/// Emits code that the first warp executes if the condition holds; `issue` gets the predicate of the elected thread.
template <class Issue>
void by_one_thread(Emitter& e, ValueId condition, Issue&& issue) {
  llvm::IRBuilder<>& b = e.b();
  Value* acts = b.getTrue();
  if (e.warps() > 1) {
    // Equal in all lanes, so that the branch does not make a warp diverge.
    Value* warp = e.shuffle(Shuffle::idx, b.CreateLShr(e.thread(), 5), e.i32(0));
    acts = b.CreateICmpEQ(warp, e.i32(0));
  }
  if (condition) acts = b.CreateAnd(acts, e.scalar(condition));
  llvm::BasicBlock *one = e.new_block("one_thread"), *after = e.new_block("after");
  b.CreateCondBr(acts, one, after);
  b.SetInsertPoint(one);
  issue(inline_ptx(b, "{ .reg .b32 leader; elect.sync leader|$0, 0xffffffff; }", b.getInt1Ty(), {}, kCollective));
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace

void emit_make_tensor_map(Emitter& e, OpId id) {
  if (e.target().sm < kLeastCapability)
    throw Error(e.f().where(id), fmt::format("make_tensor_map: tensor maps exist from sm_90 on; the target is {}", e.target().name));
  llvm::IRBuilder<>& b = e.b();
  Value* address = b.CreatePtrToInt(e.tensor_map(id), b.getInt64Ty());
  inline_ptx(b, "@$1 prefetch.tensormap [$0];", {address, e.is_first_thread()}, kMemory);
  e.set(e.f().result(id), {address});
}

void emit_mbarrier_expect(Emitter& e, OpId id) {
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  if (e.target().sm < kLeastCapability)
    throw Error(f.where(id), fmt::format("mbarrier_expect: bulk copies exist from sm_90 on; the target is {}", e.target().name));
  by_one_thread(e, operands.size() > 1 ? operands[1] : ValueId{}, [&](Value* elected) {
    inline_ptx(e.b(), fmt::format("@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {};", f.attr(id, ir::AttrName::bytes)),
               {e.scalar(operands[0]), elected}, kMemory);
  });
}

void emit_bulk_copy(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& operands = f.op(id).operands;
  const std::size_t rank = operands.size() - 4;
  auto boxes = std::get<ir::CopyBoxes>(ir::copy_boxes(e.layout(operands[1]), f.type(operands[1]).element_bytes()));
  if (ir::slabs_of_copy(f.type(operands[0]), f.type(operands[1])) > 1) boxes.boxes.resize(1);
  const std::size_t further = rank - boxes.extents.size();
  by_one_thread(e, operands[3], [&](Value* elected) {
    for (const ir::CopyBoxes::Box& box : boxes.boxes) {
      std::vector<Value*> inputs{e.scalar(operands[1]), e.scalar(operands[0]), e.scalar(operands[2]), elected};
      std::string coordinates;
      for (std::size_t axis = rank; axis-- > 0;) {
        const int first = axis < further ? 0 : box.first[axis - further];
        coordinates += fmt::format("{}${}", coordinates.empty() ? "" : ", ", inputs.size());
        Value* at = e.scalar(operands[4 + axis]);
        inputs.push_back(first == 0 ? at : b.CreateAdd(at, e.i32(first)));
      }
      inline_ptx(b,
                 fmt::format(
                     "@$3 cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0 + {}], [$1, {{{}}}], [$2];",
                     rank, box.offset, coordinates),
                 std::span<llvm::Type* const>(), inputs, kMemory);
    }
  });
}

}  // namespace tilewright::backend::nvptx
