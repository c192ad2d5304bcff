// Tile IR: functions of structured control flow over tiles. Objects are 32-bit ids into pools that a Function owns, so a Function
// copies, compares and hashes by value.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tileir/layout/linear_layout.h"
#include "tileir/op_info.h"
#include "tileir/type.h"
#include "tilewright/error.h"

namespace tilewright::ir {

/// An index into a pool of a Function; a default-constructed id means none.
template <class Tag>
struct Id {
  std::uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  explicit operator bool() const { return valid(); }
  friend auto operator<=>(const Id&, const Id&) = default;
};
using ValueId = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;
using BlockId = Id<struct BlockTag>;
using LayoutId = Id<struct LayoutTag>;

/// The source location of an op: an index into Function::files, line and column; line 0 if not known.
struct Loc {
  std::uint32_t file = 0, line = 0, column = 0;
  friend bool operator==(const Loc&, const Loc&) = default;
};

/// The name of a kernel parameter and its argument attributes: facts that each launch guarantees.
struct Param {
  std::string name;
  std::int64_t divisible_by = 1;  // of an integer's value, or of a pointer's address in bytes
  bool disjoint = false;          // a pointer: no other parameter points into the memory that this one points into (LLVM: noalias)
  bool positive = false;          // an integer: from 1 to 2^31 - 1
  friend bool operator==(const Param&, const Param&) = default;
};

struct OpData {
  OpKind kind{};
  Loc loc;
  BlockId parent;   // none after the op was erased
  OpId prev, next;  // within the parent
  std::vector<ValueId> operands, results;
  std::vector<BlockId> regions;  // each region is one block
  std::vector<Attr> attrs;       // in the order of the op's row; absent ones are left out
};

struct BlockData {
  OpId parent;  // the op whose region this is; none for the body of the function
  OpId first, last;
  std::vector<ValueId> args;
};

struct ValueData {
  Type type;
  OpId op;                   // the op that defines it, or none:
  BlockId block;             // the block whose argument it is
  std::uint32_t number = 0;  // which result or argument
  LayoutId layout;           // the layout of a tile in a distributed function, else none
  std::vector<OpId> users;   // an op appears once for each of its operands that is this value
};

/// One kernel, in one of three stages. Traced: as the user wrote it, for any target. Distributed: every tile except scalars has a layout
/// (each thread holds all scalars). Allocated: in addition, every op that needs shared memory has its offset (attribute shared).
class Function {
 public:
  Function() = default;
  explicit Function(std::string name);

  std::string name;
  std::vector<Param> params;       // those of the arguments of body()
  std::vector<std::string> files;  // indexed by Loc::file

  BlockId body() const { return BlockId{0}; }

  // ---- reading ----
  const OpData& op(OpId id) const { return ops_[id.index]; }
  const BlockData& block(BlockId id) const { return blocks_[id.index]; }
  const ValueData& value(ValueId id) const { return values_[id.index]; }
  OpKind kind(OpId id) const { return op(id).kind; }
  Type type(ValueId id) const { return value(id).type; }
  ValueId operand(OpId id, int i) const { return op(id).operands[i]; }
  ValueId result(OpId id, int i = 0) const { return op(id).results[i]; }
  BlockId region(OpId id, int i = 0) const { return op(id).regions[i]; }
  ValueId arg(BlockId b, int i) const { return block(b).args[i]; }
  /// The attribute's number, or 0 if the op does not have it.
  std::int64_t attr(OpId, AttrName) const;
  const std::vector<std::int64_t>& attr_list(OpId, AttrName) const;
  /// The text of a string attribute, empty if the op does not have it.
  const std::string& attr_text(OpId, AttrName) const;
  bool has_attr(OpId, AttrName) const;
  /// The last op of a block: its terminator, if it has one.
  OpId terminator(BlockId b) const { return block(b).last; }
  /// The op that defines a value if it is of this kind, else none.
  OpId defined_by(ValueId, OpKind) const;
  bool has_uses(ValueId id) const { return !value(id).users.empty(); }
  LayoutId layout_id(ValueId id) const { return value(id).layout; }
  /// Requires: the value has a layout.
  const LinearLayout& layout(ValueId id) const { return layouts_[value(id).layout.index]; }
  const LinearLayout& layout(LayoutId id) const { return layouts_[id.index]; }
  std::size_t layout_count() const { return layouts_.size(); }
  bool is_distributed() const { return !layouts_.empty(); }
  /// The bits of a constant, if the value is one (a splat of any shape).
  std::optional<std::uint64_t> constant_bits(ValueId) const;

