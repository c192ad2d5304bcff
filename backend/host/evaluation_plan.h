// Decides, before any code is emitted, how each tile of a function is computed on the host: inline at each use, as an alias of another
// tile, fused into a loop nest with others, or in a buffer (Halide's schedules).
//
// 1. choose_schedules   gives each value its Schedule
// 2. find_contractions  finds loops that only multiply (contraction.h)
// 3. BlockPlanner       forms the steps of each block (block_planner.h), and gives values that need one a buffer
// 4. plan_contractions  finds how many iterations of a contraction form a block
// 5. plan_lifetimes     finds the last step that uses each buffer
// 6. choose_register_tiles  keeps small tiles in registers instead of their buffers (register_tiles.h)
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/host/machine.h"
#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::backend::host {

using ir::BlockId;
using ir::Function;
using ir::OpId;
using ir::ValueId;

/// For each axis of a tile: the axis of another index space that it runs along, or -1 (an extent of 1, always index 0).
using AxisMap = std::array<std::int8_t, ir::kMaxRank>;
inline constexpr AxisMap kNoAxes{-1, -1, -1, -1, -1};

/// How a value is computed.
enum class Schedule : std::uint8_t {
  scalar,    // rank 0: one LLVM value
  inlined,   // cheap, and computed from scalars, index ranges and broadcasts of smaller tiles: computed at each use
  alias,     // another tile under an index mapping; never computed
  fused,     // Halide's compute_at: computed in a loop nest, in registers; stored to a buffer if other steps use it
  in_place,  // a load that a contraction reads in memory at each use
  buffered,  // Halide's compute_root: the result of a step of its own (dot, flip, control flow), or a block argument: always in a buffer
};

/// Buffers, numbered; values that share one have the same class.
using ClassId = std::int32_t;
inline constexpr ClassId kNoClass = -1;

/// The work of a loop nest at each index: an op, or a store of an inlined value or alias to a buffer.
struct Item {
  OpId op;
  ValueId fill;
  ClassId target = kNoClass;   // for a store of a value: the buffer
  bool is_recomputed = false;  // an earlier nest has computed the op's result too (recomputation.h)
};

struct Copy {
  ClassId from, to;
};

/// A block that is transposed in registers: read in `rows` vectors of `columns` elements, written in `columns` vectors of `rows` elements.
struct TransposedBlock {
  int rows, columns;
  friend bool operator==(const TransposedBlock&, const TransposedBlock&) = default;
};

/// A loop nest, or an op that is a step of its own.
struct Step {
  std::vector<OpId> scalars_before;
  bool is_loops = false;
  // For loop nests:
  std::vector<std::int64_t> extents;  // without extents of 1; the last one is vectorised
  std::vector<Item> items;
  bool is_unrolled = false;  // every index is a constant: the nest accesses tiles in registers
  // Loop interchange: the last dimension is not the tile's last axis. If a load or store is the only item, the last dimension is the axis
  // along which memory is contiguous.
  bool is_interchanged = false;
  AxisMap dims_of_axes = kNoAxes;  // indexed by the number of the axis among those with extents other than 1
  // The load or store transposes its tile in registers (transposition.h): the tile's buffer is contiguous along the dimension before the
  // last one.
  std::optional<TransposedBlock> transposed;
  // For an op that is a step of its own:
  OpId op;
  std::vector<Copy> copies;         // for a terminator: executed in order when it is reached
  std::vector<ClassId> freed;       // buffers with their last use in this step
  bool is_of_kept_factor = false;   // it only computes right factors that a contraction keeps
  ClassId right_factor = kNoClass;  // it only loads this right factor, which a contraction may read in memory
  OpId right_of;                    // it only loads the right factor of this dot, which may read it in memory
};

struct BlockPlan {
  std::vector<Step> steps;  // the last step has the terminator, or trailing scalars and no op
};

/// The end of a chain of aliases.
struct Source {
  ValueId value;
  AxisMap map = kNoAxes;  // maps axes of `value` to axes of the original value
};

/// The strides of the buffer of `source.value` along the axes of the original tile; 0 where the buffer has no such axis.
using Strides = std::array<std::int64_t, ir::kMaxRank>;
Strides strides_of(const Function&, const Source& source);

