// Computes addresses of elements in buffers, and emits the instructions that read and write them.
#include "backend/nvptx/shared_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/access.h"
#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/shared_tile.h"
#include "backend/nvptx/words.h"
#include "passes/plans/buffer_plan.h"

namespace tilewright::backend::nvptx {

namespace {

int log2_bytes(Type t) { return std::countr_zero(static_cast<unsigned>(t.element_bytes())); }
Type element_of(Type buffer) { return Type(buffer.element()); }

/// The accesses of a tile's registers to a buffer; each one is a vector of neighbours.
struct VectorAccesses {
  ir::SharedAccesses accesses;
  SharedTileAddresses addresses;

  VectorAccesses(Emitter& e, ValueId buffer, const LinearLayout& tile, int log2_vector, std::uint32_t constant = 0)
      : accesses(ir::shared_accesses(tile, e.layout(buffer), log2_vector)),
        addresses(e, element_of(e.f().type(buffer)), accesses.thread_offset, constant, 0, {}, e.scalar(buffer)) {}
};

/// The offset in the buffer of the first element that buffer_load reads.
std::uint32_t first_offset(const Function& f, OpId id, const LinearLayout& buffer) {
  const auto& offsets = f.attr_list(id, ir::AttrName::offsets);
  std::uint32_t flat = 0;
  for (std::size_t axis = 0; axis < offsets.size(); ++axis)
    flat |= static_cast<std::uint32_t>(offsets[axis]) << buffer.axis_shift(static_cast<int>(axis));
  return *buffer.matrix().solve(flat);
}

/// The words of one instruction whose bytes are in pairs (passes::MatrixLoad): first the words of even bytes, then those of odd bytes.
std::vector<Value*> exchange_bytes(Emitter& e, std::span<Value* const> words) {
  std::vector<Value*> out;
  for (const char* selector : {"0x6420", "0x7531"})
    for (std::size_t i = 0; i < words.size(); i += 2)
      out.push_back(inline_ptx(e.b(), fmt::format("prmt.b32 $0, $1, $2, {};", selector), e.b().getInt32Ty(), {words[i], words[i + 1]}));
  return out;
}

constexpr int kLeastMatrixStores = 90;  // the compute capability from which stmatrix exists

/// Which register of a tile is the first one of each word of an instruction.
std::vector<std::uint32_t> firsts_of_words(const passes::MatrixLoad& plan) {
  // The bits of a register's number that count the words within an instruction.
  std::vector<int> counted = plan.matrices;
  if (plan.pair >= 0) counted.erase(counted.begin()), counted.push_back(plan.pair);
  std::vector<std::uint32_t> first(std::size_t{1} << plan.matrices.size());
  for (std::size_t word = 0; word < first.size(); ++word)
    for (std::size_t i = 0; i < counted.size(); ++i) first[word] |= static_cast<std::uint32_t>(word >> i & 1) << counted[i];
  return first;
}

/// stmatrix: PTX ISA 9.0, section 9.7.14.5.16.
void store_matrices(Emitter& e, Type element, const passes::MatrixLoad& plan, SharedTileAddresses& addresses, const Registers& v) {
  llvm::IRBuilder<>& b = e.b();
  const std::vector<std::uint32_t> words = firsts_of_words(plan);
  const std::size_t packed = std::size_t{1} << plan.log2_packed;
  std::string list;
  for (std::size_t w = 0; w < words.size(); ++w) list += fmt::format("{}${}", w > 0 ? ", " : "", w + 1);
  const std::string name = fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", words.size(), plan.transposes ? ".trans" : "");
  for (std::uint32_t r = 0; r < v.size(); ++r) {
    if ((r & plan.within_instruction()) != 0) continue;
    const SharedAccess at = addresses.at(plan.by_register(r));
    std::vector<Value*> inputs{at.base};
    for (const std::uint32_t first : words) {
      const Registers elements(v.begin() + (r | first), v.begin() + static_cast<std::ptrdiff_t>((r | first) + packed));
      inputs.push_back(pack(b, element, elements)[0]);
    }
    inline_ptx(b, fmt::format("{} [$0 + {}], {{{}}};", name, at.displacement, list), std::span<llvm::Type* const>(), inputs, kCollective);
  }
}

/// ldmatrix: PTX ISA 9.0, section 9.7.14.5.15.
Registers load_matrices(Emitter& e, Type element, const passes::MatrixLoad& plan, SharedTileAddresses& addresses, std::uint32_t registers) {
  llvm::IRBuilder<>& b = e.b();
  const std::size_t words = std::size_t{1} << plan.matrices.size(), packed = std::size_t{1} << plan.log2_packed;
  const std::vector<llvm::Type*> types(words, b.getInt32Ty());
  const std::string suffix = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", words, plan.transposes ? ".trans" : "");
  const std::vector<std::uint32_t> first_of_word = firsts_of_words(plan);
  Registers out(registers);
  for (std::uint32_t r = 0; r < registers; ++r) {
    if ((r & plan.within_instruction()) != 0) continue;
    const SharedAccess at = addresses.at(plan.by_register(r));
    const std::string list = words == 1 ? "{$0}" : operand_vector(words);
    Value* inputs[] = {at.base};
    std::vector<Value*> loaded =
        inline_ptx(b, fmt::format("{} {}, [${} + {}];", suffix, list, words, at.displacement), types, inputs, kCollective);
    if (plan.pair >= 0) loaded = exchange_bytes(e, loaded);
    for (std::size_t w = 0; w < words; ++w) {
      const std::vector<Value*> elements = unpack(b, element, std::span(&loaded[w], 1), packed);
      for (std::size_t i = 0; i < packed; ++i)
        out[r | first_of_word[w] | i] = b.CreateBitCast(elements[i], register_type(b.getContext(), element));
    }
  }
  return out;
}

}  // namespace

void emit_alloc_buffer(Emitter& e, OpId id) { e.set(e.f().result(id), {e.shared_address(e.f().attr(id, ir::AttrName::shared))}); }

void emit_buffer_slot(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId buffer = f.operand(id, 0);
  const Type t = f.type(buffer);
  // The bytes of a slot. The index is the slot's number times `divisor`, so neither division has a remainder.
  const std::int64_t bytes = t.elements() * t.element_bytes(), divisor = std::max<std::int64_t>(f.attr(id, ir::AttrName::divisor), 1);
  Value* index = e.scalar(f.operand(id, 1));
  Value* offset = bytes >= divisor ? e.b().CreateMul(index, e.i32(bytes / divisor)) : e.b().CreateUDiv(index, e.i32(divisor / bytes));
  e.set(f.result(id), {e.b().CreateAdd(e.scalar(buffer), offset)});
}

void emit_buffer_permute(Emitter& e, OpId id) { e.set(e.f().result(id), e.registers(e.f().operand(id, 0))); }

void emit_buffer_store(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId buffer = f.operand(id, 0), value = f.operand(id, 1);
  const Type element = f.type(value).scalar();
  const LinearLayout from = e.layout(value).without_free_registers();
  const Registers v = select_registers(e.registers(value), e.layout(value), from);
  const bool has_matrices =
      e.target().sm >= kLeastMatrixStores && from.free_bits(HardwareDim::lane) == 0 && from.free_bits(HardwareDim::warp) == 0;
  const auto plan =
      has_matrices ? passes::plan_matrix_store(from, e.layout(buffer), element.element_bytes()) : std::optional<passes::MatrixLoad>();
  if (plan) {
    SharedTileAddresses addresses(e, element, plan->thread_offset, 0, 0, {}, e.scalar(buffer));
    return store_matrices(e, element, *plan, addresses, v);
  }
  VectorAccesses to(e, buffer, from, passes::log2_shared_vector(from, e.layout(buffer), element.element_bytes()));
  std::vector<Registers> vectors(to.accesses.offsets.size(), Registers(std::size_t{1} << to.accesses.log2_vector));
  for (std::size_t r = 0; r < v.size(); ++r) {
    const std::uint32_t position = to.accesses.positions[r];
    vectors[position >> to.accesses.log2_vector][position & ((1u << to.accesses.log2_vector) - 1)] = v[r];
  }
  Value* acts = e.redundant_thread_predicate(from);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const SharedAccess at = to.addresses.at(to.accesses.offsets[i]);
    e.store_shared(element, at.base, at.displacement, vectors[i], acts);
  }
}

