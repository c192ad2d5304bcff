// The network as loops, with a thread's records in its local memory: neither code nor registers grow with their number.
#include <algorithm>
#include <functional>

#include "backend/nvptx/sort_network.h"

namespace tilewright::backend::nvptx {

namespace {

/// Record i of a thread: the high bits of i are the register bits of its index within the row, the low bits select its row. Register bits
/// are pruned from the highest down, after which the first records are kept.
class MemoryNetwork {
 public:
  MemoryNetwork(RecordOps ops, const std::vector<Record>& records)
      : ops_(ops), e_(ops_.emitter()), b_(ops_.emitter().b()), plan_(ops_.plan()) {
    row_bits_ = static_cast<int>(plan_.across.size());
    log2_records_ = row_bits_ + ops_.register_bits();
    const auto allocate = [&](llvm::Type* t) {
      llvm::IRBuilder<>::InsertPointGuard guard(b_);
      llvm::BasicBlock& entry = e_.kernel().getEntryBlock();
      b_.SetInsertPoint(&entry, entry.begin());
      return b_.CreateAlloca(llvm::ArrayType::get(t, records.size()));
    };
    words_ = allocate(word_type());
    if (plan_.splits_words) indices_ = allocate(b_.getInt32Ty());
    for (std::uint32_t r = 0; r < records.size(); ++r) store(e_.i32(number_of(r)), records[r]);
    of_thread_ = ops_.index_of_thread();
  }

  std::vector<Record> run() {
    const std::vector<int> pruned = ops_.pruned_bits();
    const int kept = plan_.log2_kept;
    // A bit of the index gives the direction of a run, which is ascending if the bit is 0; bit log2_extent is always 0.
    const auto direction = [&](std::size_t i) { return i < pruned.size() ? pruned[i] : plan_.log2_extent; };
    if (kept > 0)
      loop(e_.i32(1), e_.i32(kept + 1),
           [&](Value* size) { merge(size, b_.CreateSelect(b_.CreateICmpULT(size, e_.i32(kept)), size, e_.i32(direction(0)))); });
    for (std::size_t i = 0; i < pruned.size(); ++i) {
      prune(pruned[i]);
      merge(e_.i32(kept), e_.i32(direction(i + 1)));
    }
    std::vector<Record> out;
    for (std::uint32_t r = 0; r < 1u << plan_.layout.bits(HardwareDim::reg); ++r)
      if (const std::uint32_t i = number_of(r); i < 1u << log2_records_) out.push_back(load(e_.i32(i)));
    return out;
  }

 private:
  llvm::Type* word_type() { return b_.getIntNTy(static_cast<unsigned>(plan_.word_bits)); }
  std::uint32_t number_of(std::uint32_t r) const {
    std::uint32_t i = 0;
    for (std::size_t k = 0; k < plan_.across.size(); ++k) i |= (r >> plan_.across[k] & 1) << k;
    for (std::size_t k = 0; k < plan_.order.low_registers.size(); ++k)
      i |= (r >> plan_.order.low_registers[k] & 1) << (k + static_cast<std::size_t>(row_bits_));
    return i;
  }

  Record load(Value* i) {
    const auto read = [&](Value* array, llvm::Type* t) { return b_.CreateLoad(t, b_.CreateGEP(t, array, i)); };
    return {read(words_, word_type()), indices_ ? read(indices_, b_.getInt32Ty()) : nullptr};
  }
  void store(Value* i, const Record& r) {
    b_.CreateStore(r.word, b_.CreateGEP(word_type(), words_, i));
    if (indices_) b_.CreateStore(r.index, b_.CreateGEP(b_.getInt32Ty(), indices_, i));
  }

  /// for (i = lo; i < hi; i += step). All threads run the same iterations.
  void loop(Value* lo, Value* hi, const std::function<void(Value*)>& body, int step = 1) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *head = e_.new_block("sort"), *inside = e_.new_block("sort.body"),
                     *after = e_.new_block("sort.done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt32Ty(), 2);
    i->addIncoming(lo, before);
    b_.CreateCondBr(b_.CreateICmpSLT(i, hi), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, e_.i32(step)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }
  /// Bits from min(top, hi) - 1 down to lo.
  void each_bit_down(Value* top, int hi, int lo, const std::function<void(Value*)>& body) {
    if (lo == hi) return;
    Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, top, e_.i32(hi));
    loop(e_.i32(0), b_.CreateSub(first, e_.i32(lo)), [&](Value* i) { body(b_.CreateSub(b_.CreateSub(first, e_.i32(1)), i)); });
  }

