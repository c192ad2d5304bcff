// Interprets bulk copies. A copy is complete when the phase of its mbarrier is over; an agent that reads the slot before it knows that, or
// that starts a copy while other threads may access the slot, is an Error at the op.
#include <fmt/format.h>

#include "tileir/bulk_copy_rules.h"
#include "tileir/interpreter/state.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

constexpr std::int64_t kMapAlignment = 16;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 32, kMostDistance = std::int64_t{1} << 40;

}  // namespace

// The words of a tensor map: the address, then the extents, then the distances in bytes of neighbours along each axis.

void Interpreter::run_make_tensor_map(OpId id) {
  const auto& operands = f_.op(id).operands;
  const Type map = type(f_.result(id));
  const std::size_t rank = map.box().size();
  const auto fail = [&](const std::string& problem) { throw Error(f_.where(id), "make_tensor_map: " + problem); };
  Words w{scalar(operands[0])};
  if (w[0] % kMapAlignment != 0) fail(fmt::format("the address {:#x} is no multiple of {}", w[0], kMapAlignment));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t extent = scalar_integer(operands[1 + axis]);
    if (extent < 1 || extent > kMostExtent) fail(fmt::format("the extent of axis {} is {}; it must be 1 to 2^32", axis, extent));
    w.push_back(static_cast<std::uint64_t>(extent));
  }
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) {
    __extension__ const __int128 distance = static_cast<__int128>(scalar_integer(operands[1 + rank + axis])) * bytes(map.element());
    if (distance < 0 || distance >= kMostDistance || distance % kMapAlignment != 0)
      fail(fmt::format("neighbours along axis {} are {} elements apart; it must be a multiple of {} bytes below 2^40", axis,
                       scalar_integer(operands[1 + rank + axis]), kMapAlignment));
    w.push_back(static_cast<std::uint64_t>(distance));
  }
  for (std::size_t i = 2 * rank; i < operands.size(); ++i)
    if (const std::int64_t n = scalar_integer(operands[i]); n < 1) fail(fmt::format("operand {} is {}; it must be positive", i + 1, n));
  w.push_back(static_cast<std::uint64_t>(bytes(map.element())));
  words(f_.result(id)) = std::move(w);
}

void Interpreter::run_mbarrier_expect(OpId id) {
  const auto& operands = f_.op(id).operands;
  if (operands.size() > 1 && !scalar(operands[1])) return;
  Mbarrier& m = mbarriers_[mbarrier(id)];
  // One thread arrives: it has seen what the other threads of the agent had done at their last barrier.
  AgentClock clock = now_->clock;
  --clock[now_->number];
  clock[now_->number + kMostAgents] = now_->complete_copies;
  clock[now_->number + kProducts] = 0;
  m.publish(clock, now_->known);
  m.expected += f_.attr(id, AttrName::bytes);
  arrive(id, m, 1);
}

void Interpreter::run_bulk_copy(OpId id) {
  const auto& operands = f_.op(id).operands;
  if (!scalar(operands[3])) return;
  const Words &map = words(operands[0]), &cells = words(operands[1]);
  const std::size_t number = static_cast<std::size_t>(words(operands[2])[0]);
  Mbarrier& m = mbarriers_[number];
  const Type tile = type(operands[1]);
  const std::size_t rank = operands.size() - 4, further = rank - static_cast<std::size_t>(tile.rank());
  const std::int64_t bytes_of_tile = tile.elements() * tile.element_bytes();
  if (bytes_of_tile > m.expected)
    throw Error(f_.where(id), fmt::format("bulk_copy: it copies {} bytes, and the phase expects {} more; an mbarrier_expect is missing",
                                          bytes_of_tile, m.expected));
  const std::vector<std::int64_t> step = strides(tile);
  // Of a copy of several slabs, the axis that counts them is that in front of the tile's.
  const std::int64_t last = tile.extent(tile.rank() - 1), of_slab = last / slabs_of_copy(type(operands[0]), tile);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_overwrite(id, cells[i]);
    Cell& c = cells_[cells[i]];
    // Of other buffers insert_barriers sees to that.
    const bool is_accessed = is_read_in_epoch(c) || (c.writer == now_->number && c.last_store == epoch());
    if (c.is_ordered && is_accessed)
      throw Error(f_.where(id), "bulk_copy: another thread may still access this element; a barrier is missing");
    if (c.is_ordered && c.is_unfenced) throw Error(f_.where(id), "bulk_copy: no proxy_fence is between this and the write of an element");
    bool is_inside = true;
    std::uint64_t address = map[0];
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::size_t a = axis - further;
      std::int64_t in_tile = 0;
      if (axis + 1 == further)
        in_tile = static_cast<std::int64_t>(i) % last / of_slab;
      else if (axis >= further)
        in_tile = static_cast<std::int64_t>(i) / step[a] % (axis + 1 == rank ? of_slab : tile.extent(static_cast<int>(a)));
      const std::int64_t at = scalar_integer(operands[4 + axis]) + in_tile;
      is_inside = is_inside && at >= 0 && at < static_cast<std::int64_t>(map[1 + axis]);
      address += static_cast<std::uint64_t>(at) * map[1 + rank + axis];
    }
    if (is_inside && written_.contains(address)) throw Error(f_.where(id), "bulk_copy: the program has written this element of the tensor");
    c.word = is_inside && may_access(address, tile.element_bytes(), false, id) ? read_element(address, tile.element()) : 0;
    c.defined = true, c.writer = static_cast<std::uint8_t>(now_->number), c.last_store = 0;
    c.mbarrier = static_cast<std::int32_t>(number), c.phase = m.completed;
  }
  m.expected -= bytes_of_tile;
  end_phase_if_complete(m);
}

}  // namespace tilewright::ir