void emit_buffer_load(Emitter& e, OpId id) {
  const Function& f = e.f();
  const ValueId buffer = f.operand(id, 0), result = f.result(id);
  const Type element = f.type(result).scalar();
  const LinearLayout& memory = e.layout(buffer);
  const LinearLayout to = passes::in_buffer(e.layout(result), memory);
  const std::uint32_t first = first_offset(f, id, memory);
  if (const auto plan = passes::plan_matrix_load(to, memory, element.element_bytes())) {
    SharedTileAddresses addresses(e, element, plan->thread_offset, first, 0, {}, e.scalar(buffer));
    return e.set(result, load_matrices(e, element, *plan, addresses, to.size(HardwareDim::reg)));
  }
  VectorAccesses from(e, buffer, to, passes::log2_shared_vector(to, memory, element.element_bytes()), first);
  std::vector<std::vector<Value*>> vectors;
  for (const std::uint32_t offset : from.accesses.offsets) {
    const SharedAccess at = from.addresses.at(offset);
    vectors.push_back(e.load_shared(element, at.base, at.displacement, std::size_t{1} << from.accesses.log2_vector));
  }
  Registers out;
  for (const std::uint32_t position : from.accesses.positions)
    out.push_back(vectors[position >> from.accesses.log2_vector][position & ((1u << from.accesses.log2_vector) - 1)]);
  e.set(result, std::move(out));
}

