// Elements on their way to other threads: register renaming, shuffles, shared memory.
#include <algorithm>
#include <bit>
#include <map>

#include "backend/nvptx/lowering.h"
#include "passes/plans/conversion_plan.h"
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

Piece NvptxLowering::piece_of(Type type, int log2_elements, std::uint32_t number) {
  const int log2_bytes = log2_elements + std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  return {std::min(log2_bytes, passes::kLog2MostSharedBytes), number};
}

std::uint32_t NvptxLowering::pieces_of(Type type, int log2_elements) {
  const int log2_bytes = log2_elements + std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  return 1u << std::max(log2_bytes - passes::kLog2MostSharedBytes, 0);
}

NvptxLowering::SharedAddresses NvptxLowering::shared_addresses(Type type, const ir::F2Matrix& thread_offset, std::uint32_t constant,
                                                               std::int64_t shared, Piece piece) {
  SharedAddresses a;
  a.log2_bytes = std::countr_zero(static_cast<unsigned>(type.element_bytes()));
  ir::F2Matrix bytes = thread_offset;
  for (std::uint32_t& column : bytes.columns) a.touched |= column <<= a.log2_bytes;
  a.constant = constant << a.log2_bytes;
  a.of_thread = apply(bytes, thread());
  a.shared = shared;
  a.piece = piece;
  return a;
}

NvptxLowering::PlaceInPiece NvptxLowering::place_in_piece(SharedAddresses& a, std::uint32_t offset) {
  const std::uint32_t bytes = offset << a.log2_bytes ^ a.constant, within = (1u << a.piece.log2_bytes) - 1;
  PlaceInPiece place;
  if ((a.touched & ~within) == 0) {
    place.never = bytes >> a.piece.log2_bytes != a.piece.number;
    if (place.never) return place;
  } else {
    Value* at = b_.CreateXor(a.of_thread, i32(bytes));
    place.predicate = b_.CreateICmpEQ(b_.CreateLShr(at, i32(a.piece.log2_bytes)), i32(a.piece.number));
  }
  // Bits that no thread has are added by the access itself; the others differ from thread to thread and take an XOR.
  const std::uint32_t crossing = bytes & a.touched & within;
  Value*& base = a.bases[crossing];
  if (!base) {
    Value* of_thread = (a.touched & ~within) != 0 ? b_.CreateAnd(a.of_thread, i32(within)) : a.of_thread;
    if (crossing != 0) of_thread = b_.CreateXor(of_thread, i32(crossing));
    base = b_.CreateAdd(of_thread, shared_address(0));
  }
  place.base = base;
  place.displacement = a.shared + static_cast<std::int64_t>(bytes & ~a.touched & within);
  return place;
}

std::pair<Value*, std::int64_t> NvptxLowering::shared_place(SharedAddresses& a, std::uint32_t offset) {
  const PlaceInPiece place = place_in_piece(a, offset);
  return {place.base, place.displacement};
}

void NvptxLowering::put_shared(Type type, const Registers& v, const LinearLayout& from, const ir::SharedPlan& plan, std::int64_t shared,
                               Value* predicate, Piece piece) {
  const ir::SharedAccesses accesses = ir::shared_accesses(from, plan.shared, plan.log2_store_vector);
  SharedAddresses addresses = shared_addresses(type, accesses.thread_offset, 0, shared, piece);
  std::vector<Registers> vectors(accesses.offsets.size(), Registers(std::size_t{1} << accesses.log2_vector));
  for (std::size_t r = 0; r < v.size(); ++r) {
    const std::uint32_t place = accesses.places[r];
    vectors[place >> accesses.log2_vector][place & ((1u << accesses.log2_vector) - 1)] = v[r];
  }
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const PlaceInPiece at = place_in_piece(addresses, accesses.offsets[i]);
    if (at.never) continue;
    Value* stores = !predicate ? at.predicate : at.predicate ? b_.CreateAnd(predicate, at.predicate) : predicate;
    store_shared(type, at.base, at.displacement, vectors[i], stores);
  }
}

Registers NvptxLowering::take_shared(Type type, const LinearLayout& to, const ir::SharedPlan& plan, std::int64_t shared, std::uint32_t flip,
                                     Piece piece, const Registers* before) {
  const ir::SharedAccesses accesses = ir::shared_accesses(to, plan.shared, plan.log2_load_vector);
  const std::uint32_t flipped = *plan.shared.matrix().solve(flip), within = (1u << accesses.log2_vector) - 1;
  SharedAddresses addresses = shared_addresses(type, accesses.thread_offset, flipped & ~within, shared, piece);
  std::vector<Registers> vectors;
  std::vector<Value*> predicates;
  for (const std::uint32_t offset : accesses.offsets) {
    const PlaceInPiece at = place_in_piece(addresses, offset);
    const std::size_t count = std::size_t{1} << accesses.log2_vector;
    vectors.push_back(at.never ? Registers() : load_shared(type, at.base, at.displacement, count, at.predicate));
    predicates.push_back(at.predicate);
  }
  Registers out;
  for (std::size_t r = 0; r < accesses.places.size(); ++r) {
    const std::size_t access = accesses.places[r] >> accesses.log2_vector;
    Value* old = before ? (*before)[r] : nullptr;
    Value* loaded = vectors[access].empty() ? old : vectors[access][(accesses.places[r] ^ flipped) & within];
    out.push_back(old && predicates[access] ? b_.CreateSelect(predicates[access], loaded, old) : loaded);
  }
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
    const auto meet = [&] { plan.crosses_warps ? emit_barrier() : emit_warp_barrier(); };
    const int log2_elements = source.log2_elements();
    Registers taken;
    for (std::uint32_t i = 0; i < pieces_of(type, log2_elements); ++i) {
      const Piece piece = piece_of(type, log2_elements, i);
      if (i > 0) meet();
      put_shared(type, held, source, swizzle, shared, is_canonical(source), piece);
      meet();
      taken = take_shared(type, destination, swizzle, shared, flip, piece, i > 0 ? &taken : nullptr);
    }
    held = std::move(taken);
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
