// Reductions inside loop nests: partials in registers along the last extent, a buffer of results along the others.
#include <cmath>

#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;
using ir::OpKind;
using ir::Type;

bool HostLowering::is_inner_reduce(const Step& step, OpId id) const {
  if (f_.kind(id) != OpKind::reduce_ || step.extents.empty()) return false;
  const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
  return squeezed_axes(f_.type(f_.operand(id, 0)))[axis] == static_cast<int>(step.extents.size()) - 1;
}

std::optional<OpKind> HostLowering::single_op(OpId id) const {
  const BlockId r = f_.region(id);
  if (f_.block(r).args.size() != 2) return std::nullopt;
  const OpId yield = f_.terminator(r), def = f_.value(f_.operand(yield, 0)).op;
  if (!def || f_.op(def).parent != r || f_.block(r).first != def || f_.op(def).operands.size() != 2) return std::nullopt;
  const ValueId a = f_.arg(r, 0), b = f_.arg(r, 1);
  const auto& x = f_.op(def).operands;
  if (!((x[0] == a && x[1] == b) || (x[0] == b && x[1] == a))) return std::nullopt;
  return f_.kind(def);
}

namespace {
/// The bits that leave every element as it is when combined with it.
std::optional<std::uint64_t> identity_bits(OpKind k, Type t) {
  const ir::Element e = t.element();
  const bool floating = t.is_float();
  if (floating && ir::bits(e) < 32) return std::nullopt;
  const int width = ir::bits(e);
  const std::uint64_t ones = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  switch (k) {
    case OpKind::add_: return floating ? ir::element_bits(e, -0.0) : 0;
    case OpKind::mul_: return ir::element_bits(e, std::int64_t{1});
    case OpKind::bit_and_: return ones;
    case OpKind::bit_or_:
    case OpKind::bit_xor_: return 0;
    case OpKind::maximum_:
      if (floating) return ir::element_bits(e, -HUGE_VAL);
      return ir::is_signed(e) ? std::uint64_t{1} << (width - 1) : 0;
    case OpKind::minimum_:
      if (floating) return ir::element_bits(e, HUGE_VAL);
      return ir::is_signed(e) ? ones >> 1 : ones;
    default: return std::nullopt;
  }
}
}  // namespace

bool HostLowering::has_identity(OpId id) const {
  const auto k = single_op(id);
  return k && identity_bits(*k, f_.type(f_.operand(id, 0))).has_value();
}

/// What partials start from: the identity, or anything where the first element replaces it.
HostLowering::Values HostLowering::identity(OpId id, unsigned lanes) {
  Values out;
  const auto k = single_op(id);
  for (ValueId x : f_.op(id).operands) {
    const Type t = f_.type(x).scalar();
    const auto bits = k ? identity_bits(*k, t) : std::nullopt;
    out.push_back(constant_lanes(c_, t, bits.value_or(0), lanes > 1 ? lanes : 0));
  }
  return out;
}

/// The region on scalars or on vectors of lanes.
HostLowering::Values HostLowering::combine(OpId id, const Values& earlier, const Values& later) {
  const BlockId region = f_.region(id);
  std::unordered_map<std::uint32_t, Value*> values;
  const std::size_t n = earlier.size();
  for (std::size_t i = 0; i < n; ++i) {
    values[f_.arg(region, static_cast<int>(i)).index] = earlier[i];
    values[f_.arg(region, static_cast<int>(i + n)).index] = later[i];
  }
  const auto* like = llvm::dyn_cast<llvm::FixedVectorType>(earlier[0]->getType());
  const auto everywhere = [&](Value* s) { return like ? b_.CreateVectorSplat(like->getNumElements(), s) : s; };
  const auto look_up = [&](ValueId v) -> Value* {
    const auto it = values.find(v.index);
    return it != values.end() ? it->second : everywhere(scalar(v));  // of outside
  };
  for (OpId inner : f_.ops(region)) {
    const auto& op = f_.op(inner);
    Values operands;
    std::vector<Type> types;
    for (ValueId x : op.operands) operands.push_back(look_up(x)), types.push_back(f_.type(x));
    if (op.kind == OpKind::yield_) return operands;
    const Type t = f_.type(op.results[0]);
    const auto axis = static_cast<std::size_t>(f_.attr(inner, AttrName::axis));
    Value*& result = values[op.results[0].index];
    switch (op.kind) {
      case OpKind::constant_:
        result = constant_lanes(c_, t, static_cast<std::uint64_t>(f_.attr(inner, AttrName::value)), like ? like->getNumElements() : 0);
        break;
      case OpKind::program_id_: result = everywhere(program_[axis]); break;
      case OpKind::num_programs_: result = everywhere(grid_[axis]); break;
      case OpKind::reshape_:
      case OpKind::broadcast_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: result = operands[0]; break;  // of a scalar
      default: result = lower_elementwise(b_, target_, op.kind, types, t, operands);
    }
  }
  TW_UNREACHABLE("a region without yield");
}

