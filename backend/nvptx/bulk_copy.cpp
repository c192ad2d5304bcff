// Emits bulk tensor copies and stores (PTX ISA 9.0, section 9.7.9.27), which one thread of the first warp starts: the one that elect.sync
// chooses, since ptxas knows then that one lane alone is active, so that operands in uniform registers need no loop over lanes.
#include "backend/nvptx/bulk_copy.h"

#include <fmt/format.h>

#include "backend/nvptx/ptx_asm.h"
#include "tileir/bulk_copy_rules.h"
#include "tileir/layout/canonical_buffer.h"
#include "tilewright/error.h"

namespace tilewright::backend::nvptx {

namespace {

using ir::CopyBoxes;

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

/// The boxes of a copy: one, if an axis of the map counts slabs.
CopyBoxes boxes_of(const Emitter& e, ValueId map, ValueId buffer) {
  auto boxes = std::get<CopyBoxes>(ir::copy_boxes(e.layout(buffer), e.f().type(buffer).element_bytes()));
  if (ir::slabs_of_copy(e.f().type(map), e.f().type(buffer)) > 1) boxes.boxes.resize(1);
  return boxes;
}

/// Adds the coordinates of a box to the inputs of an instruction; returns their names, the last axis first.
std::string add_coordinates(Emitter& e, std::span<const ValueId> coordinates, const CopyBoxes::Box& box, std::vector<Value*>& inputs) {
  const std::size_t further = coordinates.size() - box.first.size();
  std::string names;
  for (std::size_t axis = coordinates.size(); axis-- > 0;) {
    const int first = axis < further ? 0 : box.first[axis - further];
    names += fmt::format("{}${}", names.empty() ? "" : ", ", inputs.size());
    Value* at = e.scalar(coordinates[axis]);
    inputs.push_back(first == 0 ? at : e.b().CreateAdd(at, e.i32(first)));
  }
  return names;
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
  const auto& operands = e.f().op(id).operands;
  const CopyBoxes boxes = boxes_of(e, operands[0], operands[1]);
  const std::span<const ValueId> coordinates = std::span(operands).subspan(4);
  by_one_thread(e, operands[3], [&](Value* elected) {
    for (const CopyBoxes::Box& box : boxes.boxes) {
      std::vector<Value*> inputs{e.scalar(operands[1]), e.scalar(operands[0]), e.scalar(operands[2]), elected};
      const std::string at = add_coordinates(e, coordinates, box, inputs);
      inline_ptx(e.b(),
                 fmt::format(
                     "@$3 cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0 + {}], [$1, {{{}}}], [$2];",
                     coordinates.size(), box.offset, at),
                 std::span<llvm::Type* const>(), inputs, kMemory);
    }
  });
}

void emit_bulk_store(Emitter& e, OpId id) {
  const Function& f = e.f();
  if (e.target().sm < kLeastCapability)
    throw Error(f.where(id), fmt::format("bulk_store: bulk copies exist from sm_90 on; the target is {}", e.target().name));
  const auto& operands = f.op(id).operands;
  const CopyBoxes boxes = boxes_of(e, operands[0], operands[1]);
  const std::span<const ValueId> coordinates = std::span(operands).subspan(2);
  const std::int64_t reduction = f.attr(id, ir::AttrName::reduction);
  const std::string name = reduction == 0 ? fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta", coordinates.size())
                                          : fmt::format("cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}", coordinates.size(),
                                                        ir::symbols(ir::AttrName::reduction)[static_cast<std::size_t>(reduction)]);
  by_one_thread(e, {}, [&](Value* elected) {
    for (const CopyBoxes::Box& box : boxes.boxes) {
      std::vector<Value*> inputs{e.scalar(operands[1]), e.scalar(operands[0]), elected};
      const std::string at = add_coordinates(e, coordinates, box, inputs);
      inline_ptx(e.b(), fmt::format("@$2 {}.tile.bulk_group [$1, {{{}}}], [$0 + {}];", name, at, box.offset),
                 std::span<llvm::Type* const>(), inputs, kMemory);
    }
  });
}

// Groups are those of one thread, the one that starts bulk stores: elect.sync chooses the same one each time.

void emit_bulk_commit(Emitter& e, OpId) {
  by_one_thread(e, {}, [&](Value* elected) { inline_ptx(e.b(), "@$0 cp.async.bulk.commit_group;", {elected}, kMemory); });
}

void emit_bulk_wait(Emitter& e, OpId id) {
  const Function& f = e.f();
  const char* reads = f.attr(id, ir::AttrName::read) != 0 ? ".read" : "";
  by_one_thread(e, {}, [&](Value* elected) {
    inline_ptx(e.b(), fmt::format("@$0 cp.async.bulk.wait_group{} {};", reads, f.attr(id, ir::AttrName::pending)), {elected}, kMemory);
  });
}

}  // namespace tilewright::backend::nvptx
