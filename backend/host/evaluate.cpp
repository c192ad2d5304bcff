// The value of a tile at the current index of a loop nest: from registers, from a buffer, or computed again; put as far out as the
// indices it depends on allow.
#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

namespace {
/// Identifies a value under an index mapping: 5 axes of 3 bits.
std::uint64_t key_of(std::uint32_t value, const AxisMap& dims, unsigned flavour) {
  std::uint64_t key = value;
  for (std::int8_t d : dims) key = key << 3 | static_cast<std::uint64_t>(d + 1);
  return key << 2 | flavour;
}
constexpr unsigned kScalarFlavour = 0, kVectorFlavour = 1, kSplatFlavour = 2, kIndexFlavour = 3;
}  // namespace

int HostLowering::depth_of(const Nest&, const AxisMap& dims) const {
  int depth = 0;
  for (std::int8_t d : dims) depth = std::max(depth, d + 1);
  return depth;
}

bool HostLowering::uses_vector_dim(const Nest& nest, const AxisMap& dims) const {
  if (!nest.vectorised()) return false;
  for (std::int8_t d : dims)
    if (d == nest.vector_dim()) return true;
  return false;
}

Value* HostLowering::operand(Nest& nest, ValueId v, bool vector) {
  const Type t = f_.type(v);
  return evaluate(nest, v, t.is_scalar() ? kNoAxes : squeezed_axes(t), vector);
}

Value* HostLowering::splat(Nest& nest, Value* s, int depth, std::uint64_t key) {
  auto& memo = nest.scopes[depth].memo;
  if (const auto it = memo.find(key); it != memo.end()) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  if (depth < nest.dims) b_.SetInsertPoint(nest.scopes[depth].block->getTerminator());
  return memo[key] = b_.CreateVectorSplat(nest.lanes, s);
}

Value* HostLowering::evaluate(Nest& nest, ValueId v, const AxisMap& dims, bool vector) {
  const Type t = f_.type(v);
  if (nest.known_true.contains(v.index)) return constant_lanes(c_, t, 1, vector ? nest.lanes : 0);
  if (t.is_scalar()) return vector ? splat(nest, scalar(v), 0, key_of(v.index, kNoAxes, kSplatFlavour)) : scalar(v);
  if (const OpId def = f_.value(v).op; def && is_view(f_, def)) {
    const Source s = plan_.resolve(v);
    AxisMap through = kNoAxes;
    for (int i = 0; i < f_.type(s.value).rank(); ++i)
      if (s.map[i] >= 0) through[i] = dims[s.map[i]];
    return evaluate(nest, s.value, through, vector);
  }
  if (const auto it = nest.registers.find(v.index); it != nest.registers.end()) {
    TW_CHECK(dims == squeezed_axes(t), "a value in registers is asked for at another index");
    return vector || !nest.vectorised() ? it->second : b_.CreateExtractElement(it->second, std::uint64_t{0});
  }
  const int depth = depth_of(nest, dims);
  if (vector && !uses_vector_dim(nest, dims))
    return splat(nest, evaluate(nest, v, dims, false), depth, key_of(v.index, dims, kSplatFlavour));
  auto& memo = nest.scopes[depth].memo;
  const std::uint64_t key = key_of(v.index, dims, vector ? kVectorFlavour : kScalarFlavour);
  if (const auto it = memo.find(key); it != memo.end()) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  if (depth < nest.dims) b_.SetInsertPoint(nest.scopes[depth].block->getTerminator());
  Value* result = evaluate_new(nest, v, dims, vector);
  return memo[key] = result;
}

