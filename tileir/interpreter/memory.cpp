// Interprets loads, stores and atomics: lane by lane, in row-major order.
#include <fmt/format.h>

#include <cstring>

#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/interpreter/state.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

std::uint64_t read_element(std::uint64_t address, Element e) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), static_cast<std::size_t>(bytes(e)));
  return e == Element::boolean ? word != 0 : word;
}

void write_element(std::uint64_t address, Element e, std::uint64_t word) {
  std::memcpy(reinterpret_cast<void*>(address), &word, static_cast<std::size_t>(bytes(e)));
}

bool Interpreter::may_access(std::uint64_t address, int size, bool is_store, OpId id) const {
  return !options_.may_access || options_.may_access(address, size, is_store, id);
}

void Interpreter::check_stored(OpId id, std::uint64_t address) const {
  if (!storing_.contains(address)) return;
  throw Error(f_.where(id),
              fmt::format("{}: a bulk store to this element of the tensor may not be complete; a bulk_wait is missing", text(f_.kind(id))));
}

void Interpreter::run_load(OpId id) {
  const auto& operands = f_.op(id).operands;
  const auto& address = words(operands[0]);
  const Element e = type(operands[0]).element();
  auto& out = result(id);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (operands.size() > 1 && !words(operands[1])[i])
      out[i] = operands.size() > 2 ? words(operands[2])[i] : 0;
    else
      check_stored(id, address[i]), out[i] = may_access(address[i], bytes(e), false, id) ? read_element(address[i], e) : 0;
  }
}
void Interpreter::run_store(OpId id) {
  const auto& operands = f_.op(id).operands;
  const auto &address = words(operands[0]), &value = words(operands[1]);
  const Element e = type(operands[0]).element();
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (operands.size() > 2 && !words(operands[2])[i]) continue;
    if (!may_access(address[i], bytes(e), true, id)) continue;
    check_stored(id, address[i]);
    write_element(address[i], e, value[i]);
    if (has_bulk_copies_) written_.insert(address[i]);
  }
}

template <class F>
void Interpreter::run_atomic(OpId id, F&& update) {
  const auto& operands = f_.op(id).operands;
  const auto& address = words(operands[0]);
  const Element e = type(operands[0]).element();
  const ValueId masked_by = mask_of(f_, id);
  const auto* mask = masked_by ? &words(masked_by) : nullptr;
  auto& out = result(id);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = 0;
    if ((mask && !(*mask)[i]) || !may_access(address[i], bytes(e), true, id)) continue;
    check_stored(id, address[i]);
    out[i] = read_element(address[i], e);
    write_element(address[i], e, update(out[i], words(operands[1])[i], i));
    if (has_bulk_copies_) written_.insert(address[i]);
  }
}

/// Applies an element-wise op to the old value and the new one.
std::uint64_t Interpreter::combined(OpId id, std::uint64_t old, std::uint64_t value, OpKind k) {
  const Type t = type(f_.operand(id, 1)).scalar();
  const Type types[] = {t, t};
  const std::uint64_t both[] = {old, value};
  return evaluate_scalar(k, types, both, t);
}

void Interpreter::run_atomic_add(OpId id) {
  run_atomic(id, [&](std::uint64_t old, std::uint64_t v, std::size_t) { return combined(id, old, v, OpKind::add_); });
}
void Interpreter::run_atomic_max(OpId id) {
  run_atomic(id, [&](std::uint64_t old, std::uint64_t v, std::size_t) { return combined(id, old, v, OpKind::maximum_); });
}
void Interpreter::run_atomic_min(OpId id) {
  run_atomic(id, [&](std::uint64_t old, std::uint64_t v, std::size_t) { return combined(id, old, v, OpKind::minimum_); });
}
void Interpreter::run_atomic_and(OpId id) {
  run_atomic(id, [](std::uint64_t old, std::uint64_t v, std::size_t) { return old & v; });
}
void Interpreter::run_atomic_or(OpId id) {
  run_atomic(id, [](std::uint64_t old, std::uint64_t v, std::size_t) { return old | v; });
}
void Interpreter::run_atomic_xor(OpId id) {
  run_atomic(id, [](std::uint64_t old, std::uint64_t v, std::size_t) { return old ^ v; });
}
void Interpreter::run_atomic_exchange(OpId id) {
  run_atomic(id, [](std::uint64_t, std::uint64_t v, std::size_t) { return v; });
}
void Interpreter::run_atomic_cas(OpId id) {
  const auto& desired = words(f_.operand(id, 2));
  run_atomic(id, [&](std::uint64_t old, std::uint64_t expected, std::size_t lane) { return old == expected ? desired[lane] : old; });
}
void Interpreter::run_atomic_update(OpId id) {
  run_atomic(id, [&](std::uint64_t old, std::uint64_t v, std::size_t) {
    combine(id, &old, &v);
    return old;
  });
}

}  // namespace tilewright::ir
