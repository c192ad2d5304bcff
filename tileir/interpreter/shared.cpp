// Interprets shared memory, asynchronous copies and slices. The data of a copy arrives with the wait for its group. Reading an
// element before it arrives, or overwriting it while a copy or another thread may still use it, is an Error at the op.
#include <fmt/format.h>

#include <algorithm>

#include "tileir/interpreter/state.h"

namespace tilewright::ir {

namespace {

/// Calls visit(index in the tile) for each element of a part of a tile, in row-major order.
template <class F>
void for_each_in_slice(const Type& whole, const Type& part, std::span<const std::int64_t> offsets, F&& visit) {
  const std::vector<std::int64_t> step = strides(whole);
  for (std::int64_t i = 0; i < part.elements(); ++i) {
    std::int64_t rest = i, at = 0;
    for (int axis = part.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      at += (rest % part.extent(axis) + (offsets.empty() ? 0 : offsets[a])) * step[a];
      rest /= part.extent(axis);
    }
    visit(static_cast<std::size_t>(at));
  }
}

}  // namespace

// The words of a buffer value are the numbers of its cells, slot by slot: views share cells.

void Interpreter::run_alloc_buffer(OpId id) {
  Words& cells = words(f_.result(id));
  const Type t = type(f_.result(id));
  cells.clear();
  for (std::int64_t i = 0; i < t.slots() * t.elements(); ++i) {
    cells.push_back(cells_.size());
    cells_.emplace_back().is_ordered = f_.attr(id, AttrName::ordered) != 0;
  }
}

void Interpreter::run_buffer_slot(OpId id) {
  const Words& all = words(f_.operand(id, 0));
  const std::int64_t divisor = std::max<std::int64_t>(f_.attr(id, AttrName::divisor), 1), slots = type(f_.operand(id, 0)).slots();
  const std::int64_t number = scalar_integer(f_.operand(id, 1)), index = number / divisor;
  if (number % divisor != 0 || number < 0 || index >= slots)
    throw Error(f_.where(id), fmt::format("buffer_slot: there is no slot {} / {} of {}", number, divisor, slots));
  const std::ptrdiff_t elements = type(f_.result(id)).elements();
  words(f_.result(id)).assign(all.begin() + index * elements, all.begin() + (index + 1) * elements);
}

void Interpreter::run_buffer_permute(OpId id) {
  const std::vector<std::int64_t> of = strides(type(f_.operand(id, 0)));
  std::vector<std::int64_t> step;
  for (std::int64_t axis : f_.attr_list(id, AttrName::axes)) step.push_back(of[static_cast<std::size_t>(axis)]);
  read_strided(id, step);
}

std::uint64_t Interpreter::read_cell(OpId id, std::uint64_t cell) {
  check_read(id, cell);
  cells_[cell].last_read[now_->number] = epoch();
  return cells_[cell].word;
}

void Interpreter::check_read(OpId id, std::uint64_t cell) const {
  const Cell& c = cells_[cell];
  const auto fail = [&](const std::string& problem) { throw Error(f_.where(id), fmt::format("{}: {}", text(f_.kind(id)), problem)); };
  if (c.in_flight) fail("a copy of this element may not be complete; an async_wait is missing");
  if (may_be_arriving(c)) fail("the bulk copy of this element may not be complete; an mbarrier_wait is missing");
  if (!c.defined) fail("no op has written this element of the buffer");
  if (c.is_ordered && c.writer == now_->number && c.last_store == epoch())
    fail("another thread may not have written this element; a barrier or async_wait is missing");
  if (now_->clock[c.writer] < c.last_store)
    fail(fmt::format("{} may not have written this element; an mbarrier_wait is missing", name_of(agents_[c.writer % kMostAgents])));
}

bool Interpreter::may_be_arriving(const Cell& c) const {
  if (c.mbarrier < 0) return false;
  const auto number = static_cast<std::size_t>(c.mbarrier);
  return number >= now_->known.size() || now_->known[number] <= c.phase;
}

void Interpreter::mark_unfenced(std::uint64_t cell) {
  if (!has_products_ && !has_bulk_copies_) return;
  cells_[cell].is_unfenced = true;
  unfenced_.push_back(cell);
}

void Interpreter::run_proxy_fence(OpId) {
  // A fence orders the writes that this agent has done or seen.
  std::erase_if(unfenced_, [&](std::uint64_t cell) {
    Cell& c = cells_[cell];
    if (c.in_flight || now_->clock[c.writer] < c.last_store) return false;
    c.is_unfenced = false;
    return true;
  });
}

void Interpreter::check_overwrite(OpId id, std::uint64_t cell) const {
  const Cell& c = cells_[cell];
  if (c.products > 0)
    throw Error(f_.where(id), fmt::format("{}: a product may still read this element; an mma_wait is missing", text(f_.kind(id))));
  if (c.stores > 0)
    throw Error(f_.where(id), fmt::format("{}: a bulk store may still read this element; a bulk_wait is missing", text(f_.kind(id))));
  if (c.in_flight || may_be_arriving(c))
    throw Error(f_.where(id), fmt::format("{}: an earlier copy to this element may not be complete", text(f_.kind(id))));
  if (now_->clock[c.writer] < c.last_store)
    throw Error(f_.where(id), fmt::format("{}: {} may write this element later; an mbarrier_wait is missing", text(f_.kind(id)),
                                          name_of(agents_[c.writer % kMostAgents])));
  for (const Agent& other : agents_) {
    const std::size_t n = other.number;
    const bool may_multiply = now_->clock[n] < c.awaited[n] && now_->clock[n + kProducts] < c.product_epoch[n];
    if (now_->clock[n] < c.last_read[n] || may_multiply)
      throw Error(f_.where(id),
                  fmt::format("{}: {} may still read this element; an mbarrier_wait is missing", text(f_.kind(id)), name_of(other)));
  }
}

void Interpreter::complete(std::span<const std::uint64_t> cells) {
  for (const std::uint64_t cell : cells) cells_[cell].in_flight = false, cells_[cell].defined = true;
}

void Interpreter::run_buffer_store(OpId id) {
  const Words &cells = words(f_.operand(id, 0)), &value = words(f_.operand(id, 1));
  for (std::size_t i = 0; i < value.size(); ++i) {
    check_overwrite(id, cells[i]);
    Cell& c = cells_[cells[i]];
    if (c.is_ordered && is_read_in_epoch(c))
      throw Error(f_.where(id), "buffer_store: another thread may still read this element; a barrier or async_wait is missing");
    c.word = value[i], c.defined = true, c.writer = static_cast<std::uint8_t>(now_->number), c.last_store = epoch(), c.mbarrier = -1;
    mark_unfenced(cells[i]);
  }
}

void Interpreter::run_buffer_load(OpId id) {
  const Words& cells = words(f_.operand(id, 0));
  Words& out = result(id);
  std::size_t next = 0;
  for_each_in_slice(type(f_.operand(id, 0)), type(f_.result(id)), f_.attr_list(id, AttrName::offsets),
                    [&](std::size_t i) { out[next++] = read_cell(id, cells[i]); });
}

void Interpreter::run_copy_async(OpId id) {
  const auto& operands = f_.op(id).operands;
  const Words &address = words(operands[0]), &cells = words(operands[1]);
  const Element e = type(operands[0]).element();
  if (!scalar(operands[2])) return;
  const std::size_t copies = now_->number + kMostAgents;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_overwrite(id, cells[i]);
    Cell& c = cells_[cells[i]];
    if (is_read_in_epoch(c))
      throw Error(f_.where(id), "copy_async: another thread may still read this element; a barrier or async_wait is missing");
    const bool is_read = (operands.size() < 4 || words(operands[3])[i]) && may_access(address[i], bytes(e), false, id);
    if (is_read) check_stored(id, address[i]);
    c.word = is_read ? read_element(address[i], e) : 0;
    c.in_flight = true, c.mbarrier = -1;
    c.writer = static_cast<std::uint8_t>(copies), c.last_store = now_->clock[copies];
    now_->started.push_back(cells[i]);
    mark_unfenced(cells[i]);
  }
}

void Interpreter::run_async_commit(OpId) {
  now_->groups.push_back(std::move(now_->started)), now_->started.clear();
  ++now_->clock[now_->number + kMostAgents];
}

void Interpreter::run_async_wait(OpId id) {
  while (static_cast<std::int64_t>(now_->groups.size()) > f_.attr(id, AttrName::pending)) {
    complete(now_->groups.front());
    for (const std::uint64_t cell : now_->groups.front()) now_->complete_copies = std::max(now_->complete_copies, cells_[cell].last_store);
    now_->groups.pop_front();
  }
  begin_epoch();
  ends_turn_ = true;
}

void Interpreter::run_barrier(OpId) { begin_epoch(), ends_turn_ = true; }

// ---- slices ----
void Interpreter::run_extract_slice(OpId id) {
  const Words& x = words(f_.operand(id, 0));
  Words& out = result(id);
  std::size_t next = 0;
  for_each_in_slice(type(f_.operand(id, 0)), type(f_.result(id)), f_.attr_list(id, AttrName::offsets),
                    [&](std::size_t i) { out[next++] = x[i]; });
}

}  // namespace tilewright::ir
