// Loads and stores of global memory: as wide as what is known of addresses, masks and layout allows, under predicates.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
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
  // An instruction takes one of the two; the operator says where data goes, the priority only how long it stays.
  return ".global" + (cache.empty() ? evict : cache);
}

}  // namespace

/// The plan of an access: registers in groups of neighbours, and for each group a register whose address leads.
struct NvptxLowering::Access {
  Type element;
  struct Group {
    std::vector<std::uint32_t> registers;  // lowest address first
    std::uint32_t leader;                  // the register whose address is taken
    std::int64_t displacement;             // bytes from there
  };
  std::vector<Group> groups;
};

NvptxLowering::Access NvptxLowering::access(OpId id) {
  const LinearLayout& l = layout(f_.operand(id, 0));
  const passes::AccessInfo info = passes::access_info(f_, id, axes_);
  const std::vector<int> vector = passes::vector_bits(info, l);
  Access a;
  a.element = info.pointer.pointee().scalar();
  const std::int64_t bytes = a.element.element_bytes();
  const auto& registers = l.bases(HardwareDim::reg);
  const std::uint32_t unit = 1u << l.axis_shift(info.axis), run = 1u << info.log2_run;

  // A register bit that moves the address within a run, by a distance that no lane or warp has a part in, needs no address of its own.
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

/// Of neighbours that one instruction takes: one mask holds for all of them, but what checked mode finds is an element's own.
Value* NvptxLowering::predicate_of(const Registers& active, std::span<const std::uint32_t> neighbours) {
  Value* all = active[neighbours[0]];
  if (check_)
    for (std::uint32_t r : neighbours.subspan(1)) all = b_.CreateAnd(all, active[r]);
  return all;
}

void NvptxLowering::emit_load(OpId id) {
  if (f_.type(f_.operand(id, 0)).is_scalar()) return emit_scalar_load(id);
  const auto& operands = f_.op(id).operands;
  const Access a = access(id);
  const Registers& pointers = registers(operands[0]);
  const Registers* other = operands.size() > 2 ? &registers(operands[2]) : nullptr;
  const LinearLayout& l = layout(operands[0]);
  const bool has_poison_passthru = f_.attr(id, ir::AttrName::poison_passthru) != 0;
  const std::uint32_t free = l.free_bits(HardwareDim::reg);
  const Registers active = active_elements(id);
  Registers out(pointers.size());
  for (const Access::Group& g : a.groups) {
    const std::size_t count = g.registers.size();
    Value* predicate = predicate_of(active, g.registers);
    std::vector<Value*> fill;
    if (predicate && other) {
      fill = pack(a.element, of(*other, g.registers));
    } else if (predicate && !has_poison_passthru) {
      for (llvm::Type* t : word_types(a.element, count)) fill.push_back(llvm::Constant::getNullValue(t));
    }
    const std::vector<Value*> words =
        load_global(a.element, pointers[g.leader], g.displacement, count, predicate, fill, modifiers(f_, id, false));
    const std::vector<Value*> elements = unpack(a.element, words, count);
    for (std::size_t i = 0; i < count; ++i) out[g.registers[i]] = elements[i];
  }
  if (free) {
    const auto holder = match_registers(l.without_free_registers(), l, [](std::uint32_t flat) { return flat; });
    Registers kept;
    for (std::uint32_t r = 0; r < out.size(); ++r)
      if (!(r & free)) kept.push_back(out[r]);
    for (std::uint32_t r = 0; r < out.size(); ++r) out[r] = kept[holder[r]];
  }
  set(f_.result(id), std::move(out));
}

std::vector<Value*> NvptxLowering::load_global(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate,
                                               std::span<Value* const> fill, const std::string& modifiers) {
  const std::vector<llvm::Type*> words = word_types(element, count);
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) list += fmt::format("{}${}", i ? ", " : "", i);
  if (words.size() > 1) list = "{" + list + "}";
  const std::string text = fmt::format("{}ld{}{} {}, [${}{}];", predicate ? fmt::format("@${} ", words.size() + 1) : "", modifiers,
                                       word_suffix(words, element, count), list, words.size(),
                                       displacement ? fmt::format(" + {}", displacement) : "");
  std::vector<Value*> inputs;
  if (predicate) inputs.assign(fill.begin(), fill.end());
  const std::size_t tied = inputs.size();
  inputs.push_back(address);
  if (predicate) inputs.push_back(predicate);
  return inline_ptx(b_, text, words, inputs, kMemory, tied);
}

void NvptxLowering::store_global(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate,
                                 const std::string& modifiers) {
  std::vector<Value*> words = pack(element, elements);
  const std::vector<llvm::Type*> types = word_types(element, elements.size());
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) list += fmt::format("{}${}", i ? ", " : "", i);
  if (words.size() > 1) list = "{" + list + "}";
  const std::string text = fmt::format("{}st{}{} [${}{}], {};", predicate ? fmt::format("@${} ", words.size() + 1) : "", modifiers,
                                       word_suffix(types, element, elements.size()), words.size(),
                                       displacement ? fmt::format(" + {}", displacement) : "", list);
  words.push_back(address);
  if (predicate) words.push_back(predicate);
  inline_ptx(b_, text, std::span<llvm::Type* const>(), words, kMemory);
}

void NvptxLowering::emit_store(OpId id) {
  if (f_.type(f_.operand(id, 0)).is_scalar()) return emit_scalar_store(id);
  const auto& operands = f_.op(id).operands;
  const Access a = access(id);
  const Registers &pointers = registers(operands[0]), &values = registers(operands[1]);
  const Registers active = active_elements(id);
  Value* canonical = is_canonical(layout(operands[0]));
  for (const Access::Group& g : a.groups) {
    Value* predicate = predicate_of(active, g.registers);
    if (canonical) predicate = predicate ? b_.CreateAnd(predicate, canonical) : canonical;
    store_global(a.element, pointers[g.leader], g.displacement, of(values, g.registers), predicate, modifiers(f_, id, true));
  }
}

void NvptxLowering::emit_scalar_load(OpId id) {
  const auto& operands = f_.op(id).operands;
  const Type element = f_.type(f_.result(id));
  Value* predicate = active_elements(id)[0];
  std::vector<Value*> fill;
  if (predicate) {
    if (operands.size() > 2) {
      fill = pack(element, registers(operands[2]));
    } else {
      fill.push_back(llvm::Constant::getNullValue(word_types(element, 1)[0]));
    }
  }
  const auto words = load_global(element, scalar(operands[0]), 0, 1, predicate, fill, modifiers(f_, id, false));
  set(f_.result(id), unpack(element, words, 1));
}

void NvptxLowering::emit_scalar_store(OpId id) {
  const auto& operands = f_.op(id).operands;
  Value* predicate = is_first_thread();
  if (Value* active = active_elements(id)[0]) predicate = b_.CreateAnd(predicate, active);
  store_global(f_.type(operands[1]), scalar(operands[0]), 0, registers(operands[1]), predicate, modifiers(f_, id, true));
}

}  // namespace tilewright::backend::nvptx