void emit_copy_async(Emitter& e, BoundsCheck& bounds, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const ValueId pointer = f.operand(id, 0), buffer = f.operand(id, 1);
  const LinearLayout& layout = e.layout(pointer);
  const Type element = f.type(pointer).pointee().scalar();
  const ir::F2Matrix to_offset = *e.layout(buffer).matrix().solve(layout.matrix());
  ir::F2Matrix thread_offset;
  thread_offset.columns.assign(to_offset.columns.begin() + layout.bits(HardwareDim::reg), to_offset.columns.end());
  SharedTileAddresses addresses(e, element, thread_offset, 0, 0, {}, e.scalar(buffer));
  const Access a = plan_access(e, id, &e.layout(buffer));
  const Registers active = bounds.active_elements(id);
  Value* condition = e.scalar(f.operand(id, 2));
  if (Value* acts = e.redundant_thread_predicate(layout)) condition = b.CreateAnd(condition, acts);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
  const bool always = known && known->isOne();
  const bool all = static_cast<ir::Cache>(f.attr(id, ir::AttrName::cache)) == ir::Cache::all;
  for (const Access::Group& g : a.groups) {
    const std::uint32_t offset =
        ir::F2Matrix{{to_offset.columns.begin(), to_offset.columns.begin() + layout.bits(HardwareDim::reg)}}(g.registers[0]);
    const SharedAccess at = addresses.at(offset);
    const std::size_t bytes = g.registers.size() << log2_bytes(element);
    std::vector<Value*> inputs{at.base, e.registers(pointer)[g.base]};
    std::string copy = fmt::format("cp.async.{}.shared.global [$0 + {}], [$1 + {}], {}", bytes == 16 && !all ? "cg" : "ca", at.displacement,
                                   g.displacement, bytes);
    if (!always) {
      copy = fmt::format("@${} {}", inputs.size(), copy);
      inputs.push_back(condition);
    }
    // ignore-src: if it is true, nothing is read and zeros are written.
    if (Value* predicate = predicate_of(e, active, g.registers)) {
      copy += fmt::format(", ${}", inputs.size());
      inputs.push_back(b.CreateNot(predicate));
    }
    inline_ptx(b, copy + ";", std::span<llvm::Type* const>(), inputs, kMemory);
  }
}

void emit_async_commit(Emitter& e, OpId) { inline_ptx(e.b(), "cp.async.commit_group;", {}, kMemory); }

void emit_async_wait(Emitter& e, OpId id) {
  inline_ptx(e.b(), fmt::format("cp.async.wait_group {};", e.f().attr(id, ir::AttrName::pending)), {}, kMemory);
  e.barrier();
}

}  // namespace tilewright::backend::nvptx
