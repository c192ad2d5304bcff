// Emits branches on the number of the warp, and the instructions on mbarriers (PTX ISA 9.0, section 9.7.13.15).
#include "backend/nvptx/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/nvptx/launch_plan.h"
#include "backend/nvptx/ptx_asm.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/roles.h"
#include "tilewright/error.h"

namespace tilewright::backend::nvptx {

namespace {

constexpr int kLeastCapability = 80;  // mbarriers need 80; try_wait, which suspends the thread, needs 90
constexpr int kTryWaitCapability = 90;

/// The registers that ptxas gives a thread of the kernel at its start: if an SM runs one program, the thread's share of all registers.
int registers_at_start(const ir::TargetDesc& target, int warps) {
  return std::min(target.max_registers, target.registers_per_sm / (32 * warps)) / 8 * 8;
}

/// Emits the warps of a role, from its first warp on: sets their registers, sends surplus warps to the end, and lowers the region.
void emit_one_role(Emitter& e, const ir::Role& role, Value* warp, int start, llvm::BasicBlock* end) {
  llvm::IRBuilder<>& b = e.b();
  if (role.registers != 0 && role.registers != start)
    inline_ptx(b, fmt::format("setmaxnreg.{}.sync.aligned.u32 {};", role.registers > start ? "inc" : "dec", role.registers), {},
               kCollective);
  Value* first = e.i32(role.first_warp);
  Value* instance = e.i32(0);
  const int used = role.warps * role.instances;
  if (used < role.program_warps()) {
    llvm::BasicBlock* works = e.new_block("works");
    b.CreateCondBr(b.CreateICmpULT(warp, e.i32(role.first_warp + used)), works, end);
    b.SetInsertPoint(works);
  }
  Value* thread = role.first_warp == 0 ? e.thread() : b.CreateSub(e.thread(), e.i32(32 * role.first_warp));
  if (role.instances > 1) {
    instance = b.CreateUDiv(b.CreateSub(warp, first), e.i32(role.warps));
    thread = b.CreateSub(thread, b.CreateMul(instance, e.i32(32 * role.warps)));
  }
  const auto [begin, stride] = e.plans().instance_memory(e.f(), role.region);
  e.emit_role(role.region, {.warps = role.warps,
                            .thread = thread,
                            .instance = instance,
                            .barrier = b.CreateAdd(instance, e.i32(role.barrier)),
                            .scratch_begin = begin,
                            .scratch_stride = role.instances > 1 ? stride : 0});
  b.CreateBr(end);
}

}  // namespace

void emit_roles(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const std::vector<ir::Role> roles = ir::roles(e.f(), id);
  if (roles[0].registers != 0 && !e.target().has_wgmma)
    throw Error(e.f().where(id), fmt::format("roles: registers of a role change on sm_90a only; the target is {}", e.target().name));
  // A number that is equal in all lanes, so that branches on it do not make a warp diverge.
  Value* warp = e.shuffle(Shuffle::idx, b.CreateLShr(e.thread(), 5), e.i32(0));
  const int start = registers_at_start(e.target(), ir::program_warps(e.f(), e.warps()));
  llvm::BasicBlock* end = e.new_block("roles_end");
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (i + 1 == roles.size()) {
      emit_one_role(e, roles[i], warp, start, end);
      break;
    }
    llvm::BasicBlock *here = e.new_block("role"), *next = e.new_block("other_roles");
    b.CreateCondBr(b.CreateICmpULT(warp, e.i32(roles[i].first_warp + roles[i].program_warps())), here, next);
    b.SetInsertPoint(here);
    emit_one_role(e, roles[i], warp, start, end);
    b.SetInsertPoint(next);
  }
  b.SetInsertPoint(end);
}

void emit_role_instance(Emitter& e, OpId id) { e.set(e.f().result(id), {e.role_instance()}); }

void emit_alloc_mbarriers(Emitter& e, OpId id) {
  const Function& f = e.f();
  if (e.target().sm < kLeastCapability)
    throw Error(f.where(id), fmt::format("alloc_mbarriers: mbarriers exist from sm_80 on; the target is {}", e.target().name));
  Value* address = e.shared_address(e.scratch_offset(id));
  // Ops on the mbarriers come after a barrier (insert_barriers).
  for (int i = 0; i < f.type(f.result(id)).slots(); ++i)
    inline_ptx(e.b(),
               fmt::format("@$1 mbarrier.init.shared.b64 [$0 + {}], {};", passes::kMbarrierBytes * i, f.attr(id, ir::AttrName::arrivals)),
               {address, e.is_first_thread()}, kMemory);
  // Bulk copies arrive by another path than threads do (PTX ISA 9.0, section 9.7.13.4, "fence.mbarrier_init").
  if (!tensor_maps(f).empty()) inline_ptx(e.b(), "@$0 fence.mbarrier_init.release.cluster;", {e.is_first_thread()}, kMemory);
  e.set(f.result(id), {address});
}

void emit_mbarrier_slot(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const std::int64_t divisor = std::max<std::int64_t>(f.attr(id, ir::AttrName::divisor), 1);
  Value* index = e.scalar(f.operand(id, 1));
  Value* offset = divisor <= passes::kMbarrierBytes ? b.CreateMul(index, e.i32(passes::kMbarrierBytes / divisor))
                                                    : b.CreateUDiv(index, e.i32(divisor / passes::kMbarrierBytes));
  e.set(f.result(id), {b.CreateAdd(e.scalar(f.operand(id, 0)), offset)});
}

void emit_mbarrier_arrive(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const auto& operands = e.f().op(id).operands;
  // The products of a group of warps are complete for all of its warps when they are for one.
  if (e.f().attr(id, ir::AttrName::ordered) == 0) e.barrier();
  // The first thread of each group of warps.
  constexpr int kGroupThreads = 32 * ir::kWarpsOfGroup;
  Value* arrives = b.CreateICmpEQ(b.CreateAnd(e.thread(), e.i32(std::min(kGroupThreads, e.threads()) - 1)), e.i32(0));
  if (operands.size() > 1) arrives = b.CreateAnd(arrives, e.scalar(operands[1]));
  inline_ptx(b, "{ .reg .b64 state; @$1 mbarrier.arrive.shared.b64 state, [$0]; }", {e.scalar(operands[0]), arrives}, kMemory);
}

void emit_copy_arrive(Emitter& e, OpId id) {
  inline_ptx(e.b(), "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", {e.scalar(e.f().operand(id, 0))}, kMemory);
}

void emit_mbarrier_wait(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const char* const test = e.target().sm >= kTryWaitCapability ? "try_wait" : "test_wait";
  Value* parity = b.CreateAnd(e.scalar(e.f().operand(id, 1)), e.i32(1));
  llvm::BasicBlock *wait = e.new_block("wait"), *over = e.new_block("over");
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  Value* is_over = inline_ptx(b, fmt::format("mbarrier.{}.parity.shared.b64 $0, [$1], $2;", test), b.getInt1Ty(),
                              {e.scalar(e.f().operand(id, 0)), parity}, kMemory);
  disable_unroll(b.CreateCondBr(is_over, over, wait));
  b.SetInsertPoint(over);
}

}  // namespace tilewright::backend::nvptx
