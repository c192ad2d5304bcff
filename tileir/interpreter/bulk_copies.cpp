// Interprets bulk copies and stores. A copy is complete when the phase of its mbarrier is over; an agent that reads the slot before it
// knows that, or that starts a copy while other threads may access the slot, is an Error at the op. A store reads its slot and writes the
// tensor at the last moment, the wait for its group; an access to either before that is an Error at the op.
#include <fmt/format.h>

#include <utility>

#include "tileir/bulk_copy_rules.h"
#include "tileir/interpreter/evaluate_scalar.h"
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

std::optional<std::uint64_t> Interpreter::element_address(OpId id, std::span<const ValueId> coordinates, std::size_t i) {
  const Words& map = words(f_.operand(id, 0));
  const Type tile = type(f_.operand(id, 1));
  const std::size_t rank = coordinates.size(), further = rank - static_cast<std::size_t>(tile.rank());
  // Of a copy of several slabs, the axis that counts them is that in front of the tile's.
  const std::int64_t last = tile.extent(tile.rank() - 1), of_slab = last / slabs_of_copy(type(f_.operand(id, 0)), tile);
  const std::int64_t column = static_cast<std::int64_t>(i) % last;
  std::uint64_t address = map[0];
  bool is_inside = true;
  std::int64_t rest = static_cast<std::int64_t>(i) / last;
  for (std::size_t axis = rank; axis-- > 0;) {
    std::int64_t at = scalar_integer(coordinates[axis]);
    if (axis + 1 == rank) {
      at += column % of_slab;
    } else if (axis >= further) {
      const std::int64_t extent = tile.extent(static_cast<int>(axis - further));
      at += rest % extent, rest /= extent;
    } else if (axis + 1 == further) {
      at += column / of_slab;
    }
    is_inside = is_inside && at >= 0 && at < static_cast<std::int64_t>(map[1 + axis]);
    address += static_cast<std::uint64_t>(at) * map[1 + rank + axis];
  }
  return is_inside ? std::optional(address) : std::nullopt;
}

void Interpreter::run_bulk_copy(OpId id) {
  const auto& operands = f_.op(id).operands;
  if (!scalar(operands[3])) return;
  const Words& cells = words(operands[1]);
  const std::size_t number = static_cast<std::size_t>(words(operands[2])[0]);
  Mbarrier& m = mbarriers_[number];
  const Type tile = type(operands[1]);
  const std::int64_t bytes_of_tile = tile.elements() * tile.element_bytes();
  if (bytes_of_tile > m.expected)
    throw Error(f_.where(id), fmt::format("bulk_copy: it copies {} bytes, and the phase expects {} more; an mbarrier_expect is missing",
                                          bytes_of_tile, m.expected));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_overwrite(id, cells[i]);
    Cell& c = cells_[cells[i]];
    // Of other buffers insert_barriers sees to that.
    const bool is_accessed = is_read_in_epoch(c) || (c.writer == now_->number && c.last_store == epoch());
    if (c.is_ordered && is_accessed)
      throw Error(f_.where(id), "bulk_copy: another thread may still access this element; a barrier is missing");
    if (c.is_ordered && c.is_unfenced) throw Error(f_.where(id), "bulk_copy: no proxy_fence is between this and the write of an element");
    const auto address = element_address(id, std::span(operands).subspan(4), i);
    if (address && written_.contains(*address)) throw Error(f_.where(id), "bulk_copy: the program has written this element of the tensor");
    if (address) check_stored(id, *address);
    c.word = address && may_access(*address, tile.element_bytes(), false, id) ? read_element(*address, tile.element()) : 0;
    c.defined = true, c.writer = static_cast<std::uint8_t>(now_->number), c.last_store = 0;
    c.mbarrier = static_cast<std::int32_t>(number), c.phase = m.completed;
  }
  m.expected -= bytes_of_tile;
  end_phase_if_complete(m);
}

