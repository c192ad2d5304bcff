// Shared by the lowerings of all op families: the LLVM IR builder, scalars and buffers of values, loops, and elements in buffers.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/host/combined_atomics.h"
#include "backend/host/evaluation_plan.h"
#include "backend/host/live_bounds.h"
#include "backend/host/machine.h"
#include "backend/host/outlining.h"
#include "backend/host/scratch.h"
#include "passes/analysis/axis_info.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;
using llvm::Value;
using Values = std::vector<Value*>;

/// Emits one function, which runs a range of programs. An op's lowering takes the scalars and buffers of its operands, emits code at the
/// builder's position, and sets the scalars or fills the buffers of its results:
///
///   void emit_first(Emitter& e, OpId id) {  // the first element of a tile
///     Value* from = e.operand_buffer(id, 0);
///     e.set_scalar(e.f().result(id), e.read_lanes(from, e.f().type(e.f().operand(id, 0)), e.i64(0), 1));
///   }
class NonTemporalStores;

class Emitter {
 public:
  /// Creates `entry` (a HostEntry) and its first block, which loads the arguments.
  Emitter(llvm::Module&, const Function&, const Machine&, bool check, const std::string& entry);

  // ---- the function, and the code made of it ----
  const Function& f() const { return f_; }
  const EvaluationPlan& plan() const { return plan_; }
  const passes::AxisInfoAnalysis& axes() const { return axes_; }
  const passes::LiveExtents& live() const { return live_.live(); }
  const ir::TargetDesc& target() const { return machine_.description; }
  const ProductInstructions& products() const { return machine_.products; }
  bool check() const { return check_; }
  llvm::Function& function() { return *function_; }
  llvm::IRBuilder<>& b() { return b_; }
  llvm::LLVMContext& context() { return b_.getContext(); }
  /// Records where the code may be split: see outlining.h.
  SplitPoints& split_points() { return split_points_; }
  Value* i64(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context(), name, function_); }
  Value* alloca_in_entry(llvm::Type*, unsigned count, unsigned align);

  // ---- the launch ----
  /// A field of the HostLaunch.
  Value* launch_field(llvm::Type*, std::size_t offset);
  /// The extent of a grid axis; i32.
  Value* grid_extent(std::size_t axis) const { return grid_[axis]; }
  Value* program_id(std::size_t axis) const { return program_[axis]; }
  /// The number of the first program, and the number after the last program; i64.
  Value* first_program() { return function_->getArg(2); }
  Value* end_program() { return function_->getArg(3); }
  /// Computes the ids of the program with this number.
  void set_program(Value* number);
  /// Begins the code of the program whose ids are set.
  void begin_program() { live_.begin_program(*this); }
  /// The i64 constant 0, as an instruction that LLVM cannot fold.
  Value* unknown_zero() const { return unknown_zero_; }
  CombinedAtomics& combined_atomics() { return combined_atomics_; }

  /// The non-temporal stores of the function. Set before the first program is emitted.
  NonTemporalStores& non_temporal() { return *non_temporal_; }
  void set_non_temporal(NonTemporalStores& stores) { non_temporal_ = &stores; }

  // ---- blocks and loops ----
  void emit_block(BlockId block) { lower_block_(block); }
  /// Sets the function by which emit_block lowers a block at the builder's position.
  void lower_blocks_by(std::function<void(BlockId)> lower_block) { lower_block_ = std::move(lower_block); }
  /// A loop from lo to hi (exclusive) that carries values. It runs zero times if lo >= hi, which is possible only if `may_be_empty`. Bounds
  /// and index: i64.
  Values loop(Value* lo, Value* hi, Value* step, const Values& init, bool may_be_empty,
              const std::function<Values(Value* index, const Values& carried)>& body);
  /// A loop from 0 to `end` (exclusive) by `step`, at least once, without carried values.
  void loop(std::int64_t end, std::int64_t step, const std::function<void(Value* index)>& body);
  /// A loop by `step` from 0 over the first `count` indices of an axis; null: all of them.
  void loop_over_first(Value* count, std::int64_t extent, std::int64_t step, const std::function<void(Value* index)>& body);
  /// A loop by 1 from 0 over the live indices of an axis of this extent.
  void loop_over_live(passes::LiveIndices, std::int64_t extent, const std::function<void(Value* index)>& body);
  /// The number of first indices of an axis that are live, i64; null: all of them.
  Value* live_count(passes::LiveIndices live, std::int64_t extent) { return live_.count(*this, live, extent); }

  // ---- values: scalars are LLVM values, tiles are in buffers ----
  Value* scalar(ValueId) const;
  void set_scalar(ValueId v, Value* s) { scalars_[v.index] = s; }
  Value* buffer(ClassId);
  /// Sets which part of the buffers of a contraction's factors `buffer` returns: that of which kept block, and of which iteration in it.
  /// Null stands for the first one.
  void set_part(Value* kept_block, Value* iteration) {
    kept_block_ = kept_block;
    iteration_ = iteration;
  }
  /// Emits at a step of a contraction whether it must be executed, as i1; null: always.
  using IsNeeded = std::function<Value*(const Step&)>;
  void set_is_needed(IsNeeded emit) { is_needed_ = std::move(emit); }
  Value* is_needed(const Step& step) const { return is_needed_ ? is_needed_(step) : nullptr; }
  /// i1: whether a dot reads its right factor in memory (EvaluationPlan::right_in_memory). It is set before the step that loads the factor.
  void set_reads_right(OpId dot, Value* reads) { reads_right_[dot] = reads; }
  Value* reads_right(OpId dot) const { return reads_right_.at(dot); }
  Value* buffer_of(ValueId v) { return buffer(plan_.class_of(v)); }
  /// The buffer that holds an op's operand.
  Value* operand_buffer(OpId id, int i) { return buffer(plan_.operand_class(id, i)); }
  Value* operand_buffer(OpId id, std::size_t i) { return operand_buffer(id, static_cast<int>(i)); }
  /// A part of a tile in registers (EvaluationPlan::in_registers): a variable for the elements of one vector, or for one element if the
  /// tile has no more. LLVM replaces these variables by values at the end. Small floats are integers there, since LLVM 19 does not shuffle
  /// vectors of small floats on every processor.
  llvm::AllocaInst* register_part(ClassId, std::int64_t part);
  /// The elements of a part.
  unsigned register_lanes(ClassId) const;
  /// Copies a tile between registers.
  void copy_registers(ClassId from, ClassId to);
  /// Ends the lifetime of a buffer.
  void release(ClassId);

  /// Scratch memory of the thread for use within one op.
  struct ScratchRange {
    std::int64_t offset;
    Value* address;
  };
  /// Loads of a buffer may read the rest of a vector behind it.
  void allow_reads_behind_buffers() { reads_behind_buffers_ = true; }
  ScratchRange allocate_scratch(std::int64_t bytes);
  void free_scratch(const ScratchRange& range) { scratch_.free(range.offset); }

  // ---- elements: bool is i1 in registers and a byte in memory ----
  Value* to_memory(Value*, Type);
  Value* from_memory(Value*, Type);
  /// Elements of a buffer from `index` on, which is a multiple of `lanes`; with one lane the result is a scalar.
  Value* read_lanes(Value* base, Type, Value* index, unsigned lanes);
  void write_lanes(Value* base, Type, Value* index, Value*);
  /// Copies one block between buffers that are divided into blocks of `elements` elements.
  void move_block(Type, std::int64_t elements, Value* to, Value* to_block, Value* from, Value* from_block);
  /// Eight bytes that masked-off lanes access instead of memory that they must not access.
  Value* dummy();

  // ---- what the runtime is told: AccessSite and ReportSite of compiled_kernel.h ----
  /// Adds an access site and returns its number.
  std::uint32_t add_site(AccessSite);
  std::uint32_t add_report(ReportSite);
  std::vector<AccessSite> take_sites() { return std::move(sites_); }
  std::vector<ReportSite> take_reports() { return std::move(reports_); }

  /// Returns from the function, and outlines parts of it if it is large. The result is the size in bytes of the values that parts pass on,
  /// which follow the buffers in the scratch memory; 0 if no part is outlined.
  std::int64_t finish();
  /// The bytes of all buffers that are live at once, and those that may be read behind them.
  std::int64_t buffer_bytes() const {
    const std::int64_t bytes = scratch_.high_water();
    return bytes > 0 && reads_behind_buffers_ ? bytes + target().vector_bits / 8 : bytes;
  }

 private:
  llvm::IRBuilder<> b_;
  const Function& f_;
  const Machine machine_;
  const bool check_;
  bool reads_behind_buffers_ = false;
  std::function<void(BlockId)> lower_block_;
  const passes::AxisInfoAnalysis axes_;
  const EvaluationPlan plan_;
  LiveBounds live_;
  CombinedAtomics combined_atomics_;
  Scratch scratch_;
  SplitPoints split_points_;
  llvm::Function* function_ = nullptr;
  std::array<Value*, 3> program_{};
  std::array<Value*, 3> grid_{};
  Value* unknown_zero_ = nullptr;
  Value* dummy_ = nullptr;
  Value* kept_block_ = nullptr;
  Value* iteration_ = nullptr;
  IsNeeded is_needed_;
  std::map<OpId, Value*> reads_right_;
  NonTemporalStores* non_temporal_ = nullptr;
  std::vector<Value*> scalars_;                        // indexed by value
  std::unordered_map<ClassId, std::int64_t> offsets_;  // offsets of live buffers
  std::map<ClassId, std::vector<llvm::AllocaInst*>> register_parts_;
  std::vector<AccessSite> sites_;
  std::vector<ReportSite> reports_;
};

}  // namespace tilewright::backend::host
