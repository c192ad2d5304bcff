// Plans of accesses: as wide as the addresses, the mask and the layout allow, under predicates.
#include "backend/nvptx/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/nvptx/global_memory.h"
#include "backend/nvptx/words.h"
#include "passes/plans/access_plan.h"
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
  // An instruction takes one of the two. The operator selects the caches, the priority only how long they keep the data.
  return ".global" + (cache.empty() ? evict : cache);
}

/// An access of a tile: its registers in groups of neighbours, one instruction each, and for each group a base address.
struct Access {
  Type element;
  struct Group {
    std::vector<std::uint32_t> registers;  // lowest address first
    std::uint32_t base;                    // the register of the address that the group is relative to
    std::int64_t displacement;             // in bytes
  };
  std::vector<Group> groups;
};

Access plan_access(Emitter& e, OpId id) {
  const Function& f = e.f();
  const LinearLayout& l = e.layout(f.operand(id, 0));
  const passes::AccessInfo info = passes::access_info(f, id, e.axes());
  const std::vector<int> vector = passes::vector_bits(info, l);
  Access a;
  a.element = info.pointer.pointee().scalar();
  const std::int64_t bytes = a.element.element_bytes();
  const auto& registers = l.bases(HardwareDim::reg);
  const std::uint32_t unit = 1u << l.axis_shift(info.axis), run = 1u << info.log2_run;

  // A register bit that moves the address within a run, by a distance to which no lane or warp contributes, needs no address of its own.
  const auto moves_within_run = [&](int bit) {
    const std::uint32_t basis = registers[bit];
    if ((basis & ~l.axis_mask(info.axis)) != 0 || basis / unit >= run) return false;
    const ir::F2Matrix all = l.matrix();
    for (int i = 0; i < all.width(); ++i)
      if (i != bit && (all.columns[i] & basis) != 0) return false;
    return true;
  };
  std::uint32_t within = 0, counted = l.free_bits(HardwareDim::reg);  // a copy is not accessed
  for (std::size_t i = 0; i < registers.size(); ++i)
    if (moves_within_run(static_cast<int>(i))) within |= 1u << i;
  for (int bit : vector) counted |= 1u << bit;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    if (r & counted) continue;
    const std::uint32_t distance = l.apply(HardwareDim::reg, r & within) / unit;
    Access::Group& g = a.groups.emplace_back(Access::Group{{}, r & ~within, static_cast<std::int64_t>(distance) * bytes});
    for (std::uint32_t k = 0; k < 1u << vector.size(); ++k) {
      std::uint32_t member = r;
      for (std::size_t i = 0; i < vector.size(); ++i) member |= (k >> i & 1) << vector[i];
      g.registers.push_back(member);
    }
  }
  return a;
}

/// The predicate of an instruction that accesses several neighbours. One mask bit holds for all of them, but in checked mode each element
/// has its own predicate.
Value* predicate_of(Emitter& e, const Registers& active, std::span<const std::uint32_t> neighbours) {
  Value* all = active[neighbours[0]];
  if (e.options().check)
    for (std::uint32_t r : neighbours.subspan(1)) all = e.b().CreateAnd(all, active[r]);
  return all;
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
  const bool has_poison_passthru = f.attr(id, ir::AttrName::poison_passthru) != 0;
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
