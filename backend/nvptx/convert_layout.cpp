// Elements on their way to other threads: register renaming, shuffles, shared memory.
#include <algorithm>
#include <bit>
#include <map>

#include "backend/nvptx/lowering.h"
#include "passes/analysis/conversion_plan.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::backend::nvptx {

Value* NvptxLowering::parity_of_thread(std::uint32_t mask) {
  Value* bits = b_.CreateAnd(thread(), i32(mask));
  if (std::has_single_bit(mask)) return b_.CreateICmpNE(bits, i32(0));
  return b_.CreateTrunc(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt1Ty());
}

Registers NvptxLowering::xor_registers(Registers v, const ir::F2Matrix& by_thread) {
  // The columns as sums of independent ones: one select of every register for each.
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
    Value* exchange = parity_of_thread(masks[k]);
    Registers next;
    for (std::size_t r = 0; r < v.size(); ++r) next.push_back(b_.CreateSelect(exchange, v[r ^ distances[k]], v[r]));
    v = std::move(next);
  }
  return v;
}

Registers NvptxLowering::along_route(Type type, Registers v, const passes::WarpRoute& way) {
  v = xor_registers(std::move(v), way.before);
  Registers got(way.rounds.size());
  std::map<std::uint32_t, std::vector<std::size_t>> by_lane;
  for (std::size_t j = 0; j < way.rounds.size(); ++j) by_lane[way.rounds[j].source_lane].push_back(j);
  Value* base = nullptr;
  const std::size_t at_once = static_cast<std::size_t>(std::max(4 / type.element_bytes(), 1));
  for (const auto& [source_lane, rounds] : by_lane) {
    if (way.keeps_lanes && source_lane == 0) {
      for (std::size_t j : rounds) got[j] = v[way.rounds[j].source_register];
      continue;
    }
    Value* lane_number = nullptr;
    if (!way.keeps_lanes) {
      if (!base) base = apply(way.lane, thread());
      lane_number = b_.CreateXor(base, i32(source_lane));
    }
    for (std::size_t first = 0; first < rounds.size(); first += at_once) {
      const std::size_t count = std::min(at_once, rounds.size() - first);
      std::vector<Value*> elements;
      for (std::size_t i = 0; i < count; ++i) elements.push_back(v[way.rounds[rounds[first + i]].source_register]);
      // Small elements travel together, in whole words.
      const bool packed = count > 1;
      std::vector<Value*> words = packed ? pack(type, elements) : elements;
      for (Value*& w : words) w = way.keeps_lanes ? shuffle_xor(w, source_lane) : shuffle(Shuffle::idx, w, lane_number);
      if (packed) words = unpack(type, words, count);
      for (std::size_t i = 0; i < count; ++i) got[rounds[first + i]] = words[i];
    }
  }
  return xor_registers(std::move(got), way.after);
}

NvptxLowering::SharedAddresses NvptxLowering::shared_addresses(Type type, const ir::F2Matrix& thread_offset, std::uint32_t constant,
                                                               std::int64_t shared) {
  const int log2_bytes = std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  SharedAddresses a;
  ir::F2Matrix bytes = thread_offset;
  for (std::uint32_t& column : bytes.columns) a.touched |= column <<= log2_bytes;
  a.log2_bytes = log2_bytes;
  a.constant = constant << log2_bytes;
  a.of_thread = apply(bytes, thread());
  a.shared = shared;
  return a;
}

std::pair<Value*, std::int64_t> NvptxLowering::shared_place(SharedAddresses& a, std::uint32_t offset) {
  const std::uint32_t bytes = offset << a.log2_bytes ^ a.constant;
  // Bits that no thread has are added by the access itself; the others differ from thread to thread and take an XOR.
  Value*& base = a.bases[bytes & a.touched];
  if (!base) {
    Value* of_thread = (bytes & a.touched) != 0 ? b_.CreateXor(a.of_thread, i32(bytes & a.touched)) : a.of_thread;
    base = b_.CreateAdd(of_thread, shared_address(0));
  }
  return {base, a.shared + static_cast<std::int64_t>(bytes & ~a.touched)};
}

