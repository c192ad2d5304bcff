// A loop nest while its body is emitted: the current index, and the value of any tile at it.
#pragma once
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Element-wise ops and memory accesses of a nest request the values of their operands at the current index, `lanes` at a time along the
/// last dimension. A value comes from a register of the nest or from a buffer, or is computed inline; its code is placed as far out as the
/// indices that it depends on allow, and once for each index.
class Nest {
 public:
  Nest(Emitter& e, const Step& step)
      : e_(e), step_(step), index_(step.extents.size()), number_(step.extents.size()), scopes_(step.extents.size() + 1) {}

  Emitter& e() { return e_; }
  const Step& step() const { return step_; }
  int dims() const { return static_cast<int>(step_.extents.size()); }
  /// The number of indices of the last dimension that are computed at a time.
  unsigned lanes() const { return lanes_; }
  void set_lanes(unsigned lanes) { lanes_ = lanes; }
  bool is_vectorised() const { return lanes_ > 1; }
  /// Vectors begin at any index, not only at multiples of their lanes.
  void set_unaligned() { is_unaligned_ = true; }
  /// The code that is emitted next loads and stores so many first lanes of a vector; null: all of them.
  void set_first_lanes(Value* count) { first_lanes_ = count; }
  Value* first_lanes() const { return first_lanes_; }
  int vector_dim() const { return dims() - 1; }
  /// The index of a dimension, i64; for the last dimension, the index of the first lane.
  Value* index(int dim) const { return index_[static_cast<std::size_t>(dim)]; }
  void set_index(int dim, Value* v) { index_[static_cast<std::size_t>(dim)] = v; }
  /// In an unrolled nest: sets the number of an index as well.
  void set_index(int dim, Value* v, std::int64_t number) {
    set_index(dim, v);
    number_[static_cast<std::size_t>(dim)] = number;
  }
  /// The dimension of the nest that each axis of a tile with the nest's shape runs along.
  AxisMap dims_of(Type) const;

  /// Begins the code that depends on the first `dim` indices: code that depends only on these is placed in the builder's block.
  void enter(int dim);
  /// Begins a vector of lanes: no value is known at its index yet.
  void begin_lanes();

  /// The operand of an op with the nest's shape, at the current index: a vector if the nest is vectorised.
  Value* operand(ValueId v) { return operand(v, is_vectorised()); }
  Value* operand(ValueId, bool vector);
  /// A value at the current indices of the dimensions that `dims` assigns to its axes; -1: index 0.
  Value* evaluate(ValueId, const AxisMap& dims, bool vector);
  bool uses_vector_dim(const AxisMap& dims) const;
  /// The dimensions that the axes of the tile run along of which `v` is an alias.
  AxisMap through(const Source& of_v, const AxisMap& dims) const;

  void set_register(ValueId v, Value* value) { registers_[v.index] = value; }
  Value* in_register(ValueId v) const { return registers_.at(v.index); }
  bool has_register(ValueId v) const { return registers_.contains(v.index); }
  /// Declares masks that are true in all lanes of the code that is emitted next.
  void assume_true(const std::vector<ValueId>& masks);
  void assume_nothing() { known_true_.clear(); }

  /// Elements of a tile at the current index, in its buffer or in registers. `panels`: null if the buffer is row-major; otherwise the type
  /// has rank 2.
  Value* read_tile(ClassId, Type, const AxisMap& dims, bool vector);
  void write_tile(ClassId, Type, const AxisMap& dims, Value*, const Panels* panels = nullptr);

  /// The values that are known at the current index.
  using Memo = std::map<std::uint64_t, Value*>;
  const Memo& memo() const { return scopes_.back().memo; }
  void set_memo(const Memo& memo) { scopes_.back().memo = memo; }

 private:
  /// The values computed with the indices of the first dimensions, and the block to which more of them are added. The innermost scope has
  /// no block: they are added at the builder's position.
  struct Scope {
    llvm::BasicBlock* block = nullptr;
    Memo memo;
  };
  Value* compute(ValueId, const AxisMap& dims, bool vector);
  Value* splat(Value*, int depth, std::uint64_t key);
  Value* buffer_index(Type, const AxisMap& dims);
  Value* panel_element(llvm::Type* element, Value* base, const AxisMap& dims, const Panels&);
  /// The row-major number of an element; in a vector, that of the first lane.
  std::int64_t element_number(Type, const AxisMap& dims) const;
  Value* load_buffer(Value* base, Type, const AxisMap& dims, bool vector);
  /// The emitter's buffer; its address is computed before the nest.
  Value* buffer(ClassId);
  void store_buffer(Value* base, Type, const AxisMap& dims, Value*, const Panels* panels);
  /// Moves the builder to where code of this depth is emitted.
  void move_to(int depth);

  Emitter& e_;
  const Step& step_;
  unsigned lanes_ = 1;
  bool is_unaligned_ = false;
  Value* first_lanes_ = nullptr;
  std::vector<Value*> index_;
  std::vector<std::int64_t> number_;                     // of each index, in an unrolled nest
  std::vector<Scope> scopes_;                            // indexed by depth
  std::unordered_map<std::uint32_t, Value*> registers_;  // fused values at the current index
  std::unordered_set<std::uint32_t> known_true_;
};

}  // namespace tilewright::backend::host
