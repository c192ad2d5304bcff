// Shared by the lowerings of all op families: the LLVM IR builder, the registers of tiles, thread indices, predicates, shared memory,
// barriers and shuffles.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "backend/nvptx/registers.h"
#include "passes/analysis/axis_info.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend::nvptx {

using ir::BlockId;
using ir::Function;
using ir::HardwareDim;
using ir::LinearLayout;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

enum class Shuffle { bfly, idx, up, down };

/// Makes LLVM and ptxas keep a loop as it is. `back`: the branch to its start.
void disable_unroll(llvm::Instruction* back);

/// Emits one kernel, as executed by one thread of a program. An op's lowering reads the registers of its operands, emits code at the
/// builder's position and sets the registers of its results:
///
///   void emit_neg(Emitter& e, OpId id) {
///     Registers out;
///     for (Value* x : e.registers(e.f().operand(id, 0))) out.push_back(e.b().CreateNeg(x));
///     e.set(e.f().result(id), std::move(out));
///   }
class Emitter {
 public:
  struct Options {
    int num_warps = 4;   // of the program
    bool check = false;  // checked mode
  };
  /// `lower_op` lowers one op that is not a terminator, at the builder's position. Requires: the kernel has its entry block.
  Emitter(llvm::Function& kernel, const Function&, const passes::LoweringPlans&, const ir::TargetDesc&, Options,
          std::function<void(OpId)> lower_op);

  // ---- the function, and the code made of it ----
  const Function& f() const { return f_; }
  const passes::LoweringPlans& plans() const { return plans_; }
  const passes::AxisInfoAnalysis& axes() const { return axes_; }
  const ir::TargetDesc& target() const { return target_; }
  const Options& options() const { return options_; }
  llvm::Function& kernel() { return kernel_; }
  llvm::IRBuilder<>& b() { return b_; }
  llvm::ConstantInt* i32(std::int64_t v) { return b_.getInt32(static_cast<std::uint32_t>(v)); }
  llvm::BasicBlock* new_block(const char* name);

  // ---- registers of values ----
  const Registers& registers(ValueId v) const { return registers_[v.index]; }
  Value* scalar(ValueId v) const { return registers_[v.index][0]; }
  /// The kernel's parameter that the host makes for a make_tensor_map: a pointer.
  Value* tensor_map(OpId id) const { return tensor_maps_.at(id); }
  void set_tensor_map(OpId id, Value* parameter) { tensor_maps_[id] = parameter; }
  void set(ValueId, Registers);
  const LinearLayout& layout(ValueId v) const { return f_.layout(v); }

  // ---- blocks and regions ----
  /// Lowers the ops of a block up to its terminator.
  void emit_block(BlockId);
  /// The registers of the terminator's operands, from operand `skip` on.
  std::vector<Registers> yielded(BlockId, int skip = 0) const;
  /// Emits the region of a reduce, scan or atomic_update on one pair of elements; returns one value for each result.
  std::vector<Value*> combine(OpId, std::span<Value* const> earlier, std::span<Value* const> later);

  // ---- thread indices; i32 ----
  /// The thread's number among those that execute the op being lowered: %tid.x or, in a role, counted from its instance's first warp.
  Value* thread();
  Value* lane();
  /// The number of the thread's warp among those that execute the op being lowered, equal in all lanes: ptxas keeps it in a uniform register.
  /// Computed once, where the program or the role begins.
  Value* uniform_warp();
  /// A constant that ptxas does not know; as uniform_warp().
  Value* unknown_constant(std::uint32_t);
  /// The number of warps that execute the op being lowered.
  int warps() const { return role_ ? role_->warps : options_.num_warps; }
  int threads() const { return 32 * warps(); }
  /// The image of x under a matrix over GF(2): the XOR of the columns that the bits of x select.
  Value* apply(const ir::F2Matrix&, Value* x);
  /// The thread's part of a flat index: the layout's lane and warp bases applied to its number.
  Value* thread_part(const LinearLayout&);
  /// The flat index of the element in register r.
  Value* flat_index(const LinearLayout&, std::uint32_t r);

  // ---- predicates; i1 ----
  Value* is_first_thread();
  /// Whether this thread acts on behalf of all threads that hold the same elements: the free lane and warp bits of the layout are 0
  /// (Triton's redundant-thread predicate). Null if every thread acts.
  Value* redundant_thread_predicate(const LinearLayout&);
  /// Whether an odd number of the bits of `mask` is set in the thread's number.
  Value* parity_of_thread(std::uint32_t mask);

  // ---- shared memory: 32-bit addresses in bytes ----
  /// The address of byte `offset` in the program's shared memory.
  Value* shared_address(std::int64_t offset);
  /// The byte offset of the op's scratch. Requires: LoweringPlans handles the op, so that scratch was allocated.
  std::int64_t scratch_offset(OpId) const;
  /// Stores neighbouring elements, at most 16 bytes, at `displacement` bytes after the address. Without `predicate` it always stores.
  void store_shared(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate = nullptr);
  std::vector<Value*> load_shared(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate = nullptr);

  // ---- roles ----
  /// The threads of one instance of a role, while its region is lowered.
  struct ActiveRole {
    int warps = 1;
    Value *thread = nullptr, *instance = nullptr, *barrier = nullptr;  // numbers of the thread and the instance, and the named barrier
    std::int64_t scratch_begin = 0, scratch_stride = 0;                // shared memory from `begin` on, separate for each instance
  };
  /// Lowers a region as the code of a role.
  void emit_role(BlockId, const ActiveRole&);
  /// Requires: the op being lowered is in a role.
  Value* role_instance() const { return role_->instance; }

  // ---- communication of threads: those that execute the op ----
  /// Each thread waits for all others, and then sees their writes to shared and global memory.
  void barrier();
  /// Whether the i1 is true in any thread; all threads wait for the result.
  Value* any_thread(Value*);
  /// Each lane of the warp waits for the others, and then sees their writes.
  void warp_barrier();
  /// The value of lane ^ x, x, lane - x or lane + x. v: an element of any type. Lanes without a partner keep their own value.
  Value* shuffle(Shuffle, Value* v, Value* x);

 private:
  /// Calls `emit` with the builder behind an instruction, such as thread().
  Value* emit_after(Value* instruction, const std::function<Value*()>& emit);

  llvm::Function& kernel_;
  llvm::IRBuilder<> b_;
  const Function& f_;
  const passes::LoweringPlans& plans_;
  const ir::TargetDesc target_;
  const Options options_;
  const std::function<void(OpId)> lower_op_;
  const passes::AxisInfoAnalysis axes_;
  std::vector<Registers> registers_;  // indexed by value
  std::map<OpId, Value*> tensor_maps_;
  Value *thread_ = nullptr, *shared_ = nullptr;
  const ActiveRole* role_ = nullptr;  // none: the whole program executes the op
  /// What is computed from thread() alone, and emitted after it: so it dominates every use. Each role has its own.
  struct OfThread {
    std::map<std::vector<std::uint32_t>, Value*> parts;  // indexed by columns
    Value* warp = nullptr;
    std::map<std::uint32_t, Value*> unknown_constants;
  };
  OfThread of_thread_;
};

/// Whether no thread bit contributes to these bits of a flat index.
bool are_register_bits(const LinearLayout&, std::uint32_t bits);

}  // namespace tilewright::backend::nvptx
