// Tile IR to LLVM IR for the host: one function that runs a range of programs. Split by meaning: control_flow, loop_nest, evaluate,
// masks, memory, reduce, dot, rearrange, scan, sort, index, atomics, report.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/host/outlining.h"
#include "backend/host/plan.h"
#include "backend/host/scratch.h"
#include "passes/analysis/axis_info.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend::host {

using llvm::Value;

/// A loop nest while it is emitted.
struct Nest {
  const Step* step;
  int dims = 0;           // extents of the step
  unsigned lanes = 1;     // of the last dimension at a time
  unsigned unroll = 1;    // vectors of lanes at a time
  std::vector<Value*> index;  // of each dimension, i64; of the last one the first lane's

  /// What was computed with the indices of the first `depth` dimensions, and where more of it goes. The innermost scope is the
  /// builder's own position.
  struct Scope {
    llvm::BasicBlock* block = nullptr;
    std::map<std::uint64_t, Value*> memo;
  };
  std::vector<Scope> scopes;  // dims + 1
  std::unordered_map<std::uint32_t, Value*> registers;  // looped values of this nest at the current index
  std::unordered_set<std::uint32_t> known_true;         // masks that hold for all lanes in the loop being emitted
  bool streams = false;  // the loop being emitted stores around the caches

  bool vectorised() const { return lanes > 1; }
  int vector_dim() const { return dims - 1; }
};

/// A commutative reduce along the last extent, kept in registers: partials[u][r] of vector u and result r.
struct Partials {
  OpId op;
  std::vector<std::vector<Value*>> partials;
};

class HostLowering {
 public:
  HostLowering(llvm::Module&, const Function&, const ir::TargetDesc&, bool check);

  /// Emits `entry` (a HostEntry).
  void run(const std::string& entry);
  std::int64_t scratch_bytes() const { return scratch_.high_water() + frame_bytes_; }
  /// Whether parts of the function were outlined because it is large.
  bool is_outlined() const { return frame_bytes_ > 0; }
  const std::vector<AccessSite>& sites() const { return sites_; }
  const std::vector<ReportSite>& reports() const { return reports_; }

 private:
  using Values = std::vector<Value*>;

  // control_flow.cpp
  void emit_program();
  void emit_block(BlockId);
  void emit_scalar(OpId);
  void emit_single(const Step&);
  void emit_for(OpId);
  void emit_if(OpId);
  void emit_while(OpId);
  void emit_copies(const Step&);
  /// A loop from lo to below hi that carries values; runs nothing if lo >= hi, which `may_be_empty` says can be. Bounds and index: i64.
  Values emit_loop(Value* lo, Value* hi, Value* step, const Values& init, bool may_be_empty,
                   const std::function<Values(Value* index, const Values& carried)>& body);
  Value* buffer(ClassId);
  Value* scalar(ValueId);

  // loop_nest.cpp
  void emit_loops(const Step&);
  void emit_dim(Nest&, int dim);
  void emit_rows(Nest&);
  void emit_body(Nest&, Value* at, std::vector<Partials>*);
  void emit_item(Nest&, const Item&, unsigned unroll_index, std::vector<Partials>*);

  // evaluate.cpp
  Value* evaluate(Nest&, ValueId, const AxisMap& dims, bool vector);
  Value* evaluate_new(Nest&, ValueId, const AxisMap& dims, bool vector);
  Value* operand(Nest&, ValueId, bool vector);  // of an op of the nest's shape
  Value* splat(Nest&, Value*, int depth, std::uint64_t key);
  int depth_of(const Nest&, const AxisMap& dims) const;
  bool uses_vector_dim(const Nest&, const AxisMap& dims) const;
  Value* buffer_index(Nest&, ir::Type, const AxisMap& dims);
  Value* load_buffer(Nest&, Value* base, ir::Type, const AxisMap& dims, bool vector);
  void store_buffer(Nest&, Value* base, ir::Type, const AxisMap& dims, Value*);
  Value* to_memory(Value*, ir::Type);
  Value* from_memory(Value*, ir::Type);

  // masks.cpp
  struct Prefix {
    std::vector<std::uint32_t> masks;  // the mask, then the values that it is the conjunction of
    Value* count;                      // lanes of the row for which it holds; they are its first ones
  };
  std::optional<Value*> prefix_count(Nest&, ValueId mask, const AxisMap& dims, std::vector<std::uint32_t>& parts);
  std::vector<Prefix> prefixes(Nest&);

