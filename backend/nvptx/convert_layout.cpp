// Sends elements of a tile to other threads: by renaming registers, by shuffles, or through shared memory.
#include "backend/nvptx/convert_layout.h"

#include <algorithm>
#include <bit>
#include <map>

#include "backend/nvptx/shared_tile.h"
#include "backend/nvptx/words.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::backend::nvptx {

namespace {

/// Register r of the result is v[r ^ by_thread(thread)].
Registers xor_registers(Emitter& e, Registers v, const ir::F2Matrix& by_thread) {
  // Write the columns as sums of independent ones: then each independent column takes one select of every register.
  ir::F2Span span;
  std::vector<std::uint32_t> distances, masks;
  for (int i = 0; i < by_thread.width(); ++i) {
    const std::uint32_t column = by_thread.columns[static_cast<std::size_t>(i)];
    if (span.insert(column, 1u << distances.size())) {
      distances.push_back(column);
      masks.push_back(0);
    }
    for (std::uint32_t parts = span.reduce(column).inputs; parts != 0; parts &= parts - 1)
      masks[static_cast<std::size_t>(std::countr_zero(parts))] |= 1u << i;
  }
  for (std::size_t k = 0; k < distances.size(); ++k) {
    Value* exchange = e.parity_of_thread(masks[k]);
    Registers next;
    for (std::size_t r = 0; r < v.size(); ++r) next.push_back(e.b().CreateSelect(exchange, v[r ^ distances[k]], v[r]));
    v = std::move(next);
  }
  return v;
}

/// Sends a thread's elements to other lanes of its warp, following the rounds of the route.
Registers follow_route(Emitter& e, Type type, Registers v, const passes::WarpRoute& route) {
  llvm::IRBuilder<>& b = e.b();
  v = xor_registers(e, std::move(v), route.before);
  Registers got(route.rounds.size());
  std::map<std::uint32_t, std::vector<std::size_t>> by_lane;
  for (std::size_t j = 0; j < route.rounds.size(); ++j) by_lane[route.rounds[j].source_lane].push_back(j);
  Value* base = nullptr;
  const std::size_t at_once = static_cast<std::size_t>(std::max(4 / type.element_bytes(), 1));
  for (const auto& [source_lane, rounds] : by_lane) {
    if (route.keeps_lanes && source_lane == 0) {
      for (std::size_t j : rounds) got[j] = v[route.rounds[j].source_register];
      continue;
    }
    Value* lane_number = nullptr;
    if (!route.keeps_lanes) {
      if (!base) base = e.apply(route.lane, e.thread());
      lane_number = b.CreateXor(base, e.i32(source_lane));
    }
    for (std::size_t first = 0; first < rounds.size(); first += at_once) {
      const std::size_t count = std::min(at_once, rounds.size() - first);
      std::vector<Value*> elements;
      for (std::size_t i = 0; i < count; ++i) elements.push_back(v[route.rounds[rounds[first + i]].source_register]);
      // Small elements are shuffled together, as whole words.
      const bool packed = count > 1;
      std::vector<Value*> words = packed ? pack(b, type, elements) : elements;
      for (Value*& w : words)
        w = route.keeps_lanes ? e.shuffle(Shuffle::bfly, w, e.i32(source_lane)) : e.shuffle(Shuffle::idx, w, lane_number);
      if (packed) words = unpack(b, type, words, count);
      for (std::size_t i = 0; i < count; ++i) got[rounds[first + i]] = words[i];
    }
  }
  return xor_registers(e, std::move(got), route.after);
}

/// The registers of the op's result: element i of it is element i ^ flip of the operand, by flat index.
Registers convert(Emitter& e, OpId id, std::uint32_t flip) {
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0);
  const Type type = f.type(x).scalar();
  const Registers& v = e.registers(x);
  const LinearLayout &from = e.layout(x), &to = e.layout(f.result(id));
  const std::int64_t shared = e.scratch_offset(id);
  const LinearLayout source = from.without_free_registers(), destination = to.without_free_registers();
  Registers held = select_registers(v, from, source);
  const passes::Conversion& plan = e.plans().conversion(id);
  if (plan.route) {
    held = follow_route(e, type, std::move(held), *plan.route);
  } else {
    const ir::SharedPlan swizzle = ir::plan_swizzle(source, destination, type.element_bytes());
    const auto wait = [&] { plan.crosses_warps ? e.barrier() : e.warp_barrier(); };
    const int log2_elements = source.log2_elements();
    Registers loaded;
    for (std::uint32_t i = 0; i < slice_count(type, log2_elements); ++i) {
      const Slice slice = slice_of(type, log2_elements, i);
      if (i > 0) wait();
      store_tile_to_shared(e, type, held, source, swizzle, shared, e.redundant_thread_predicate(source), slice);
      wait();
      loaded = load_tile_from_shared(e, type, destination, swizzle, shared, flip, slice, i > 0 ? &loaded : nullptr);
    }
    held = std::move(loaded);
  }
  return select_registers(held, destination, to);
}

}  // namespace

void emit_convert_layout(Emitter& e, OpId id) { e.set(e.f().result(id), convert(e, id, 0)); }

void emit_flip(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId x = f.operand(id, 0), y = f.result(id);
  if (f.type(x).is_scalar()) return e.set(y, e.registers(x));
  const std::uint32_t along = e.layout(x).axis_mask(static_cast<int>(f.attr(id, ir::AttrName::axis)));
  e.set(y, convert(e, id, along));
}

}  // namespace tilewright::backend::nvptx
