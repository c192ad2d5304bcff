// Emits sort: rows as records, a network that orders them, and the elements of all tiles in the order of the records.
#include "backend/nvptx/sort.h"

#include <cmath>

#include "backend/nvptx/index.h"
#include "backend/nvptx/sort_network.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

namespace {

class RowSorter {
  using Source = passes::SortPlan::Source;

 public:
  RowSorter(Emitter& e, OpId id)
      : e_(e),
        b_(e.b()),
        id_(id),
        plan_(e.plans().sort(id)),
        keys_(e.f().type(e.f().operand(id, 0)).scalar()),
        descending_(e.f().attr(id, ir::AttrName::descending) != 0),
        shared_(e.scratch_offset(id)) {
    for (ValueId x : e.f().op(id).operands) {
      operands_.push_back(select_registers(e.registers(x), e.layout(x), plan_.layout));
    }
  }

  void run() {
    if (plan_.log2_extent == 0) {
      for (std::size_t j = 0; j < operands_.size(); ++j) set_result(j, operands_[j]);
      return;
    }
    std::vector<Record> records;
    for (std::uint32_t r = 0; r < operands_[0].size(); ++r) records.push_back(record(r));
    const RecordOps ops(e_, plan_, shared_);
    switch (plan_.network) {
      case passes::SortPlan::Network::unrolled: records = sort_unrolled(ops, std::move(records)); break;
      case passes::SortPlan::Network::loops: records = sort_in_loops(ops, std::move(records)); break;
      case passes::SortPlan::Network::memory: records = sort_in_memory(ops, records); break;
    }
    Registers indices;
    if (plan_.has_index)
      for (const Record& r : records) indices.push_back(index_of(r));
    for (std::size_t j = 0; j < operands_.size(); ++j) {
      Registers out;
      switch (plan_.sources[j]) {
        case Source::record:
          for (const Record& r : records) out.push_back(key_of(r));
          break;
        case Source::index: out = indices; break;
        case Source::shared: out = picked(j, indices); break;
      }
      set_result(j, out);
    }
  }

 private:
  llvm::Type* word() { return b_.getIntNTy(static_cast<unsigned>(plan_.word_bits)); }
  llvm::Type* key_word() { return b_.getIntNTy(static_cast<unsigned>(plan_.key_bits)); }
  Value* key_constant(std::uint64_t bits) { return llvm::ConstantInt::get(key_word(), bits); }
  std::uint64_t sign() const { return std::uint64_t{1} << (plan_.key_bits - 1); }
  std::uint64_t magnitude() const { return sign() - 1; }
  /// For integers: the bits in which a key and its ordered form differ.
  std::uint64_t inverted() const { return (ir::is_signed(keys_.element()) ? sign() : 0) ^ (descending_ ? sign() | magnitude() : 0); }

  /// A key as an unsigned number in the requested order: NaN last, -0 equal to +0.
  Value* ordered_key(Value* key) {
    if (!keys_.is_float()) return b_.CreateXor(key, key_constant(inverted()));
    Value* bits = b_.CreateBitCast(key, key_word());
    Value* size = b_.CreateAnd(bits, key_constant(magnitude()));
    // Negative numbers come first, in descending order of magnitude, then the others.
    Value* is_negative = b_.CreateAShr(bits, key_constant(static_cast<std::uint64_t>(plan_.key_bits) - 1));
    Value* order = b_.CreateXor(bits, b_.CreateOr(is_negative, key_constant(sign())));
    order = b_.CreateSelect(b_.CreateICmpEQ(size, key_constant(0)), key_constant(sign()), order);
    if (descending_) order = b_.CreateNot(order);
    Value* is_nan = b_.CreateICmpUGT(size, key_constant(ir::element_bits(keys_.element(), HUGE_VAL)));
    return b_.CreateSelect(is_nan, key_constant(sign() | magnitude()), order);
  }

  Record record(std::uint32_t r) {
    Value* key = b_.CreateZExt(ordered_key(operands_[0][r]), word());
    if (!plan_.has_index) return {key, nullptr};
    Value* index = b_.CreateAnd(e_.flat_index(plan_.layout, r), e_.i32((std::int64_t{1} << plan_.log2_extent) - 1));
    if (plan_.splits_words) return {key, index};
    key = b_.CreateShl(key, static_cast<std::uint64_t>(plan_.log2_extent));
    return {b_.CreateOr(key, b_.CreateZExt(index, word())), nullptr};
  }
  Value* index_of(const Record& r) {
    if (plan_.splits_words) return r.index;
    return b_.CreateAnd(b_.CreateZExtOrTrunc(r.word, b_.getInt32Ty()), e_.i32((std::int64_t{1} << plan_.log2_extent) - 1));
  }
  Value* key_of(const Record& r) {
    Value* key = r.word;
    if (plan_.has_index && !plan_.splits_words) key = b_.CreateLShr(key, static_cast<std::uint64_t>(plan_.log2_extent));
    return b_.CreateXor(b_.CreateTrunc(key, key_word()), key_constant(inverted()));
  }

  /// The elements of operand j at these indices of their rows.
  Registers picked(std::size_t j, const Registers& indices) {
    const std::uint32_t row = (1u << plan_.log2_extent) - 1;
    std::vector<Value*> sources;  // flat indices
    for (std::uint32_t r = 0; r < operands_[j].size(); ++r)
      if (is_kept(r)) sources.push_back(b_.CreateOr(b_.CreateAnd(e_.flat_index(plan_.layout, r), e_.i32(~row)), indices[sources.size()]));
    e_.barrier();  // other threads may still read shared memory
    const Type t = e_.f().type(e_.f().operand(id_, static_cast<int>(j))).scalar();
    return load_elements_from_shared(e_, t, operands_[j], plan_.layout, sources, shared_);
  }

  /// Whether the record of register r is kept, that is whether the pruned bits of its index are 0.
  bool is_kept(std::uint32_t r) const {
    for (std::size_t i = static_cast<std::size_t>(plan_.log2_kept); i < plan_.order.low_registers.size(); ++i)
      if ((r >> plan_.order.low_registers[i] & 1) != 0) return false;
    return true;
  }

  /// Sets a result: it has the operands' register bits except the pruned ones, and copies where the operands had copies.
  void set_result(std::size_t j, const Registers& v) {
    const ValueId y = e_.f().result(id_, static_cast<int>(j));
    const LinearLayout held = e_.layout(y).without_free_registers();
    TW_CHECK(held.size(HardwareDim::reg) == v.size(), "the layouts of a sort's operands and results do not agree");
    e_.set(y, select_registers(v, held, e_.layout(y)));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const passes::SortPlan& plan_;
  const Type keys_;
  const bool descending_;
  const std::int64_t shared_;
  std::vector<Registers> operands_;
};

}  // namespace

void emit_sort(Emitter& e, OpId id) { RowSorter(e, id).run(); }

}  // namespace tilewright::backend::nvptx
