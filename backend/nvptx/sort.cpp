// sort: rows as records, a network that orders them, and all tiles picked by record.
#include <cmath>

#include "backend/nvptx/sort_network.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

class RowSorter {
  using Source = passes::SortPlan::Source;

 public:
  RowSorter(NvptxLowering& l, OpId id)
      : l_(l),
        b_(l.b_),
        id_(id),
        plan_(l.f_, id, l.num_warps_),
        keys_(l.f_.type(l.f_.operand(id, 0)).scalar()),
        descending_(l.f_.attr(id, ir::AttrName::descending) != 0),
        shared_(l.shared_offset(id)) {
    for (ValueId x : l.f_.op(id).operands) {
      Registers& v = operands_.emplace_back();
      for (std::uint32_t r : NvptxLowering::match_registers(l.layout(x), plan_.layout, same)) v.push_back(l.registers(x)[r]);
    }
  }

  void run() {
    if (plan_.log2_extent == 0) {
      for (std::size_t j = 0; j < operands_.size(); ++j) set_result(j, operands_[j]);
      return;
    }
    std::vector<Record> records;
    for (std::uint32_t r = 0; r < operands_[0].size(); ++r) records.push_back(record(r));
    const RecordOps ops(l_, plan_, shared_);
    switch (plan_.network) {
      case passes::SortPlan::Network::written_out: records = sort_in_registers(ops, std::move(records)); break;
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
  static std::uint32_t same(std::uint32_t flat) { return flat; }
  llvm::Type* word() { return b_.getIntNTy(static_cast<unsigned>(plan_.word_bits)); }
  llvm::Type* key_word() { return b_.getIntNTy(static_cast<unsigned>(plan_.key_bits)); }
  Value* key_constant(std::uint64_t bits) { return llvm::ConstantInt::get(key_word(), bits); }
  std::uint64_t sign() const { return std::uint64_t{1} << (plan_.key_bits - 1); }
  std::uint64_t magnitude() const { return sign() - 1; }
  /// Of integers: the bits in which a key and its place in the order differ.
  std::uint64_t turned() const { return (ir::is_signed(keys_.element()) ? sign() : 0) ^ (descending_ ? sign() | magnitude() : 0); }

  /// A key as an unsigned number whose order is the one asked for: NaN last, -0 as +0.
  Value* ordered_key(Value* key) {
    if (!keys_.is_float()) return b_.CreateXor(key, key_constant(turned()));
    Value* bits = b_.CreateBitCast(key, key_word());
    Value* size = b_.CreateAnd(bits, key_constant(magnitude()));
    // Above all negative numbers, whose magnitude counts down, stand the others.
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
    Value* index = b_.CreateAnd(l_.flat_index(plan_.layout, r), l_.i32((std::int64_t{1} << plan_.log2_extent) - 1));
    if (plan_.splits_words) return {key, index};
    key = b_.CreateShl(key, static_cast<std::uint64_t>(plan_.log2_extent));
    return {b_.CreateOr(key, b_.CreateZExt(index, word())), nullptr};
  }
  Value* index_of(const Record& r) {
    if (plan_.splits_words) return r.index;
    return b_.CreateAnd(b_.CreateZExtOrTrunc(r.word, b_.getInt32Ty()), l_.i32((std::int64_t{1} << plan_.log2_extent) - 1));
  }
  Value* key_of(const Record& r) {
    Value* key = r.word;
    if (plan_.has_index && !plan_.splits_words) key = b_.CreateLShr(key, static_cast<std::uint64_t>(plan_.log2_extent));
    return b_.CreateXor(b_.CreateTrunc(key, key_word()), key_constant(turned()));
  }

  /// The elements of operand j at these indices of their rows.
  Registers picked(std::size_t j, const Registers& indices) {
    const std::uint32_t row = (1u << plan_.log2_extent) - 1;
    std::vector<Value*> places;
    for (std::uint32_t r = 0; r < operands_[j].size(); ++r)
      if (stays(r)) places.push_back(b_.CreateOr(b_.CreateAnd(l_.flat_index(plan_.layout, r), l_.i32(~row)), indices[places.size()]));
    l_.emit_barrier();  // what was in shared memory before may still be read
    const Type t = l_.f_.type(l_.f_.operand(id_, static_cast<int>(j))).scalar();
    return l_.picked_from(t, operands_[j], plan_.layout, places, shared_);
  }

  /// Whether what register r holds is left over: bits of the index that are not kept are 0.
  bool stays(std::uint32_t r) const {
    for (std::size_t i = static_cast<std::size_t>(plan_.log2_kept); i < plan_.places.low_registers.size(); ++i)
      if ((r >> plan_.places.low_registers[i] & 1) != 0) return false;
    return true;
  }

  /// The results have the operands' register bits but those of the index that were given up, and copies where the operands had.
  void set_result(std::size_t j, const Registers& v) {
    const ValueId y = l_.f_.result(id_, static_cast<int>(j));
    const LinearLayout held = l_.layout(y).without_free_registers();
    TW_CHECK(held.size(HardwareDim::reg) == v.size(), "the results of a sort do not lie as its operands");
    Registers out;
    for (std::uint32_t r : NvptxLowering::match_registers(held, l_.layout(y), same)) out.push_back(v[r]);
    l_.set(y, std::move(out));
  }

  NvptxLowering& l_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const passes::SortPlan plan_;
  const Type keys_;
  const bool descending_;
  const std::int64_t shared_;
  std::vector<Registers> operands_;
};

void NvptxLowering::emit_sort(OpId id) { RowSorter(*this, id).run(); }

}  // namespace tilewright::backend::nvptx