  // streaming.cpp
  Value* output_exceeds_caches();
  bool is_streamable(const Nest&, OpId) const;
  Value* may_stream(Nest&);
  void store_around_caches(Value* v, Value* address);
  void finish_streaming();

  // memory.cpp
  Value* emit_load(Nest&, OpId);
  void emit_store(Nest&, OpId);
  struct Access {
    Value* address = nullptr;    // i64, or a vector of them
    Value* mask = nullptr;       // null: all lanes
    bool contiguous = false;     // `address` is the first lane's, the others follow
    int element_bytes = 0;
  };
  Access access(Nest&, OpId, bool is_store);
  Value* load_lanes(const Access&, llvm::Type* element, Value* other, bool is_volatile);
  void store_lanes(const Access&, Value*, bool is_volatile);
  Value* load_one(Value* address, Value* mask, llvm::Type*, Value* other, bool is_volatile);
  void store_one(Value* address, Value* mask, Value*, bool is_volatile);
  Value* lane_addresses(const Access&, unsigned lanes);
  Value* checked(Value* addresses, Value* mask, unsigned lanes, OpId, bool is_store, int bytes);
  bool has_masked_access(llvm::Type* element, unsigned lanes) const;
  Value* dummy();
  void keep_order();
  void scalar_load(OpId);
  void scalar_store(OpId);

  // reduce.cpp
  bool is_inner_reduce(const Step&, OpId) const;
  /// The one op of a region that only combines its two arguments by it, or nothing.
  std::optional<ir::OpKind> single_op(OpId) const;
  Values identity(OpId, unsigned lanes);
  bool has_identity(OpId) const;
  Values combine(OpId, const Values& earlier, const Values& later);
  void accumulate(Nest&, OpId, unsigned unroll_index, std::vector<Partials>&);
  void accumulate_outer(Nest&, OpId);
  void finish_reduce(Nest&, const Partials&);

  // dot.cpp
  void emit_dot(OpId);

  // rearrange.cpp
  /// Of buffers taken as blocks of so many elements each, copies one.
  void move_block(ir::Type, std::int64_t elements, Value* to, Value* to_block, Value* from, Value* from_block);
  /// Elements of a buffer from `index` on, a multiple of `lanes`; one lane is no vector.
  Value* read_lanes(Value* base, ir::Type, Value* index, unsigned lanes);
  void write_lanes(Value* base, ir::Type, Value* index, Value*);
  void emit_flip(OpId);
  void emit_pair(OpId);  // join, cat
  void emit_split(OpId);

  // scan.cpp, sort.cpp, index.cpp: from the operands' buffers to the results'; scalars are values
  friend class ScanEmitter;
  friend class RowSorter;
  void emit_scan(OpId);
  void emit_sort(OpId);
  void emit_gather(OpId);
  void emit_histogram(OpId);

  // atomics.cpp
  void emit_atomic(OpId);
  Value* atomic_lane(OpId, const Values& operands);
  Value* update_memory(OpId, const Values& operands);

  // report.cpp: device_print and device_assert
  void emit_report(OpId);
  Value* report_operand(OpId, int i);
  Value* some_lane_fails(const ir::Type&, Value* condition, Value* mask);

  Value* i64(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
  Value* alloca_in_entry(llvm::Type*, unsigned count, unsigned align);

  llvm::Module& m_;
  llvm::LLVMContext& c_;
  llvm::IRBuilder<> b_;
  const Function& f_;
  const ir::TargetDesc target_;
  const bool check_;
  passes::AxisInfoAnalysis axes_;
  Plan plan_;
  Scratch scratch_;
  SplitPoints split_points_;
  std::int64_t frame_bytes_ = 0;  // of the values that outlined parts pass on, behind the buffers in the scratch memory
  std::vector<AccessSite> sites_;
  std::vector<ReportSite> reports_;
  llvm::Function* function_ = nullptr;
  Value *arguments_ = nullptr, *launch_ = nullptr, *scratch_base_ = nullptr;
  Value* unknown_zero_ = nullptr;  // 0, i64, in a way that LLVM cannot see
  std::array<Value*, 3> program_{}, grid_{};
  std::vector<Value*> scalars_;                    // by value
  std::unordered_map<ClassId, std::int64_t> offsets_;  // of live buffers
  Value* dummy_ = nullptr;
  Value* streaming_ = nullptr;  // whether the launch stores more than the caches hold; null: nothing to stream
  bool streamed_ = false;
};

}  // namespace tilewright::backend::host
