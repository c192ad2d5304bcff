// Loop nests: counters, the split into a full main loop and a masked rest, and what happens at each index.
#include <algorithm>

#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

void HostLowering::emit_loops(const Step& step) {
  Nest nest;
  nest.step = &step;
  nest.dims = static_cast<int>(step.extents.size());
  nest.index.resize(nest.dims);
  nest.scopes.resize(nest.dims + 1);
  if (nest.dims > 0 && !step.sequential) {
    const auto extent = static_cast<unsigned>(step.extents.back());
    nest.lanes = std::min(extent, static_cast<unsigned>(target_.lanes()));
    for (const Item& item : step.items)
      if (item.op && is_inner_reduce(step, item.op)) {
        // Partials: see ir::ReductionOrder.
        const unsigned partials = std::min(extent, static_cast<unsigned>(target_.reduction.lanes));
        TW_CHECK(partials % nest.lanes == 0, "partials do not fill vectors");
        nest.unroll = partials / nest.lanes;
      }
  }
  emit_dim(nest, 0);
}

void HostLowering::emit_dim(Nest& nest, int dim) {
  // What depends on outer indices only goes to the end of the block before this loop.
  nest.scopes[dim].block = b_.GetInsertBlock();
  nest.scopes[dim].memo.clear();
  auto* rest = llvm::BasicBlock::Create(c_, "nest", function_);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
  if (dim >= nest.dims - 1) {
    emit_rows(nest);
    return;
  }
  emit_loop(i64(0), i64(nest.step->extents[dim]), i64(1), {}, false, [&](Value* i, const Values&) {
    nest.index[dim] = i;
    emit_dim(nest, dim + 1);
    return Values{};
  });
}

void HostLowering::emit_rows(Nest& nest) {
  const Step& step = *nest.step;
  std::vector<Partials> reduces;
  Values init;
  for (const Item& item : step.items) {
    if (!item.op || nest.dims == 0 || !is_inner_reduce(step, item.op)) continue;
    reduces.push_back({item.op, std::vector<Values>(nest.unroll, identity(item.op, nest.lanes))});
    for (const Values& v : reduces.back().partials) init.insert(init.end(), v.begin(), v.end());
  }
  const auto gather = [&] {
    Values out;
    for (const Partials& p : reduces)
      for (const Values& v : p.partials) out.insert(out.end(), v.begin(), v.end());
    return out;
  };
  const auto spread = [&](const Values& carried) {
    std::size_t n = 0;
    for (Partials& p : reduces)
      for (Values& v : p.partials)
        for (Value*& each : v) each = carried[n++];
  };
  const auto body = [&](Value* at, const Values& carried) {
    spread(carried);
    emit_body(nest, at, &reduces);
    return gather();
  };
  if (nest.dims == 0) {
    emit_body(nest, nullptr, &reduces);
    return;
  }
  const std::int64_t width = static_cast<std::int64_t>(nest.lanes) * nest.unroll;
  Value* const extent = i64(step.extents.back());
  // Where the loop runs once, a constant index would make masks that are constant in some lanes only. LLVM 19 gets those wrong when it
  // splits them into registers: it takes a constant lane x for x < 0, and so reads where the mask is off, or leaves an address undefined.
  Value* const begin = nest.lanes > 1 && step.extents.back() <= width ? unknown_zero_ : i64(0);
  const std::vector<Prefix> masks = prefixes(nest);
  const auto main_loop = [&](Value* end) {
    Value* streams = init.empty() ? may_stream(nest) : nullptr;
    if (!streams) return spread(emit_loop(begin, end, i64(width), init, !masks.empty(), body));
    auto *around = llvm::BasicBlock::Create(c_, "stream", function_), *through = llvm::BasicBlock::Create(c_, "cached", function_),
         *join = llvm::BasicBlock::Create(c_, "stored", function_);
    b_.CreateCondBr(streams, around, through);
    for (llvm::BasicBlock* way : {around, through}) {
      b_.SetInsertPoint(way);
      nest.streams = way == around;
      emit_loop(begin, end, i64(width), {}, !masks.empty(), body);
      nest.streams = false;
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(join);
  };
  if (masks.empty()) {
    main_loop(extent);
  } else {
    // The rows' first lanes, for which every mask holds, run without masks; the rest with them.
    Value* least = extent;
    Value* most = nullptr;
    for (const Prefix& p : masks) {
      least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, p.count);
      most = most ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most, p.count) : p.count;
    }
    Value* full = b_.CreateAnd(least, i64(-width), "full");
    for (const Prefix& p : masks) nest.known_true.insert(p.masks.begin(), p.masks.end());
    main_loop(full);
    nest.known_true.clear();
    // Where all there is to do is masked stores, nothing is left once the longest mask ends.
    const bool only_stores = std::all_of(step.items.begin(), step.items.end(), [&](const Item& item) {
      return item.op && f_.kind(item.op) == OpKind::store_ && f_.op(item.op).operands.size() > 2 &&
             std::any_of(masks.begin(), masks.end(), [&](const Prefix& p) { return p.masks.front() == f_.operand(item.op, 2).index; });
    });
    spread(emit_loop(b_.CreateAdd(full, begin), only_stores ? most : extent, i64(width), gather(), true, body));
  }
  for (const Partials& p : reduces) finish_reduce(nest, p);
}

void HostLowering::emit_body(Nest& nest, Value* at, std::vector<Partials>* reduces) {
  const std::size_t sequence = split_points_.begin(b_);
  for (unsigned u = 0; u < nest.unroll; ++u) {
    nest.scopes[nest.dims].memo.clear();
    nest.registers.clear();
    if (at) nest.index[nest.dims - 1] = u == 0 ? at : b_.CreateAdd(at, i64(static_cast<std::int64_t>(u) * nest.lanes), "", true, true);
    for (const Item& item : nest.step->items) {
      emit_item(nest, item, u, reduces);
      split_points_.add(sequence, b_);
    }
    // Last, so that what is written over an argument has been read before.
    for (const Item& item : nest.step->items) {
      if (!item.op || f_.kind(item.op) == OpKind::reduce_) continue;
      for (ValueId r : f_.op(item.op).results)
        if (plan_.is_stored(r)) {
          const Type t = f_.type(r);
          store_buffer(nest, buffer(plan_.class_of(r)), t, squeezed_axes(t), nest.registers.at(r.index));
          split_points_.add(sequence, b_);
        }
    }
  }
}

void HostLowering::emit_item(Nest& nest, const Item& item, unsigned u, std::vector<Partials>* reduces) {
  if (item.fill) {
    const Type t = f_.type(item.fill);
    store_buffer(nest, buffer(plan_.root(item.target)), t, squeezed_axes(t), operand(nest, item.fill, nest.vectorised()));
    return;
  }
  const auto& op = f_.op(item.op);
  switch (op.kind) {
    case OpKind::load_: nest.registers[op.results[0].index] = emit_load(nest, item.op); return;
    case OpKind::store_: emit_store(nest, item.op); return;
    case OpKind::reduce_:
      if (nest.dims == 0 || !is_inner_reduce(*nest.step, item.op))
        accumulate_outer(nest, item.op);
      else
        accumulate(nest, item.op, u, *reduces);
      return;
    default: break;
  }
  std::vector<Type> types;
  Values operands;
  for (ValueId x : op.operands) types.push_back(f_.type(x)), operands.push_back(operand(nest, x, nest.vectorised()));
  nest.registers[op.results[0].index] = lower_elementwise(b_, target_, op.kind, types, f_.type(op.results[0]), operands);
}

}  // namespace tilewright::backend::host
