// The rules of canonicalize by op family. Every rule is exact: the program computes the same bits, except for the payloads of NaNs.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>

#include "passes/rewriter.h"

namespace tilewright::passes::canonical {

// ---- rules for an op with one result: the value that replaces it, or none if no rule applies ----

/// Constant operands, and the operand order of commutative ops and comparisons (constants go last; done in place).
ir::ValueId fold_constants(Rewriter&, ir::OpId);
/// Integers and bools: add, sub, mul, div, rem, bits, shifts, minimum, maximum.
ir::ValueId fold_integer(Rewriter&, ir::OpId);
/// Floats: rules that hold for every input, including NaN, infinities and both zeros.
ir::ValueId fold_float(Rewriter&, ir::OpId);
/// Comparisons, select, and bit_not of either.
ir::ValueId fold_choice(Rewriter&, ir::OpId);
/// cast, bitcast, add_ptr.
ir::ValueId fold_convert(Rewriter&, ir::OpId);
/// reshape, broadcast, permute, flip, join, cat, gather, arange, and element-wise ops over broadcasts.
ir::ValueId fold_shape(Rewriter&, ir::OpId);

// ---- rules that change the op or its surroundings; true if one applied ----

/// split of a join, or of equal elements.
bool fold_split(Rewriter&, ir::OpId);
/// sort along an extent of 1.
bool fold_sort(Rewriter&, ir::OpId);
/// load, store: constant masks.
bool fold_memory(Rewriter&, ir::OpId);
/// reshape(load(p)) -> load(reshape(p)), where the reshape drops axes of one element and is the only use.
bool drop_unit_axes_of_load(Rewriter&, ir::OpId);
/// store(p, reshape(x)) -> store(reshape(p), x), where the reshape adds axes of one element.
bool drop_unit_axes_of_store(Rewriter&, ir::OpId);
/// for, if, while, reduce, scan: known trip counts and conditions, loop-carried values that do not change.
bool fold_control(Rewriter&, ir::OpId);
/// Dead code elimination of ops, loops, loop-carried values and results of if. A while may not end, so it is kept.
bool remove_dead(Rewriter&);

// ---- properties of values that rules use ----

/// The number of iterations of a for with constant bounds and step.
std::optional<std::uint64_t> constant_trip_count(const ir::Function&, ir::OpId loop);

/// A mask of bits [0, width) for a value of this element type.
inline std::uint64_t element_mask(ir::Element e) { return ~std::uint64_t{0} >> (64 - ir::bits(e)); }

/// A binary op whose second operand may be a constant: the form that most rules match.
struct Binary {
  Binary(const ir::Function& f, ir::OpId id)
      : a(f.operand(id, 0)),
        b(f.operand(id, 1)),
        type(f.type(a)),
        element(type.element()),
        width(ir::bits(element)),
        c(f.constant_bits(b)) {
    if (c) *c &= element_mask(element);
  }
  bool is(std::uint64_t bits) const { return c && *c == bits; }
  bool is_all_ones() const { return c && *c == element_mask(element); }
  bool is_power_of_two() const { return c && std::has_single_bit(*c); }

  ir::ValueId a, b;
  ir::Type type;  // type of the operands
  ir::Element element;
  int width;
  std::optional<std::uint64_t> c;  // the bits of b, if it is constant
};

/// Operand i of the op that defines `v`, if that op is of this kind; else none.
inline ir::ValueId operand_of(const ir::Function& f, ir::ValueId v, ir::OpKind k, int i = 0) {
  const ir::OpId id = f.defined_by(v, k);
  return id ? f.operand(id, i) : ir::ValueId{};
}

}  // namespace tilewright::passes::canonical