/// The axes along which memory is contiguous, for a target with vectors of `lanes` lanes.
struct MemoryAxes {
  const passes::AxisInfoAnalysis& info;
  int lanes;
  ProductInstructions products = {};
};

/// Whether an op only maps indices: broadcast of a tile, permute, reshape that moves extents of 1, reduce along an extent of 1, hints.
bool maps_indices(const Function&, OpId);

/// A value as a function of the row and the column of a factor. `axes`: for each of its axes 0 (row), 1 (column), or -1 (it does not change).
struct FactorIndexed {
  ValueId value;
  AxisMap axes = kNoAxes;
};

/// A mask that is the conjunction of conditions on rows and of comparisons that hold for the first columns.
struct FactorMask {
  std::vector<FactorIndexed> rows, columns;
};

/// A factor that can be read where it lies: rows of memory, and 0 where its mask is false. Those of a right factor are evenly spaced.
struct InPlaceFactor {
  OpId load;  // none if the factor is only in a buffer
  FactorMask mask;
};

/// One dot of a contraction. Its accumulator is carried by the loop.
struct ContractedDot {
  OpId dot;
  InPlaceFactor left;   // never in a buffer; but rows of integers that a mask cuts are copied (contraction_loop.cpp)
  InPlaceFactor right;  // if Contraction::reads_right: in memory or in a buffer, as is decided at run time; else in a buffer
  std::vector<FactorIndexed> right_rows;  // the right factor is 0 from the first row on at which one of these comparisons is false
  bool starts_at_zero = false;            // the accumulator's buffer is not filled before the loop
  OpId store;  // the last block does what this store of the sums would do, if its mask hides none of them; none: never
};

struct Contraction {
  std::vector<ContractedDot> dots;
  std::int64_t iterations = 1;  // in a block
  bool reads_right = false;     // a program of few rows reads all right factors in memory
  // The right factors of so many first blocks are kept for the next program: it computes them only if a scalar of the key has another
  // value, or if there are more blocks. 0: they are not kept.
  std::int64_t kept_blocks = 0;
  std::vector<ValueId> key;
};

/// A buffer in panels of some columns: element [k, n] is element [k, n % columns] of panel n / columns, which is row-major and has `rows`
/// rows.
struct Panels {
  std::int64_t columns = 0, rows = 0;
  std::int64_t iteration_bytes = 0;  // of the rows of one iteration in a panel
  bool are_interleaved = false;      // by the contraction, after they have been filled: see RegisterTile and AmxTile
};

class EvaluationPlan {
 public:
  /// If the memory axes are absent, nothing is transposed in registers, and no loop is a contraction.
  explicit EvaluationPlan(const Function&, std::optional<MemoryAxes> = std::nullopt);

  Schedule schedule(ValueId v) const { return schedule_[v.index]; }
  const BlockPlan& block(BlockId b) const { return blocks_[b.index]; }
  /// The buffer that holds a value; kNoClass if it has none.
  ClassId class_of(ValueId v) const { return find(class_[v.index]); }
  std::int64_t class_bytes(ClassId c) const { return class_bytes_[find(c)]; }
  ClassId root(ClassId c) const { return find(c); }
  /// Whether the elements of a class are in registers; then it needs no memory.
  bool in_registers(ClassId c) const { return !register_tiles_.empty() && register_tiles_[static_cast<std::size_t>(find(c))]; }
  /// The type of the tiles of a class in registers, apart from extents of 1.
  ir::Type register_tile(ClassId c) const { return *register_tiles_.at(static_cast<std::size_t>(find(c))); }
  bool same_class(ClassId a, ClassId b) const { return find(a) == find(b); }
  /// Whether a fused value is stored to a buffer.
  bool has_buffer(ValueId v) const { return class_[v.index] != kNoClass; }
  Source resolve(ValueId) const;
  /// Whether the op only maps indices here: an op for which maps_indices holds, unless it is a permute that is a step of its own.
  bool is_alias(OpId id) const { return maps_indices(f_, id) && schedule(f_.op(id).results[0]) != Schedule::buffered; }
  /// The buffer that holds `v` for an op that reads it as a whole: its own buffer, or one that was filled for this op.
  ClassId operand_class(OpId op, int operand) const;
  bool has_contractions() const { return !contractions_.empty(); }
  /// The loop (a for) as a contraction; null if it is none.
  const Contraction* contraction(OpId loop) const;
  /// The right factor of a dot outside of contractions, if the dot may read it in memory where its mask hides nothing; null otherwise.
  const InPlaceFactor* right_in_memory(OpId dot) const;
  /// For a factor of a contraction: it has a part for each iteration in a block, and for each block that is kept; otherwise 1 and 0.
  std::int64_t iterations(ClassId c) const { return factor(c).iterations; }
  std::int64_t kept_blocks(ClassId c) const { return factor(c).kept_blocks; }
  std::vector<ClassId> kept_classes() const;
  /// The panels in which a buffer lies; null if it is row-major.
  const Panels* panels(ClassId c) const { return factor(c).panels.columns > 0 ? &factor(c).panels : nullptr; }

