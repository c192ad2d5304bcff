// Values of tiles at the current index of a loop nest.
#include "backend/host/nest.h"

#include <array>

#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

enum class Form : unsigned { scalar = 0, vector = 1, splat = 2 };

/// Identifies a value with its index mapping: 5 axes of 3 bits.
std::uint64_t key_of(ValueId v, const AxisMap& dims, Form form) {
  std::uint64_t key = v.index;
  for (std::int8_t d : dims) key = key << 3 | static_cast<std::uint64_t>(d + 1);
  return key << 2 | static_cast<unsigned>(form);
}

/// The number of outermost dimensions on which a value depends.
int depth_of(const AxisMap& dims) {
  int depth = 0;
  for (std::int8_t d : dims) depth = std::max(depth, d + 1);
  return depth;
}

}  // namespace

void Nest::enter(int dim) {
  scopes_[static_cast<std::size_t>(dim)].block = e_.b().GetInsertBlock();
  scopes_[static_cast<std::size_t>(dim)].memo.clear();
}

void Nest::begin_lanes() {
  scopes_.back().memo.clear();
  registers_.clear();
}

void Nest::move_to(int depth) {
  if (depth < dims()) e_.b().SetInsertPoint(scopes_[static_cast<std::size_t>(depth)].block->getTerminator());
}

bool Nest::uses_vector_dim(const AxisMap& dims) const {
  if (!is_vectorised()) return false;
  for (std::int8_t d : dims)
    if (d == vector_dim()) return true;
  return false;
}

AxisMap Nest::through(const Source& s, const AxisMap& dims) const {
  AxisMap through = kNoAxes;
  for (int i = 0; i < e_.f().type(s.value).rank(); ++i)
    if (s.map[i] >= 0) through[i] = dims[s.map[i]];
  return through;
}

void Nest::assume_true(const std::vector<ValueId>& masks) {
  for (ValueId v : masks) known_true_.insert(v.index);
}

AxisMap Nest::dims_of(Type t) const {
  AxisMap dims = squeezed_axes(t);
  if (step_.is_interchanged)
    for (std::int8_t& d : dims)
      if (d >= 0) d = step_.dims_of_axes[static_cast<std::size_t>(d)];
  return dims;
}

Value* Nest::operand(ValueId v, bool vector) {
  const Type t = e_.f().type(v);
  return evaluate(v, t.is_scalar() ? kNoAxes : dims_of(t), vector);
}

Value* Nest::splat(Value* s, int depth, std::uint64_t key) {
  auto& memo = scopes_[static_cast<std::size_t>(depth)].memo;
  if (const auto it = memo.find(key); it != memo.end()) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(e_.b());
  move_to(depth);
  return memo[key] = e_.b().CreateVectorSplat(lanes_, s);
}

Value* Nest::evaluate(ValueId v, const AxisMap& dims, bool vector) {
  const Function& f = e_.f();
  const Type t = f.type(v);
  if (known_true_.contains(v.index)) return constant_lanes(e_.context(), t, 1, vector ? lanes_ : 0);
  if (t.is_scalar()) return vector ? splat(e_.scalar(v), 0, key_of(v, kNoAxes, Form::splat)) : e_.scalar(v);
  if (const OpId def = f.value(v).op; def && e_.plan().is_alias(def)) {
    const Source s = e_.plan().resolve(v);
    return evaluate(s.value, through(s, dims), vector);
  }
  if (has_register(v)) {
    TW_CHECK(dims == dims_of(t), "a value in registers is asked for at another index");
    Value* value = in_register(v);
    return vector || !is_vectorised() ? value : e_.b().CreateExtractElement(value, std::uint64_t{0});
  }
  const int depth = depth_of(dims);
  if (vector && !uses_vector_dim(dims)) return splat(evaluate(v, dims, false), depth, key_of(v, dims, Form::splat));
  auto& memo = scopes_[static_cast<std::size_t>(depth)].memo;
  const std::uint64_t key = key_of(v, dims, vector ? Form::vector : Form::scalar);
  if (const auto it = memo.find(key); it != memo.end()) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(e_.b());
  move_to(depth);
  Value* result = compute(v, dims, vector);
  return memo[key] = result;
}

