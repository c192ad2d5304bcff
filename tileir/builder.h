// Makes ops at an insertion point, with their result types inferred and checked by the table's rules.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// Copies of values by the values that they are copies of (MLIR's IRMapping).
class ValueMap {
 public:
  void set(ValueId from, ValueId to) { copies_[from.index] = to; }
  bool contains(ValueId v) const { return copies_.count(v.index) != 0; }
  /// The copy of a value; the value itself if it has none.
  ValueId operator()(ValueId v) const {
    const auto at = copies_.find(v.index);
    return at == copies_.end() ? v : at->second;
  }

 private:
  std::unordered_map<std::uint32_t, ValueId> copies_;
};

class Builder {
 public:
  /// Inserts at the end of the body.
  explicit Builder(Function& f) : f_(&f), block_(f.body()) {}

  Function& function() { return *f_; }
  Loc loc() const { return loc_; }
  void set_loc(Loc l) { loc_ = l; }
  BlockId block() const { return block_; }
  void at_end(BlockId b) { block_ = b, before_ = {}; }
  void at_start(BlockId b) { block_ = b, before_ = f_->block(b).first; }
  void before(OpId id) { block_ = f_->op(id).parent, before_ = id; }
  void after(OpId id) { block_ = f_->op(id).parent, before_ = f_->op(id).next; }

  /// Any op. Throws Error at the current location, with a note at the operand at fault, if the table's rule refuses it.
  OpId create(OpKind, std::span<const ValueId> operands, std::vector<Attr> attrs = {}, std::span<const Type> declared = {});
  /// A copy of an op with its regions, at the op's location. Uses of a value become uses of its copy in the map; the map gets the copies of
  /// the op's results and of what its regions define. Layouts are copied.
  OpId clone(OpId, ValueMap&);

  // ---- short forms; each returns the result ----
  /// A splat of `bits` (the element's bits in the low end; bool 0 or 1).
  ValueId constant_bits(Type, std::uint64_t bits);
  /// A splat; integers are taken modulo the width, floats rounded to nearest even.
  ValueId constant(Type, std::int64_t);
  ValueId constant_float(Type, double);
  ValueId unary(OpKind, ValueId);
  ValueId binary(OpKind, ValueId, ValueId);
  ValueId ternary(OpKind, ValueId, ValueId, ValueId);
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId cast(ValueId, Element);                                 // the value itself if it has that element already
  ValueId bitcast(ValueId, Type element_of);                      // shape of the value, element (and pointerness) of the type
  ValueId reshape(ValueId, std::span<const std::int64_t> shape);  // the value itself if it has that shape already
  ValueId broadcast(ValueId, std::span<const std::int64_t> shape);
  ValueId permute(ValueId, std::span<const std::int64_t> axes);
  ValueId arange(std::int64_t lo, std::int64_t hi);
  ValueId add_ptr(ValueId pointer, ValueId offset);

 private:
  Function* f_;
  BlockId block_;
  OpId before_;
  Loc loc_;
};

/// The bits of a constant of this element: integers modulo the width, floats rounded to nearest even, bool != 0.
std::uint64_t element_bits(Element, std::int64_t);
std::uint64_t element_bits(Element, double);
/// The value of float bits, exactly; the value of integer bits.
double float_value(Element, std::uint64_t bits);
std::int64_t integer_value(Element, std::uint64_t bits);  // u64 keeps its bits

}  // namespace tilewright::ir