  Value* bit_of(Value* x, Value* bit) { return b_.CreateTrunc(b_.CreateLShr(x, bit), b_.getInt1Ty()); }
  /// The index within the row of record i.
  Value* index_of(Value* i) { return b_.CreateOr(b_.CreateLShr(i, e_.i32(row_bits_)), of_thread_); }

  void merge(Value* log2_run, Value* direction) {
    const int registers = ops_.register_bits(), lanes = registers + ops_.lane_bits();
    each_bit_down(log2_run, plan_.log2_extent, lanes, [&](Value* bit) { compare_threads(HardwareDim::warp, bit, direction); });
    each_bit_down(log2_run, lanes, registers, [&](Value* bit) { compare_threads(HardwareDim::lane, bit, direction); });
    each_bit_down(log2_run, std::min(registers, log2_records_ - row_bits_), 0, [&](Value* bit) { compare_own(bit, direction); });
  }

  void compare_own(Value* bit, Value* direction) {
    Value* at = b_.CreateAdd(bit, e_.i32(row_bits_));
    Value* distance = b_.CreateShl(e_.i32(1), at);
    loop(e_.i32(0), e_.i32(std::int64_t{1} << (log2_records_ - 1)), [&](Value* pair) {
      Value* below = b_.CreateAnd(pair, b_.CreateSub(distance, e_.i32(1)));
      Value* low = b_.CreateOr(b_.CreateShl(b_.CreateXor(pair, below), e_.i32(1)), below);  // inserts a 0 at the bit
      Value* high = b_.CreateOr(low, distance);
      const Record a = load(low), b = load(high);
      Value* swap = b_.CreateXor(ops_.less(b, a), bit_of(index_of(low), direction));
      store(low, ops_.select(swap, b, a));
      store(high, ops_.select(swap, a, b));
    });
  }

  /// Replaces each record by f of itself and of the record of the thread on the other side of an index bit.
  void with_partners(HardwareDim where, Value* bit, const std::function<Record(Value* i, const Record& own, const Record& other)>& f) {
    Value* mask = ops_.mask_of(where, bit);
    const std::int64_t count = std::int64_t{1} << log2_records_;
    if (where == HardwareDim::lane)
      return loop(e_.i32(0), e_.i32(count), [&](Value* i) {
        const Record own = load(i);
        store(i, f(i, own, ops_.from_lane(own, mask)));
      });
    const int group = static_cast<int>(std::min<std::int64_t>(plan_.exchange_group, std::max<std::int64_t>(count / 2, 1)));
    loop(
        e_.i32(0), e_.i32(count),
        [&](Value* first) {
          std::vector<Record> own;
          for (int k = 0; k < group; ++k) own.push_back(load(b_.CreateAdd(first, e_.i32(k))));
          Value* buffer = b_.CreateAnd(b_.CreateUDiv(first, e_.i32(group)), e_.i32(1));
          const std::vector<Record> others = ops_.from_warp(own, mask, buffer);
          for (int k = 0; k < group; ++k) {
            Value* i = b_.CreateAdd(first, e_.i32(k));
            store(i, f(i, own[static_cast<std::size_t>(k)], others[static_cast<std::size_t>(k)]));
          }
          if (count == group) e_.barrier();  // with one group, the next iteration uses the same buffer
        },
        group);
  }

  void compare_threads(HardwareDim where, Value* bit, Value* direction) {
    with_partners(where, bit, [&](Value* i, const Record& own, const Record& other) {
      Value* index = index_of(i);
      Value* keeps_greater = b_.CreateXor(bit_of(index, bit), bit_of(index, direction));
      return ops_.select(b_.CreateXor(ops_.less(other, own), keeps_greater), other, own);
    });
  }

  void prune(int bit) {
    const HardwareDim where = ops_.location(bit).first;
    if (where != HardwareDim::reg)
      return with_partners(where, e_.i32(bit), [&](Value*, const Record& own, const Record& other) { return ops_.lesser(own, other); });
    --log2_records_;
    const std::int64_t half = std::int64_t{1} << log2_records_;
    loop(e_.i32(0), e_.i32(half), [&](Value* i) { store(i, ops_.lesser(load(i), load(b_.CreateAdd(i, e_.i32(half))))); });
  }

  RecordOps ops_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const passes::SortPlan& plan_;
  int row_bits_ = 0, log2_records_ = 0;
  Value *words_ = nullptr, *indices_ = nullptr, *of_thread_ = nullptr;
};

}  // namespace

std::vector<Record> sort_in_memory(RecordOps ops, const std::vector<Record>& records) { return MemoryNetwork(ops, records).run(); }

}  // namespace tilewright::backend::nvptx
