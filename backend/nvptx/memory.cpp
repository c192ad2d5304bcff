// Plans accesses: as wide as the addresses, the mask and the layout allow, with predicates.
#include "backend/nvptx/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/nvptx/access.h"
#include "backend/nvptx/global_memory.h"
#include "backend/nvptx/words.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

namespace {

Registers of(const Registers& all, std::span<const std::uint32_t> which) {
  Registers some;
  for (std::uint32_t r : which) some.push_back(all[r]);
  return some;
}

/// PTX ISA 8.5, "ld" and "st": cache operators, then eviction priority (sm_70 and up).
std::string modifiers(const Function& f, OpId id, bool is_store) {
  if (f.attr(id, ir::AttrName::is_volatile)) return ".volatile.global";
  std::string cache, evict;
  switch (static_cast<ir::Cache>(f.attr(id, ir::AttrName::cache))) {
    case ir::Cache::standard: break;
    case ir::Cache::all: cache = is_store ? "" : ".ca"; break;
    case ir::Cache::global: cache = ".cg"; break;
    case ir::Cache::streaming: cache = ".cs"; break;
    case ir::Cache::write_back: cache = is_store ? ".wb" : ""; break;
    case ir::Cache::write_through: cache = is_store ? ".wt" : ""; break;
  }
  switch (static_cast<ir::Evict>(f.attr(id, ir::AttrName::evict))) {
    case ir::Evict::normal: break;
    case ir::Evict::first: evict = ".L1::evict_first"; break;
    case ir::Evict::last: evict = ".L1::evict_last"; break;
  }
  // An instruction takes only one of the two. The operator selects the caches, the priority only how long they keep the data.
  return ".global" + (cache.empty() ? evict : cache);
}

void emit_scalar_load(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const Type element = f.type(f.result(id));
  Value* predicate = bounds.active_elements(id)[0];
  std::vector<Value*> passthru;
  if (predicate) {
    if (operands.size() > 2) {
      passthru = pack(b, element, e.registers(operands[2]));
    } else {
      passthru.push_back(llvm::Constant::getNullValue(word_types(b, element, 1)[0]));
    }
  }
  const auto words = load_global(b, element, e.scalar(operands[0]), 0, 1, predicate, passthru, modifiers(f, id, false));
  e.set(f.result(id), unpack(b, element, words, 1));
}

void emit_scalar_store(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  Value* predicate = e.is_first_thread();
  if (Value* active = bounds.active_elements(id)[0]) predicate = b.CreateAnd(predicate, active);
  store_global(b, f.type(operands[1]), e.scalar(operands[0]), 0, e.registers(operands[1]), predicate, modifiers(f, id, true));
}

}  // namespace

void emit_load(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  if (f.type(f.operand(id, 0)).is_scalar()) return emit_scalar_load(e, bounds, id);
  const auto& operands = f.op(id).operands;
  const Access a = plan_access(e, id);
  const Registers& pointers = e.registers(operands[0]);
  const Registers* other = operands.size() > 2 ? &e.registers(operands[2]) : nullptr;
  const LinearLayout& l = e.layout(operands[0]);
  // In checked mode an element outside of every buffer is not loaded, but it is used.
  const bool has_poison_passthru = f.attr(id, ir::AttrName::poison_passthru) != 0 && !e.options().check;
  const std::uint32_t free = l.free_bits(HardwareDim::reg);
  const Registers active = bounds.active_elements(id);
  Registers out(pointers.size());
  for (const Access::Group& g : a.groups) {
    const std::size_t count = g.registers.size();
    Value* predicate = predicate_of(e, active, g.registers);
    std::vector<Value*> passthru;
    if (predicate && other) {
      passthru = pack(b, a.element, of(*other, g.registers));
    } else if (predicate && !has_poison_passthru) {
      for (llvm::Type* t : word_types(b, a.element, count)) passthru.push_back(llvm::Constant::getNullValue(t));
    }
    const std::vector<Value*> words =
        load_global(b, a.element, pointers[g.base], g.displacement, count, predicate, passthru, modifiers(f, id, false));
    const std::vector<Value*> elements = unpack(b, a.element, words, count);
    for (std::size_t i = 0; i < count; ++i) out[g.registers[i]] = elements[i];
  }
  if (free) {
    Registers kept;
    for (std::uint32_t r = 0; r < out.size(); ++r)
      if (!(r & free)) kept.push_back(out[r]);
    out = select_registers(kept, l.without_free_registers(), l);
  }
  e.set(f.result(id), std::move(out));
}

void emit_store(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  if (f.type(f.operand(id, 0)).is_scalar()) return emit_scalar_store(e, bounds, id);
  const auto& operands = f.op(id).operands;
  const Access a = plan_access(e, id);
  const Registers &pointers = e.registers(operands[0]), &values = e.registers(operands[1]);
  const Registers active = bounds.active_elements(id);
  Value* acts = e.redundant_thread_predicate(e.layout(operands[0]));
  for (const Access::Group& g : a.groups) {
    Value* predicate = predicate_of(e, active, g.registers);
    if (acts) predicate = predicate ? b.CreateAnd(predicate, acts) : acts;
    store_global(b, a.element, pointers[g.base], g.displacement, of(values, g.registers), predicate, modifiers(f, id, true));
  }
}

}  // namespace tilewright::backend::nvptx
