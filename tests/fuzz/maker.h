// The state of one generation: the function so far and the values that may be used next.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tests/fuzz/generator_options.h"
#include "tests/fuzz/program.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/signatures.h"
#include "tileir/builder.h"

namespace tilewright::fuzz {

using ir::Element;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;
using Shape = std::vector<std::int64_t>;

/// Arguments of a call are evaluated in the compiler's own order: no call here has two that draw numbers or make ops, so that a seed gives
/// the same program everywhere.
class Maker {
 public:
  Maker(std::uint64_t seed, const GeneratorOptions&);
  Program make();

 private:
  /// A buffer, or the part of it that belongs to the running program: elements [0, length) from `pointer`.
  struct Region {
    ValueId pointer;  // the parameter
    int parameter;
    Element element;
    std::int64_t length;
    bool sliced;  // the part starts `length` times the program's number into the buffer
    bool writable;
  };
  /// A tile of addresses within a region, and the mask without which some would not be (none: all are).
  struct Access {
    ValueId address, mask;
  };
  /// A tile of non-negative offsets, at most `greatest`. Along the last axis there are aligned runs of `run` consecutive offsets, each
  /// starting at a multiple of `multiple`; hints may promise this.
  struct Offsets {
    ValueId value;
    std::int64_t greatest;
    std::int64_t run = 1, multiple = 1;
  };

  // ---- generator.cpp: steps and values ----
  void choose_shapes();
  void step();
  void steps(int n);
  void elementwise_step();
  void shape_step();
  ir::Attr axis_of(Type);
  void store_sinks();
  /// A value of this type: usually an existing one, else converted from another type, loaded or constant.
  ValueId value_of(Type);
  ValueId convert_to(Type);
  ValueId constant(Type);
  /// Some value of the pool, later ones preferred; none if no one passes.
  ValueId pick(const std::function<bool(Type)>& accept);
  /// Another value of v's type, made by an op on v.
  ValueId changed(ValueId v);
  /// x with its NaNs replaced, because their bits may differ.
  ValueId without_nan(ValueId x);
  ValueId scalar_condition();
  ValueId keep(ValueId v) {
    pool_.push_back(v);
    return v;
  }
  ir::Loc next_loc();
  Type any_type();
  ValueId result(ir::OpId id) const { return f_.result(id); }
  ValueId index_constant(const Shape& shape, Element e, std::int64_t v) { return b_.constant(Type(e, shape), v); }

  // ---- maker_memory.cpp ----
  Region& input_region(Element, std::int64_t want);
  Region& output_region(Element, std::int64_t want);
  ValueId scalar_parameter(Type, std::uint64_t bits);
  std::vector<std::byte> random_contents(Element, std::int64_t count);
  std::uint64_t random_bits(Element, int wildness);
  ValueId program_number();
  /// An injective tile of offsets where `injective`, else any.
  Offsets offsets(const Shape&, std::int64_t length, bool injective);
  Offsets affine_offsets(const Shape&, bool permuted);
  /// Any integers modulo the length.
  Offsets gathered_offsets(const Shape&, std::int64_t length);
  Offsets narrowed(Offsets);
  Offsets hinted(Offsets);
  Access access(const Region&, const Shape&, bool injective);
  ValueId addresses(const Region&, Offsets);
  std::vector<ir::Attr> random_attributes(OpKind);
  ValueId load(const Region&, const Shape&);
  void store(const Region&, ValueId);
  void load_step();
  void store_step();
  void masked_map_step();
  /// An element-wise op on v.
  ValueId mapped(ValueId v);
  /// A loop that walks through memory with a carried pointer or offset.
  void walk_step();

  // ---- maker_overlap.cpp ----
  /// A second parameter for the memory of a region, `shift` elements behind its start.
  Region shifted_region(const Region&, std::int64_t shift);
  /// Loads a tile, or the tiles of a loop, changes it and stores it to overlapping memory.
  void overlap_step();

  // ---- maker_tiles.cpp ----
  /// Tiles to combine and how: the operands of a reduce or a scan, and what its region makes of an earlier and a later element of each.
  struct Combination {
    std::vector<ValueId> operands;
    bool commutative = false;
    std::function<std::vector<ValueId>(const std::vector<ValueId>&)> combine;
  };
  std::optional<Combination> combination(ValueId x);
  Combination greatest_with_index(ValueId x);
  Combination segments(ValueId x);
  /// Fills the region of an op that combines elements of these types.
  void combine_region(OpId, const std::vector<Type>&, const std::function<std::vector<ValueId>(const std::vector<ValueId>&)>&);
  void reduce_step();
  void scan_step();
  void sort_step();
  void gather_step();
  void histogram_step();

  // ---- maker_dot.cpp ----
  void dot_step();
  void dot_scaled_step();
  /// A loop of products of tiles that it loads.
  void dot_loop_step();
  ValueId tile_by_table(const Region&, ValueId counter, std::int64_t rows);
  /// Integers from -3 to 4, of the lowest bits of each element as an integer.
  ValueId small_integers(ValueId);
  /// A parameter of integers from -3 to 4.
  Region small_integer_region(Element, std::int64_t length);
  /// A parameter with this contents that no other step uses.
  Region own_region(Element, std::vector<std::byte> contents);

  // ---- maker_products.cpp ----
  void matrix_product_step();

  // ---- maker_effects.cpp ----
  void atomic_step();
  /// On memory that each program instance updates: atomics that commute, whose results are not used.
  void shared_atomic_step();
  void meeting_atomic_step();
  enum class Sharing { none, by_programs };
  ir::ValueId create_atomic(OpKind, Element, const std::vector<ValueId>& operands, Sharing, bool keep_result);
  OpKind binary_op(Element);
  /// Holds in every lane, which the passes may or may not see.
  ValueId true_condition(const Shape&);
  void hint_step();
  void print_step();
  void assert_step();
  void ptx_step();

  // ---- maker_control.cpp ----
  void for_step();
  void if_step();
  void while_step();
  struct Range {
    ValueId lo, hi, step;
  };
  Range loop_range();
  /// Runs `body` with a block as insertion point; what it puts in the pool is forgotten.
  void within(ir::BlockId, const std::function<void()>& body);
  std::vector<ValueId> carried_values(int most);

  Random r_;
  GeneratorOptions options_;
  Program p_;
  ir::Function& f_;
  ir::Builder b_;
  std::vector<ValueId> pool_;
  std::vector<Shape> shapes_;
  std::vector<Region> regions_;
  ValueId program_number_;
  int depth_ = 0;   // nesting depth of regions at the insertion point
  int making_ = 0;  // recursion depth of value_of
  std::uint32_t line_ = 0;
};

}  // namespace tilewright::fuzz