Value* Nest::compute(ValueId v, const AxisMap& dims, bool vector) {
  const Function& f = e_.f();
  llvm::IRBuilder<>& b = e_.b();
  const Type t = f.type(v);
  const Schedule schedule = e_.plan().schedule(v);
  if (schedule == Schedule::buffered || schedule == Schedule::fused) {
    TW_CHECK(e_.plan().has_buffer(v), "a tile is read that was never stored");
    return read_tile(e_.plan().class_of(v), t, dims, vector);
  }
  const OpId id = f.value(v).op;
  const auto& op = f.op(id);
  switch (op.kind) {
    case OpKind::constant_:
      return constant_lanes(e_.context(), t, static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value)), vector ? lanes_ : 0);
    case OpKind::arange_: {
      const auto lo = static_cast<std::uint32_t>(f.attr(id, ir::AttrName::lo));
      if (dims[0] < 0) return b.getInt32(lo);
      Value* first = b.CreateAdd(b.CreateTrunc(index(dims[0]), b.getInt32Ty()), b.getInt32(lo));
      if (!vector) return first;
      // Masks that are constant in some lanes only are miscompiled (loop_nest.cpp).
      if (step_.is_unrolled) first = b.CreateAdd(first, b.CreateTrunc(e_.unknown_zero(), b.getInt32Ty()));
      std::vector<llvm::Constant*> steps;
      for (unsigned i = 0; i < lanes_; ++i) steps.push_back(b.getInt32(i));
      return b.CreateAdd(b.CreateVectorSplat(lanes_, first), llvm::ConstantVector::get(steps));
    }
    case OpKind::broadcast_:
    case OpKind::reshape_: return evaluate(op.operands[0], kNoAxes, vector);  // a reshape of a scalar
    default: break;
  }
  std::vector<Type> types;
  Values operands;
  for (ValueId x : op.operands) {
    types.push_back(f.type(x));
    operands.push_back(evaluate(x, dims, vector));
  }
  return lower_elementwise(b, e_.target(), op.kind, types, t, operands);
}

/// The row-major index into a buffer of this type; in a vector, the index of the first lane.
Value* Nest::buffer_index(Type t, const AxisMap& dims) {
  llvm::IRBuilder<>& b = e_.b();
  // The terms of outer dimensions are added in outer blocks, so that the innermost loop adds only one index.
  Value* sum = e_.i64(0);
  int log2_stride = 0;
  std::array<int, ir::kMaxRank> stride{};
  for (int i = t.rank() - 1; i >= 0; --i) {
    stride[i] = log2_stride;
    log2_stride += t.log2_extent(i);
  }
  for (int depth = 1; depth <= this->dims(); ++depth) {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    move_to(depth);
    for (int i = 0; i < t.rank(); ++i)
      if (dims[i] == depth - 1) sum = b.CreateAdd(sum, b.CreateShl(index(dims[i]), stride[i], "", true, true), "", true, true);
  }
  return sum;
}

std::int64_t Nest::element_number(Type t, const AxisMap& dims) const {
  std::int64_t number = 0;
  int log2_stride = 0;
  for (int i = t.rank() - 1; i >= 0; --i) {
    if (dims[i] >= 0 && t.log2_extent(i) > 0) number += number_[static_cast<std::size_t>(dims[i])] << log2_stride;
    log2_stride += t.log2_extent(i);
  }
  return number;
}

Value* Nest::read_tile(ClassId c, Type t, const AxisMap& dims, bool vector) {
  if (!e_.plan().in_registers(c)) return load_buffer(e_.buffer(c), t, dims, vector);
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t lanes = e_.register_lanes(c), number = element_number(t, dims);
  TW_CHECK(!vector || (lanes_ == lanes && number % lanes == 0), "a vector of elements of two vectors");
  llvm::AllocaInst* part = e_.register_part(c, number / lanes);
  Value* v = b.CreateLoad(part->getAllocatedType(), part);
  if (!vector && lanes > 1) v = b.CreateExtractElement(v, static_cast<std::uint64_t>(number % lanes));
  return b.CreateBitCast(v, with_lanes_of(register_type(e_.context(), t), v));
}