void HostLowering::accumulate(Nest& nest, OpId id, unsigned u, std::vector<Partials>& all) {
  const auto mine = std::find_if(all.begin(), all.end(), [&](const Partials& p) { return p.op == id; });
  TW_CHECK(mine != all.end(), "a reduce without partials");
  Values later;
  for (ValueId x : f_.op(id).operands) later.push_back(operand(nest, x, nest.vectorised()));
  Values& earlier = mine->partials[u];
  Values next = combine(id, earlier, later);
  if (!has_identity(id)) {
    // The first element of each partial stands alone. `at` of the loop is 0 for the first vector of every u.
    Value* base = b_.CreateSub(nest.index[nest.vector_dim()], i64(static_cast<std::int64_t>(u) * nest.lanes));
    Value* first = b_.CreateICmpEQ(base, i64(0));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b_.CreateSelect(first, later[i], next[i]);
  }
  earlier = next;
}

void HostLowering::finish_reduce(Nest& nest, const Partials& p) {
  std::vector<Values> partials = p.partials;
  while (partials.size() > 1) {
    const std::size_t half = partials.size() / 2;
    for (std::size_t u = 0; u < half; ++u) partials[u] = combine(p.op, partials[u], partials[u + half]);
    partials.resize(half);
  }
  Values v = partials[0];
  for (unsigned n = nest.lanes; n > 1; n /= 2) {
    Values low, high;
    for (Value* x : v) {
      if (n == 2) {
        low.push_back(b_.CreateExtractElement(x, std::uint64_t{0})), high.push_back(b_.CreateExtractElement(x, std::uint64_t{1}));
        continue;
      }
      llvm::SmallVector<int, 32> first, second;
      for (unsigned i = 0; i < n / 2; ++i) first.push_back(static_cast<int>(i)), second.push_back(static_cast<int>(i + n / 2));
      low.push_back(b_.CreateShuffleVector(x, first)), high.push_back(b_.CreateShuffleVector(x, second));
    }
    v = combine(p.op, low, high);
  }
  const auto& op = f_.op(p.op);
  const AxisMap operand_dims = squeezed_axes(f_.type(op.operands[0]));
  const int axis = static_cast<int>(f_.attr(p.op, AttrName::axis));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const ValueId r = op.results[i];
    const Type t = f_.type(r);
    if (t.is_scalar()) {
      scalars_[r.index] = v[i];
      continue;
    }
    AxisMap dims = kNoAxes;
    for (int d = 0; d < t.rank(); ++d) dims[d] = operand_dims[d < axis ? d : d + 1];
    store_buffer(nest, buffer(plan_.class_of(r)), t, dims, v[i]);
  }
}

/// Along an extent that is not the last one: the results lie in a buffer and take one element after the other.
void HostLowering::accumulate_outer(Nest& nest, OpId id) {
  const auto& op = f_.op(id);
  const bool vector = nest.vectorised();
  const AxisMap operand_dims = squeezed_axes(f_.type(op.operands[0]));
  const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
  Values later, earlier;
  for (ValueId x : op.operands) later.push_back(operand(nest, x, vector));
  if (operand_dims[axis] < 0) {  // one element
    for (std::size_t i = 0; i < later.size(); ++i) {
      TW_CHECK(f_.type(op.results[i]).is_scalar(), "a reduce of one element to a tile is a view");
      scalars_[op.results[i].index] = later[i];
    }
    return;
  }
  std::vector<AxisMap> dims(op.results.size(), kNoAxes);
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const Type t = f_.type(op.results[i]);
    for (int d = 0; d < t.rank(); ++d) dims[i][d] = operand_dims[d < axis ? d : d + 1];
    earlier.push_back(load_buffer(nest, buffer(plan_.class_of(op.results[i])), t, dims[i], vector));
  }
  const Values next = combine(id, earlier, later);
  Value* first = b_.CreateICmpEQ(nest.index[operand_dims[axis]], i64(0));
  for (std::size_t i = 0; i < next.size(); ++i)
    store_buffer(nest, buffer(plan_.class_of(op.results[i])), f_.type(op.results[i]), dims[i], b_.CreateSelect(first, later[i], next[i]));
}

}  // namespace tilewright::backend::host
