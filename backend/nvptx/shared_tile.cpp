// Implements slices, addresses, and the store and the load of a tile's path through shared memory.
#include "backend/nvptx/shared_tile.h"

#include <algorithm>
#include <bit>

namespace tilewright::backend::nvptx {

namespace {

int log2_size(Type element) { return std::countr_zero(static_cast<unsigned>(element.element_bytes())); }

}  // namespace

Slice slice_of(Type element, int log2_elements, std::uint32_t index) {
  return {std::min(log2_elements + log2_size(element), passes::kLog2MostSharedBytes), index};
}

std::uint32_t slice_count(Type element, int log2_elements) {
  return 1u << std::max(log2_elements + log2_size(element) - passes::kLog2MostSharedBytes, 0);
}

SharedTileAddresses::SharedTileAddresses(Emitter& e, Type element, const ir::F2Matrix& thread_offset, std::uint32_t constant,
                                         std::int64_t shared, Slice slice, Value* start)
    : e_(e),
      log2_bytes_(log2_size(element)),
      constant_(constant << log2_bytes_),
      shared_(shared),
      slice_(slice),
      start_(start ? start : e.shared_address(0)) {
  ir::F2Matrix bytes = thread_offset;
  for (std::uint32_t& column : bytes.columns) touched_ |= column <<= log2_bytes_;
  of_thread_ = e.apply(bytes, e.thread());
}

void SharedTileAddresses::xor_thread_offset(const ir::F2Matrix& map, Value* x) {
  ir::F2Matrix bytes = map;
  for (std::uint32_t& column : bytes.columns) touched_ |= column <<= log2_bytes_;
  of_thread_ = e_.b().CreateXor(of_thread_, e_.apply(bytes, x));
}

SharedAccess SharedTileAddresses::at(std::uint32_t offset) {
  llvm::IRBuilder<>& b = e_.b();
  const std::uint32_t bytes = offset << log2_bytes_ ^ constant_, within = (1u << slice_.log2_bytes) - 1;
  SharedAccess access;
  if ((touched_ & ~within) == 0) {
    access.is_outside = bytes >> slice_.log2_bytes != slice_.index;
    if (access.is_outside) return access;
  } else {
    Value* at = b.CreateXor(of_thread_, e_.i32(bytes));
    access.predicate = b.CreateICmpEQ(b.CreateLShr(at, e_.i32(slice_.log2_bytes)), e_.i32(slice_.index));
  }
  // Bits that are 0 in every thread belong to the access's displacement; the others differ between threads and need an XOR.
  const std::uint32_t crossing = bytes & touched_ & within;
  Value*& base = bases_[crossing];
  if (!base) {
    Value* of_thread = (touched_ & ~within) != 0 ? b.CreateAnd(of_thread_, e_.i32(within)) : of_thread_;
    if (crossing != 0) of_thread = b.CreateXor(of_thread, e_.i32(crossing));
    base = b.CreateAdd(of_thread, start_);
  }
  access.base = base;
  access.displacement = shared_ + static_cast<std::int64_t>(bytes & ~touched_ & within);
  return access;
}

void store_tile_to_shared(Emitter& e, Type element, const Registers& v, const LinearLayout& from, const ir::SharedPlan& plan,
                          std::int64_t shared, Value* predicate, Slice slice) {
  const ir::SharedAccesses accesses = ir::shared_accesses(from, plan.shared, plan.log2_store_vector);
  SharedTileAddresses addresses(e, element, accesses.thread_offset, 0, shared, slice);
  std::vector<Registers> vectors(accesses.offsets.size(), Registers(std::size_t{1} << accesses.log2_vector));
  for (std::size_t r = 0; r < v.size(); ++r) {
    const std::uint32_t position = accesses.positions[r];
    vectors[position >> accesses.log2_vector][position & ((1u << accesses.log2_vector) - 1)] = v[r];
  }
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const SharedAccess access = addresses.at(accesses.offsets[i]);
    if (access.is_outside) continue;
    Value* stores = !predicate ? access.predicate : access.predicate ? e.b().CreateAnd(predicate, access.predicate) : predicate;
    e.store_shared(element, access.base, access.displacement, vectors[i], stores);
  }
}

Registers load_tile_from_shared(Emitter& e, Type element, const LinearLayout& to, const ir::SharedPlan& plan, std::int64_t shared,
                                std::uint32_t flip, Slice slice, const Registers* before) {
  const ir::SharedAccesses accesses = ir::shared_accesses(to, plan.shared, plan.log2_load_vector);
  const std::uint32_t flipped = *plan.shared.matrix().solve(flip), within = (1u << accesses.log2_vector) - 1;
  SharedTileAddresses addresses(e, element, accesses.thread_offset, flipped & ~within, shared, slice);
  std::vector<Registers> vectors;
  std::vector<Value*> predicates;
  for (const std::uint32_t offset : accesses.offsets) {
    const SharedAccess access = addresses.at(offset);
    const std::size_t count = std::size_t{1} << accesses.log2_vector;
    vectors.push_back(access.is_outside ? Registers() : e.load_shared(element, access.base, access.displacement, count, access.predicate));
    predicates.push_back(access.predicate);
  }
  Registers out;
  for (std::size_t r = 0; r < accesses.positions.size(); ++r) {
    const std::size_t vector = accesses.positions[r] >> accesses.log2_vector;
    Value* old = before ? (*before)[r] : nullptr;
    Value* loaded = vectors[vector].empty() ? old : vectors[vector][(accesses.positions[r] ^ flipped) & within];
    out.push_back(old && predicates[vector] ? e.b().CreateSelect(predicates[vector], loaded, old) : loaded);
  }
  return out;
}

}  // namespace tilewright::backend::nvptx