void Interpreter::run_bulk_store(OpId id) {
  const auto& operands = f_.op(id).operands;
  const Words& cells = words(operands[1]);
  const Type tile = type(operands[1]);
  const auto reduction = static_cast<Reduction>(f_.attr(id, AttrName::reduction));
  BulkStore& s = now_->started_stores.emplace_back(BulkStore{id, {}, {}, {}});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_read(id, cells[i]);
    Cell& c = cells_[cells[i]];
    // Of other buffers insert_barriers sees to that.
    if (c.is_ordered && c.is_unfenced) throw Error(f_.where(id), "bulk_store: no proxy_fence is between this and the write of an element");
    ++c.stores;
    const auto address = element_address(id, std::span(operands).subspan(2), i);
    if (!address || !may_access(*address, tile.element_bytes(), true, id)) {
      // The unit may read the element all the same.
      s.cells.push_back(cells[i]), s.addresses.push_back(0);
      continue;
    }
    if (written_.contains(*address)) throw Error(f_.where(id), "bulk_store: the program has written this element of the tensor");
    if (const auto at = storing_.find(*address); at != storing_.end() && (reduction == Reduction::none || reduction != at->second))
      check_stored(id, *address);
    storing_[*address] = reduction;
    s.cells.push_back(cells[i]), s.addresses.push_back(*address);
  }
}

void Interpreter::read_buffer(BulkStore& s) {
  if (std::exchange(s.is_read, true)) return;
  for (const std::uint64_t cell : s.cells) {
    Cell& c = cells_[cell];
    s.values.push_back(c.word);
    --c.stores;
    // Other threads do not know of the wait yet.
    c.last_read[now_->number] = epoch();
  }
}

void Interpreter::finish(BulkStore& s) {
  read_buffer(s);
  const Type element(type(f_.operand(s.op, 1)).element());
  const Type types[] = {element, element};
  constexpr OpKind kOps[] = {OpKind::add_, OpKind::minimum_, OpKind::maximum_};  // of add, min and max
  const auto reduction = static_cast<std::size_t>(f_.attr(s.op, AttrName::reduction));
  for (std::size_t i = 0; i < s.addresses.size(); ++i) {
    const std::uint64_t address = s.addresses[i];
    if (address == 0) continue;
    std::uint64_t value = s.values[i];
    if (reduction > 0) {
      const std::uint64_t both[] = {read_element(address, element.element()), value};
      value = evaluate_scalar(kOps[reduction - 1], types, both, element);
    }
    write_element(address, element.element(), value);
    storing_.erase(address);
  }
}

void Interpreter::run_bulk_commit(OpId) { now_->stored_groups.push_back(std::exchange(now_->started_stores, {})); }

void Interpreter::run_bulk_wait(OpId id) {
  auto& groups = now_->stored_groups;
  const auto pending = static_cast<std::size_t>(f_.attr(id, AttrName::pending));
  if (f_.attr(id, AttrName::read) != 0) {
    for (std::size_t i = 0; i + pending < groups.size(); ++i)
      for (BulkStore& s : groups[i]) read_buffer(s);
    return;
  }
  while (groups.size() > pending) {
    for (BulkStore& s : groups.front()) finish(s);
    groups.pop_front();
  }
}

void Interpreter::end_agent() {
  now_->frames.pop_back();
  const auto fail = [&](const BulkStore& s, const char* why) {
    throw Error(f_.where(s.op),
                fmt::format("bulk_store: {} ends while it may read its buffer: {}", now_->roles ? name_of(*now_) : "the program", why));
  };
  for (BulkStore& s : now_->started_stores) fail(s, "it is in no group");
  for (auto& group : now_->stored_groups)
    for (BulkStore& s : group) {
      if (!s.is_read) fail(s, "no bulk_wait waits for its group");
      finish(s);
    }
  now_->stored_groups.clear();
}

}  // namespace tilewright::ir
