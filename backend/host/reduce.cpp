// Accumulates partial results, and combines those of vectors and lanes.
#include "backend/host/reduce.h"

#include "backend/host/combine.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

int axis_of(const Function& f, OpId reduce) { return static_cast<int>(f.attr(reduce, AttrName::axis)); }

/// The dimensions of the nest that run with the axes of a result of type t.
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

void accumulate(Nest& nest, Partials& partials, unsigned u) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  Values later;
  for (ValueId x : e.f().op(partials.op).operands) later.push_back(nest.operand(x));
  Values next = combine(e, partials.op, partials.vectors[u], later);
  if (!has_identity(e.f(), partials.op)) {
    // The first element of each partial stands alone. `base` of the loop is 0 for the first vector of every u.
    Value* base = b.CreateSub(nest.index(nest.vector_dim()), e.i64(static_cast<std::int64_t>(u) * nest.lanes()));
    Value* first = b.CreateICmpEQ(base, e.i64(0));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b.CreateSelect(first, later[i], next[i]);
  }
  partials.vectors[u] = next;
}

void finish_reduce(Nest& nest, const Partials& p) {
  Emitter& e = nest.e();
  llvm::IRBuilder<>& b = e.b();
  std::vector<Values> vectors = p.vectors;
  while (vectors.size() > 1) {
    const std::size_t half = vectors.size() / 2;
    for (std::size_t u = 0; u < half; ++u) vectors[u] = combine(e, p.op, vectors[u], vectors[u + half]);
    vectors.resize(half);
  }
  Values v = vectors[0];
  for (unsigned n = nest.lanes(); n > 1; n /= 2) {
    Values low;
    Values high;
    for (Value* x : v) {
      if (n == 2) {
        low.push_back(b.CreateExtractElement(x, std::uint64_t{0}));
        high.push_back(b.CreateExtractElement(x, std::uint64_t{1}));
        continue;
      }
      llvm::SmallVector<int, 32> first;
      llvm::SmallVector<int, 32> second;
      for (unsigned i = 0; i < n / 2; ++i) {
        first.push_back(static_cast<int>(i));
        second.push_back(static_cast<int>(i + n / 2));
      }
      low.push_back(b.CreateShuffleVector(x, first));
      high.push_back(b.CreateShuffleVector(x, second));
    }
    v = combine(e, p.op, low, high);
  }
  const auto& op = e.f().op(p.op);
  const AxisMap operand_dims = squeezed_axes(e.f().type(op.operands[0]));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const ValueId r = op.results[i];
    const Type t = e.f().type(r);
    if (t.is_scalar())
      e.set_scalar(r, v[i]);
    else
      nest.store_buffer(e.buffer_of(r), t, result_dims(operand_dims, axis_of(e.f(), p.op), t), v[i]);
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
    earlier.push_back(nest.load_buffer(e.buffer_of(r), e.f().type(r), dims.back(), nest.is_vectorised()));
  }
  const Values next = combine(e, id, earlier, later);
  Value* first = b.CreateICmpEQ(nest.index(operand_dims[axis]), e.i64(0));
  for (std::size_t i = 0; i < next.size(); ++i) {
    Value* v = b.CreateSelect(first, later[i], next[i]);
    nest.store_buffer(e.buffer_of(op.results[i]), e.f().type(op.results[i]), dims[i], v);
  }
}

}  // namespace tilewright::backend::host
