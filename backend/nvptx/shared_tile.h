// Tiles in shared memory: a thread stores its registers in one layout and loads registers of another layout.
#pragma once
#include <cstdint>
#include <map>

#include "backend/nvptx/emitter.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::backend::nvptx {

/// An aligned part of a tile in shared memory, of 2^log2_bytes bytes; `index` counts the parts from the tile's first byte. A tile of more
/// than passes::kLog2MostSharedBytes passes through shared memory slice by slice. The default is the whole tile.
struct Slice {
  int log2_bytes = 31;
  std::uint32_t index = 0;
};
Slice slice_of(Type element, int log2_elements, std::uint32_t index);
std::uint32_t slice_count(Type element, int log2_elements);

/// Stores a tile at byte `shared` of shared memory, where `predicate` holds (null: always). Elements outside of the slice are not stored. A
/// barrier must come before the matching load.
void store_tile_to_shared(Emitter&, Type element, const Registers&, const LinearLayout& from, const ir::SharedPlan&, std::int64_t shared,
                          Value* predicate, Slice = {});
/// Loads a tile: the element with flat index i is element i ^ flip of the stored one. Elements outside of the slice keep their values in
/// `before`.
Registers load_tile_from_shared(Emitter&, Type element, const LinearLayout& to, const ir::SharedPlan&, std::int64_t shared,
                                std::uint32_t flip = 0, Slice = {}, const Registers* before = nullptr);

/// The location of a vector of elements in shared memory.
struct SharedAccess {
  bool is_outside = false;     // it is outside of the slice in every thread
  Value* predicate = nullptr;  // whether it is in the slice; null: in every thread
  Value* base = nullptr;
  std::int64_t displacement = 0;
};

/// The addresses of one tile in one layout. The offset of an element is the XOR of a part that depends on the thread and a part that
/// depends on the register, so registers share base addresses: each base address is emitted once.
class SharedTileAddresses {
 public:
  /// `thread_offset`: maps the thread's number to its part of an offset in elements; `constant`: is XORed to every offset. The tile starts
  /// `shared` bytes after the address `start`; null: after the start of the program's shared memory.
  SharedTileAddresses(Emitter&, Type element, const ir::F2Matrix& thread_offset, std::uint32_t constant, std::int64_t shared, Slice = {},
                      Value* start = nullptr);
  /// XORs map(x), in elements, to the thread's part.
  void xor_thread_offset(const ir::F2Matrix& map, Value* x);
  /// `offset`: the register's part, in elements.
  SharedAccess at(std::uint32_t offset);

 private:
  Emitter& e_;
  int log2_bytes_;             // of an element
  Value* of_thread_;           // the thread's part, in bytes
  std::uint32_t touched_ = 0;  // bits of an offset in bytes that differ between threads
  std::uint32_t constant_;     // in bytes
  std::int64_t shared_;
  Slice slice_;
  Value* start_;
  std::map<std::uint32_t, Value*> bases_;
};

}  // namespace tilewright::backend::nvptx