void Nest::write_tile(ClassId c, Type t, const AxisMap& dims, Value* v, const Panels* panels) {
  if (!e_.plan().in_registers(c)) return store_buffer(buffer(c), t, dims, v, panels);
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t lanes = e_.register_lanes(c), number = element_number(t, dims);
  llvm::AllocaInst* part = e_.register_part(c, number / lanes);
  llvm::Type* type = part->getAllocatedType();
  v = b.CreateBitCast(v, with_lanes_of(type->getScalarType(), v));
  if (lane_count(v) < lanes) v = b.CreateInsertElement(b.CreateLoad(type, part), v, static_cast<std::uint64_t>(number % lanes));
  b.CreateStore(v, part);
}

Value* Nest::load_buffer(Value* base, Type t, const AxisMap& dims, bool vector) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* element = memory_type(e_.context(), t);
  const int size = t.element_bytes();
  Value* index = buffer_index(t, dims);
  if (!vector) return e_.from_memory(b.CreateAlignedLoad(element, b.CreateInBoundsGEP(element, base, index), llvm::Align(size)), t);
  // The distance between lanes: the stride of the axis that the vector dimension runs along.
  int log2_stride = 0;
  for (int i = t.rank() - 1; i >= 0 && dims[i] != vector_dim(); --i) log2_stride += t.log2_extent(i);
  auto* lanes = llvm::FixedVectorType::get(element, lanes_);
  if (log2_stride == 0) {
    const llvm::Align align(is_unaligned_ ? static_cast<unsigned>(size) : std::min<unsigned>(64, lanes_ * static_cast<unsigned>(size)));
    return e_.from_memory(b.CreateAlignedLoad(lanes, b.CreateInBoundsGEP(element, base, index), align), t);
  }
  Value* v = llvm::PoisonValue::get(lanes);
  for (unsigned i = 0; i < lanes_; ++i) {
    Value* at = b.CreateAdd(index, e_.i64(static_cast<std::int64_t>(i) << log2_stride), "", true, true);
    v = b.CreateInsertElement(v, b.CreateAlignedLoad(element, b.CreateInBoundsGEP(element, base, at), llvm::Align(size)), i);
  }
  return e_.from_memory(v, t);
}

Value* Nest::buffer(ClassId c) {
  llvm::IRBuilderBase::InsertPointGuard guard(e_.b());
  move_to(0);
  return e_.buffer(c);
}

/// Element [row, column] of a buffer in panels.
Value* Nest::panel_element(llvm::Type* element, Value* base, const AxisMap& dims, const Panels& panels) {
  llvm::IRBuilder<>& b = e_.b();
  if (dims[0] >= 0) {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    move_to(dims[0] + 1);
    base = b.CreateInBoundsGEP(element, base, b.CreateMul(index(dims[0]), e_.i64(panels.columns), "", true, true));
  }
  if (dims[1] < 0) return base;
  // The panel's first column is panels.columns * panels.rows elements behind that of the panel before.
  Value* const column = index(dims[1]);
  Value* const ahead = b.CreateMul(b.CreateAnd(column, e_.i64(-panels.columns)), e_.i64(panels.rows - 1), "", true, true);
  return b.CreateInBoundsGEP(element, base, b.CreateAdd(column, ahead, "", true, true));
}

void Nest::store_buffer(Value* base, Type t, const AxisMap& dims, Value* v, const Panels* panels) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* element = memory_type(e_.context(), t);
  const unsigned align = static_cast<unsigned>(t.element_bytes()) * lane_count(v);
  Value* at = panels ? panel_element(element, base, dims, *panels) : b.CreateInBoundsGEP(element, base, buffer_index(t, dims));
  b.CreateAlignedStore(e_.to_memory(v, t), at, llvm::Align(std::min(64u, align)));
}

}  // namespace tilewright::backend::host