 private:
  friend class BlockPlanner;
  friend class RegisterTiles;
  ClassId new_class(std::int64_t bytes);
  ClassId ensure_class(ValueId);
  ClassId find(ClassId c) const;
  void unite(ClassId a, ClassId b);
  void choose_schedules();
  /// Whether a value is, under an index mapping, a smaller tile that a loop nest computes: it is read from a buffer at each use.
  bool is_of_smaller_tile(ValueId, const ir::Type& use) const;
  /// Whether a permute, so far an alias, would be read against the order of its operand's buffer, and can be transposed instead.
  bool is_worth_a_buffer(ValueId permuted) const;
  void find_contractions();
  /// The buffers of a contraction's factors that are made in its loop.
  std::vector<ClassId> factor_classes(OpId loop, const Contraction&) const;
  void plan_contractions();
  /// Whether the code before the step of a loop can compute the addresses and the mask of a store, and nothing comes between the two.
  bool may_store_in_loop(OpId loop, OpId store) const;
  bool is_known_before(OpId loop, ValueId) const;
  /// The step that loads a right factor that can be read in memory, and does nothing else; null if there is none.
  Step* step_of_right(const ContractedDot&);
  /// Whether the buffer of a right factor is written by stores of a loop nest, and read by this dot alone.
  bool is_only_filled_for(OpId dot, ClassId) const;
  void plan_kept_factors(OpId loop, Contraction&);
  void plan_lifetimes();

  const Function& f_;
  const std::optional<MemoryAxes> memory_;
  std::vector<Schedule> schedule_;
  std::vector<int> cost_;  // the cost of computing a value at each use
  std::vector<ClassId> class_;
  mutable std::vector<ClassId> parent_;
  std::vector<std::int64_t> class_bytes_;
  struct Factor {
    std::int64_t iterations = 1, kept_blocks = 0;
    Panels panels;
  };
  const Factor& factor(ClassId c) const { return class_factor_[find(c)]; }
  std::vector<Factor> class_factor_;
  std::vector<std::optional<ir::Type>> register_tiles_;  // indexed by class
  std::vector<BlockPlan> blocks_;
  std::vector<std::int32_t> step_of_;  // indexed by op: the step of its block that it belongs to
  struct Filled {
    OpId op;
    int operand;
    ClassId into;
  };
  std::vector<Filled> filled_;
  std::map<OpId, Contraction> contractions_;  // by loop
  std::map<OpId, InPlaceFactor> rights_;      // by dot
  std::map<OpId, OpId> right_of_;             // by the load of a right factor: its dot
};

/// Whether an op is a step of its own that reads whole operands from buffers and writes whole results to buffers (scalars: values). This
/// holds for every op of the table that the planner does not handle in another way.
bool works_on_buffers(ir::OpKind);
/// The blocks in which a tile is transposed by vectors of `lanes` 32-bit lanes; the tile has `rows` rows, in which `columns` elements are
/// neighbours. None if the tile has less than 16 bytes in either direction.
std::optional<TransposedBlock> transposed_block(int lanes, int element_bytes, std::int64_t rows, std::int64_t columns);
/// The extents other than 1, in order.
std::vector<std::int64_t> squeezed(const ir::Type&);
/// The axes with extents other than 1, in order, numbered 0, 1, ...
AxisMap squeezed_axes(const ir::Type&);

}  // namespace tilewright::backend::host