  /// The ops of a block in order. The current op may be erased during the iteration.
  class OpRange;
  OpRange ops(BlockId) const;
  /// Calls visit(OpId) for every op, outer ones first, in program order.
  template <class F>
  void walk(BlockId, F&& visit) const;
  template <class F>
  void walk(F&& visit) const {
    walk(body(), visit);
  }

  std::size_t op_capacity() const { return ops_.size(); }  // every id is below this
  std::size_t value_capacity() const { return values_.size(); }
  std::size_t block_capacity() const { return blocks_.size(); }
  bool erased(OpId id) const { return !op(id).parent.valid(); }
  /// Whether `inner` is `outer` or nested in it.
  bool encloses(BlockId outer, BlockId inner) const;
  /// The block a value is defined in.
  BlockId defining_block(ValueId) const;
  Location where(OpId) const;
  Location where(ValueId) const;  // where the op is that defines the value, or whose block has it as an argument

  // ---- building; used by Builder, the parser and Rewriter only ----
  std::uint32_t add_file(const std::string&);
  /// A new op at the end of a block, or before an op of it.
  OpId create_op(OpKind, Loc, std::span<const ValueId> operands, std::span<const Type> results, std::vector<Attr> attrs, BlockId at,
                 OpId before = {});
  BlockId add_region(OpId);
  ValueId add_arg(BlockId, Type);
  ValueId add_param(Type, Param);
  ValueId add_result(OpId, Type);
  void set_type(ValueId id, Type t) { values_[id.index].type = t; }
  /// The layout's id: equal layouts have one.
  LayoutId add_layout(const LinearLayout&);
  void set_layout(ValueId id, LayoutId layout) { values_[id.index].layout = layout; }
  void set_attr(OpId, Attr);
  void erase_attr(OpId, AttrName);

  // ---- changing ----
  void set_operand(OpId, int i, ValueId);
  void add_operand(OpId, ValueId);
  void erase_operand(OpId, int i);
  /// Every use of `from` becomes a use of `to`.
  void replace_uses(ValueId from, ValueId to);
  /// Removes an op and what is nested in it. Requires: no result has a use.
  void erase(OpId);
  /// Requires: no use.
  void erase_arg(BlockId, int i);
  void erase_result(OpId, int i);
  /// Moves an op before another one (in any block), or to the end of a block.
  void move_before(OpId, OpId where);
  void move_to_end(OpId, BlockId);

 private:
  void link(OpId, BlockId at, OpId before);
  void unlink(OpId);
  void drop_use(ValueId, OpId user);

  std::vector<OpData> ops_;
  std::vector<BlockData> blocks_;
  std::vector<ValueData> values_;
  std::vector<LinearLayout> layouts_;
};

/// The kernels of a file of textual IR.
struct Module {
  std::vector<Function> functions;
};

class Function::OpRange {
 public:
  class Iterator {
   public:
    Iterator(const Function& f, OpId at) : f_(&f), at_(at), next_(at ? f.op(at).next : OpId{}) {}
    OpId operator*() const { return at_; }
    Iterator& operator++() {
      at_ = next_;
      next_ = at_ ? f_->op(at_).next : OpId{};
      return *this;
    }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    const Function* f_;
    OpId at_, next_;
  };
  OpRange(const Function& f, BlockId b) : f_(&f), first_(f.block(b).first) {}
  Iterator begin() const { return {*f_, first_}; }
  Iterator end() const { return {*f_, {}}; }

 private:
  const Function* f_;
  OpId first_;
};
inline Function::OpRange Function::ops(BlockId b) const { return {*this, b}; }

template <class F>
void Function::walk(BlockId b, F&& visit) const {
  for (OpId id : ops(b)) {
    const std::vector<BlockId> regions = op(id).regions;  // a copy: visit may add ops
    visit(id);
    if (erased(id)) continue;
    for (BlockId r : regions) walk(r, visit);
  }
}

}  // namespace tilewright::ir
