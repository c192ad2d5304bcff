// Accumulates partial results, and combines partial results of vectors and lanes.
#include "backend/host/reduce.h"

#include <algorithm>

#include "backend/host/combine.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

int axis_of(const Function& f, OpId reduce) { return static_cast<int>(f.attr(reduce, AttrName::axis)); }

bool is_in_order(const Function& f, OpId reduce) { return f.attr(reduce, AttrName::commutative) == 0; }

/// Selects lanes first, first + step, ... of vectors of `lanes` lanes, or of pairs of vectors; one lane is a scalar.
Values select_lanes(Emitter& e, const Values& vectors, unsigned first, unsigned step, unsigned count, const Values& second = {}) {
  llvm::IRBuilder<>& b = e.b();
  llvm::SmallVector<int, 64> lanes;
  for (unsigned i = 0; i < count; ++i) lanes.push_back(static_cast<int>(first + i * step));
  Values out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (count == 1 && second.empty())
      out.push_back(b.CreateExtractElement(vectors[i], first));
    else
      out.push_back(b.CreateShuffleVector(vectors[i], second.empty() ? llvm::PoisonValue::get(vectors[i]->getType()) : second[i], lanes));
  }
  return out;
}

/// Combines elements 0 and 1, 2 and 3, ... of a vector, or of two concatenated vectors.
Values combine_neighbours(Emitter& e, OpId id, const Values& v) {
  const unsigned n = lane_count(v[0]);
  return combine(e, id, select_lanes(e, v, 0, 2, n / 2), select_lanes(e, v, 1, 2, n / 2));
}
Values combine_neighbours(Emitter& e, OpId id, const Values& first, const Values& second) {
  const unsigned n = lane_count(first[0]);
  return combine(e, id, select_lanes(e, first, 0, 2, n, second), select_lanes(e, first, 1, 2, n, second));
}

/// The dimensions of the nest that the axes of a result of type t run along.
AxisMap result_dims(const AxisMap& operand_dims, int axis, Type t) {
  AxisMap dims = kNoAxes;
  for (int d = 0; d < t.rank(); ++d) dims[d] = operand_dims[d < axis ? d : d + 1];
  return dims;
}

}  // namespace

bool is_inner_reduce(const Function& f, const Step& step, OpId id) {
  if (f.kind(id) != OpKind::reduce_ || step.extents.empty()) return false;
  return squeezed_axes(f.type(f.operand(id, 0)))[axis_of(f, id)] == static_cast<int>(step.extents.size()) - 1;
}

unsigned vectors_of_reduce(Nest& nest, OpId id) {
  const ir::ReductionOrder& order = nest.e().target().reduction;
  const auto extent = static_cast<unsigned>(nest.step().extents.back());
  const unsigned elements = std::min(extent, static_cast<unsigned>(is_in_order(nest.e().f(), id) ? order.block : order.lanes));
  TW_CHECK(elements % nest.lanes() == 0, "partials do not fill vectors");
  return elements / nest.lanes();
}

Partials begin_reduce(Nest& nest, OpId id) {
  Partials p{id, is_in_order(nest.e().f(), id), {}, {}};
  if (p.in_order)
    p.carried.push_back(identity(nest.e(), id, 1));
  else
    p.carried.assign(vectors_of_reduce(nest, id), identity(nest.e(), id, nest.lanes()));
  return p;
}

void accumulate(Nest& nest, Partials& p, unsigned u) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  Values later;
  for (ValueId x : e.f().op(p.op).operands) later.push_back(nest.operand(x));
  const unsigned vectors = vectors_of_reduce(nest, p.op);
  if (p.in_order) {
    for (unsigned n = u % vectors; n % 2 != 0; n /= 2) {
      later = combine_neighbours(e, p.op, p.block.back(), later);
      p.block.pop_back();
    }
    if (u % vectors != vectors - 1) return p.block.push_back(later);
    while (later[0]->getType()->isVectorTy()) later = combine_neighbours(e, p.op, later);
  }
  Values& earlier = p.carried[p.in_order ? 0 : u % vectors];
  Values next = combine(e, p.op, earlier, later);
  if (!has_identity(e.f(), p.op) && u < vectors) {
    // The first elements of each partial have nothing to combine with. The loop's `base` is 0 for the first vector of every u.
    Value* base = b.CreateSub(nest.index(nest.vector_dim()), e.i64(static_cast<std::int64_t>(u) * nest.lanes()));
    Value* first = b.CreateICmpEQ(base, e.i64(0));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b.CreateSelect(first, later[i], next[i]);
  }
  earlier = next;
}

void finish_reduce(Nest& nest, const Partials& p) {
  Emitter& e = nest.e();
  std::vector<Values> vectors = p.carried;
  while (vectors.size() > 1) {
    const std::size_t half = vectors.size() / 2;
    for (std::size_t u = 0; u < half; ++u) vectors[u] = combine(e, p.op, vectors[u], vectors[u + half]);
    vectors.resize(half);
  }
  Values v = vectors[0];
  for (unsigned n = p.in_order ? 1 : nest.lanes(); n > 1; n /= 2)
    v = combine(e, p.op, select_lanes(e, v, 0, 1, n / 2), select_lanes(e, v, n / 2, 1, n / 2));
  const auto& op = e.f().op(p.op);
  const AxisMap operand_dims = squeezed_axes(e.f().type(op.operands[0]));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const ValueId r = op.results[i];
    const Type t = e.f().type(r);
    if (t.is_scalar())
      e.set_scalar(r, v[i]);
    else
      nest.write_tile(e.plan().class_of(r), t, result_dims(operand_dims, axis_of(e.f(), p.op), t), v[i]);
  }
}

void accumulate_in_buffer(Nest& nest, OpId id) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = e.f().op(id);
  const AxisMap operand_dims = squeezed_axes(e.f().type(op.operands[0]));
  const int axis = axis_of(e.f(), id);
  Values later;
  for (ValueId x : op.operands) later.push_back(nest.operand(x));
  if (operand_dims[axis] < 0) {  // one element
    for (std::size_t i = 0; i < later.size(); ++i) {
      TW_CHECK(e.f().type(op.results[i]).is_scalar(), "a reduce of one element to a tile is an alias");
      e.set_scalar(op.results[i], later[i]);
    }
    return;
  }
  std::vector<AxisMap> dims;
  Values earlier;
  for (ValueId r : op.results) {
    dims.push_back(result_dims(operand_dims, axis, e.f().type(r)));
    earlier.push_back(nest.read_tile(e.plan().class_of(r), e.f().type(r), dims.back(), nest.is_vectorised()));
  }
  const Values next = combine(e, id, earlier, later);
  Value* first = b.CreateICmpEQ(nest.index(operand_dims[axis]), e.i64(0));
  for (std::size_t i = 0; i < next.size(); ++i) {
    Value* v = b.CreateSelect(first, later[i], next[i]);
    nest.write_tile(e.plan().class_of(op.results[i]), e.f().type(op.results[i]), dims[i], v);
  }
}

}  // namespace tilewright::backend::host