Value* HostLowering::evaluate_new(Nest& nest, ValueId v, const AxisMap& dims, bool vector) {
  const Type t = f_.type(v);
  if (plan_.place(v) == Place::stored || plan_.place(v) == Place::looped) {
    TW_CHECK(plan_.is_stored(v), "a tile is read that was never stored");
    return load_buffer(nest, buffer(plan_.class_of(v)), t, dims, vector);
  }
  const OpId id = f_.value(v).op;
  const auto& op = f_.op(id);
  switch (op.kind) {
    case OpKind::constant_:
      return constant_lanes(c_, t, static_cast<std::uint64_t>(f_.attr(id, ir::AttrName::value)), vector ? nest.lanes : 0);
    case OpKind::arange_: {
      const auto lo = static_cast<std::uint32_t>(f_.attr(id, ir::AttrName::lo));
      if (dims[0] < 0) return b_.getInt32(lo);
      Value* first = b_.CreateAdd(b_.CreateTrunc(nest.index[dims[0]], b_.getInt32Ty()), b_.getInt32(lo));
      if (!vector) return first;
      std::vector<llvm::Constant*> steps;
      for (unsigned i = 0; i < nest.lanes; ++i) steps.push_back(b_.getInt32(i));
      return b_.CreateAdd(b_.CreateVectorSplat(nest.lanes, first), llvm::ConstantVector::get(steps));
    }
    case OpKind::broadcast_:
    case OpKind::reshape_: return evaluate(nest, op.operands[0], kNoAxes, vector);  // of a scalar
    default: {
      std::vector<Type> types;
      Values operands;
      for (ValueId x : op.operands) types.push_back(f_.type(x)), operands.push_back(evaluate(nest, x, dims, vector));
      return lower_elementwise(b_, target_, op.kind, types, t, operands);
    }
  }
}

Value* HostLowering::to_memory(Value* v, Type t) { return t.is_bool() ? b_.CreateZExt(v, with_lanes_of(b_.getInt8Ty(), v)) : v; }
Value* HostLowering::from_memory(Value* v, Type t) {
  return t.is_bool() ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

/// The row-major index into a buffer of this type, first lane's.
Value* HostLowering::buffer_index(Nest& nest, Type t, const AxisMap& dims) {
  // Outer dimensions are summed where they are known, so the innermost loop adds one index.
  Value* sum = i64(0);
  int log2_stride = 0;
  std::array<int, ir::kMaxRank> stride{};
  for (int i = t.rank() - 1; i >= 0; --i) stride[i] = log2_stride, log2_stride += t.log2_extent(i);
  for (int depth = 1; depth <= nest.dims; ++depth) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    if (depth < nest.dims) b_.SetInsertPoint(nest.scopes[depth].block->getTerminator());
    for (int i = 0; i < t.rank(); ++i)
      if (dims[i] == depth - 1) sum = b_.CreateAdd(sum, b_.CreateShl(nest.index[dims[i]], stride[i], "", true, true), "", true, true);
  }
  return sum;
}

Value* HostLowering::load_buffer(Nest& nest, Value* base, Type t, const AxisMap& dims, bool vector) {
  llvm::Type* element = memory_type(c_, t);
  const int size = t.element_bytes();
  Value* index = buffer_index(nest, t, dims);
  if (!vector) return from_memory(b_.CreateAlignedLoad(element, b_.CreateInBoundsGEP(element, base, index), llvm::Align(size)), t);
  // How far apart the lanes lie: the stride of the axis that runs with the vector dimension.
  int log2_stride = 0;
  for (int i = t.rank() - 1; i >= 0 && dims[i] != nest.vector_dim(); --i) log2_stride += t.log2_extent(i);
  auto* lanes = llvm::FixedVectorType::get(element, nest.lanes);
  if (log2_stride == 0)
    return from_memory(
        b_.CreateAlignedLoad(lanes, b_.CreateInBoundsGEP(element, base, index), llvm::Align(std::min<unsigned>(64, nest.lanes * size))), t);
  Value* v = llvm::PoisonValue::get(lanes);
  for (unsigned i = 0; i < nest.lanes; ++i) {
    Value* at = b_.CreateAdd(index, i64(static_cast<std::int64_t>(i) << log2_stride), "", true, true);
    v = b_.CreateInsertElement(v, b_.CreateAlignedLoad(element, b_.CreateInBoundsGEP(element, base, at), llvm::Align(size)), i);
  }
  return from_memory(v, t);
}

void HostLowering::store_buffer(Nest& nest, Value* base, Type t, const AxisMap& dims, Value* v) {
  llvm::Type* element = memory_type(c_, t);
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  const unsigned align = static_cast<unsigned>(t.element_bytes()) * (lanes ? lanes->getNumElements() : 1);
  b_.CreateAlignedStore(to_memory(v, t), b_.CreateInBoundsGEP(element, base, buffer_index(nest, t, dims)),
                        llvm::Align(std::min(64u, align)));
}

}  // namespace tilewright::backend::host