void NvptxLowering::put_shared(Type type, const Registers& v, const LinearLayout& from, const ir::SharedPlan& plan, std::int64_t shared,
                               Value* predicate) {
  const ir::SharedAccesses accesses = ir::shared_accesses(from, plan.shared, plan.log2_store_vector);
  SharedAddresses addresses = shared_addresses(type, accesses.thread_offset, 0, shared);
  std::vector<Registers> vectors(accesses.offsets.size(), Registers(std::size_t{1} << accesses.log2_vector));
  for (std::size_t r = 0; r < v.size(); ++r) {
    const std::uint32_t place = accesses.places[r];
    vectors[place >> accesses.log2_vector][place & ((1u << accesses.log2_vector) - 1)] = v[r];
  }
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const auto [base, displacement] = shared_place(addresses, accesses.offsets[i]);
    store_shared(type, base, displacement, vectors[i], predicate);
  }
}

Registers NvptxLowering::take_shared(Type type, const LinearLayout& to, const ir::SharedPlan& plan, std::int64_t shared, std::uint32_t flip) {
  const ir::SharedAccesses accesses = ir::shared_accesses(to, plan.shared, plan.log2_load_vector);
  const std::uint32_t flipped = *plan.shared.matrix().solve(flip), within = (1u << accesses.log2_vector) - 1;
  SharedAddresses addresses = shared_addresses(type, accesses.thread_offset, flipped & ~within, shared);
  std::vector<Registers> vectors;
  for (const std::uint32_t offset : accesses.offsets) {
    const auto [base, displacement] = shared_place(addresses, offset);
    vectors.push_back(load_shared(type, base, displacement, std::size_t{1} << accesses.log2_vector));
  }
  Registers out;
  for (const std::uint32_t place : accesses.places) out.push_back(vectors[place >> accesses.log2_vector][(place ^ flipped) & within]);
  return out;
}

Registers NvptxLowering::moved(Type type, const Registers& v, const LinearLayout& from, const LinearLayout& to, std::uint32_t flip,
                               std::int64_t shared) {
  const LinearLayout source = from.without_free_registers(), destination = to.without_free_registers();
  const auto same = [](std::uint32_t flat) { return flat; };
  Registers held, out;
  for (std::uint32_t r : match_registers(from, source, same)) held.push_back(v[r]);
  const passes::Conversion plan = passes::plan_conversion(source, destination, type.element_bytes(), flip);
  if (plan.route) {
    held = along_route(type, std::move(held), *plan.route);
  } else {
    const ir::SharedPlan swizzle = ir::plan_swizzle(source, destination, type.element_bytes());
    put_shared(type, held, source, swizzle, shared, is_canonical(source));
    plan.crosses_warps ? emit_barrier() : emit_warp_barrier();
    held = take_shared(type, destination, swizzle, shared, flip);
  }
  for (std::uint32_t r : match_registers(destination, to, same)) out.push_back(held[r]);
  return out;
}

Registers NvptxLowering::converted(Type type, const Registers& v, const LinearLayout& from, const LinearLayout& to, std::int64_t shared) {
  return moved(type, v, from, to, 0, shared);
}

void NvptxLowering::emit_convert_layout(OpId id) {
  const ValueId x = f_.operand(id, 0), y = f_.result(id);
  set(y, converted(f_.type(x).scalar(), registers(x), layout(x), layout(y), shared_offset(id)));
}

void NvptxLowering::emit_flip(OpId id) {
  const ValueId x = f_.operand(id, 0), y = f_.result(id);
  if (f_.type(x).is_scalar()) return set(y, registers(x));
  const std::uint32_t along = layout(x).axis_mask(static_cast<int>(f_.attr(id, ir::AttrName::axis)));
  set(y, moved(f_.type(x).scalar(), registers(x), layout(x), layout(y), along, shared_offset(id)));
}

}  // namespace tilewright::backend::nvptx
