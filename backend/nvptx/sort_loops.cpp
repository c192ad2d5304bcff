// The network as loops over its steps, with a thread's records in registers: the code size grows with the number of records, not with that
// of steps.
#include <algorithm>
#include <functional>

#include "backend/nvptx/sort_network.h"

namespace tilewright::backend::nvptx {

namespace {

class LoopNetwork {
 public:
  LoopNetwork(RecordOps ops, std::vector<Record> records)
      : ops_(ops), e_(ops_.emitter()), b_(ops_.emitter().b()), plan_(ops_.plan()), records_(std::move(records)) {
    for (std::uint32_t r = 0; r < records_.size(); ++r) live_.push_back(r);
    of_thread_ = ops_.index_of_thread();
  }

  std::vector<Record> run() {
    const std::vector<int> pruned = ops_.pruned_bits();
    const int kept = plan_.log2_kept, registers = ops_.register_bits(), lanes = registers + ops_.lane_bits();
    // A bit of the index gives the direction of a run, which is ascending if the bit is 0; bit log2_extent is always 0.
    const int first = pruned.empty() ? plan_.log2_extent : pruned[0];
    if (kept > 0)
      loop(e_.i32(1), e_.i32(kept + 1),
           [&](Value* size) { merge(size, b_.CreateSelect(b_.CreateICmpULT(size, e_.i32(kept)), size, e_.i32(first))); });
    std::size_t done = 0;
    for (; done < pruned.size() && pruned[done] < registers; ++done) {
      prune_registers(pruned[done]);
      merge(e_.i32(kept), e_.i32(done + 1 < pruned.size() ? pruned[done + 1] : plan_.log2_extent));
    }
    // The other bits are thread bits, consecutive in the index.
    const auto prune = [&](HardwareDim where, int lo, int hi) {
      if (lo < hi)
        loop(e_.i32(lo), e_.i32(hi), [&](Value* bit) {
          with_partners(where, bit, [&](const Record& own, const Record& other) { return ops_.lesser(own, other); });
          merge(e_.i32(kept), b_.CreateAdd(bit, e_.i32(1)));
        });
    };
    const int from = std::max(registers, kept);
    prune(HardwareDim::lane, from, lanes);
    prune(HardwareDim::warp, std::max(from, lanes), plan_.log2_extent);
    std::vector<Record> out;
    for (std::uint32_t r : live_) out.push_back(records_[r]);
    return out;
  }

 private:
  /// The values of all live records: words, then indices if the plan splits words.
  Registers values() const {
    Registers v;
    for (std::uint32_t r : live_) v.push_back(records_[r].word);
    if (plan_.splits_words)
      for (std::uint32_t r : live_) v.push_back(records_[r].index);
    return v;
  }
  void set_values(const Registers& v) {
    for (std::size_t i = 0; i < live_.size(); ++i) records_[live_[i]] = {v[i], plan_.splits_words ? v[live_.size() + i] : nullptr};
  }

  /// for (i = lo; i < hi; ++i), executed at least once. All threads run the same iterations.
  void loop(Value* lo, Value* hi, const std::function<void(Value*)>& body) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = e_.new_block("sort"), *after = e_.new_block("sort_done");
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt32Ty(), 2);
    i->addIncoming(lo, before);
    const Registers init[] = {values()};
    const std::vector<Registers> carried = make_phis(b_, init, 2);
    add_incoming(carried, init, before);
    set_values(carried[0]);
    body(i);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    Value* next = b_.CreateAdd(i, e_.i32(1));
    i->addIncoming(next, last);
    const Registers result[] = {values()};
    add_incoming(carried, result, last);
    disable_unroll(b_.CreateCondBr(b_.CreateICmpSLT(next, hi), inside, after));
    b_.SetInsertPoint(after);
  }
  /// if (condition) body; the condition is equal in all threads.
  void when(Value* condition, const std::function<void()>& body) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = e_.new_block("sort_if"), *after = e_.new_block("sort_join");
    b_.CreateCondBr(condition, inside, after);
    const Registers otherwise[] = {values()};
    b_.SetInsertPoint(inside);
    body();
    const Registers then[] = {values()};
    llvm::BasicBlock* last = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    const std::vector<Registers> joined = make_phis(b_, otherwise, 2);
    add_incoming(joined, otherwise, before);
    add_incoming(joined, then, last);
    set_values(joined[0]);
  }
  /// Bits from min(top, hi) - 1 down to lo, if there are any.
  void each_bit_down(Value* top, int hi, int lo, const std::function<void(Value*)>& body) {
    if (lo >= hi) return;
    Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, top, e_.i32(hi));
    when(b_.CreateICmpSGT(first, e_.i32(lo)), [&] {
      loop(e_.i32(0), b_.CreateSub(first, e_.i32(lo)), [&](Value* i) { body(b_.CreateSub(b_.CreateSub(first, e_.i32(1)), i)); });
    });
  }

  Value* bit_of(Value* x, Value* bit) { return b_.CreateTrunc(b_.CreateLShr(x, bit), b_.getInt1Ty()); }
  std::uint32_t register_part(std::uint32_t r) const {
    std::uint32_t i = 0;
    for (std::size_t k = 0; k < plan_.order.low_registers.size(); ++k) i |= (r >> plan_.order.low_registers[k] & 1) << k;
    return i;
  }

  /// Reverses the order of the records if this bit of their index is 1: then all runs are ascending.
  void reverse(Value* direction) {
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(direction);
        known && known->equalsInt(static_cast<std::uint64_t>(plan_.log2_extent)))
      return;
    for (std::uint32_t r : live_) {
      Value* index = b_.CreateOr(of_thread_, e_.i32(register_part(r)));
      Value* down = b_.CreateSExt(bit_of(index, direction), records_[r].word->getType());
      records_[r].word = b_.CreateXor(records_[r].word, down);
      if (plan_.splits_words) records_[r].index = b_.CreateXor(records_[r].index, b_.CreateTrunc(down, b_.getInt32Ty()));
    }
  }

  void merge(Value* log2_run, Value* direction) {
    const int registers = ops_.register_bits(), lanes = registers + ops_.lane_bits();
    reverse(direction);
    each_bit_down(log2_run, plan_.log2_extent, lanes, [&](Value* bit) { compare_threads(HardwareDim::warp, bit); });
    each_bit_down(log2_run, lanes, registers, [&](Value* bit) { compare_threads(HardwareDim::lane, bit); });
    for (int bit = registers - 1; bit >= 0; --bit)
      if (is_live(bit)) when(b_.CreateICmpUGT(log2_run, e_.i32(bit)), [&] { compare_registers(bit); });
    reverse(direction);
  }

  std::uint32_t register_mask(int bit) const { return 1u << plan_.order.low_registers[static_cast<std::size_t>(bit)]; }
  bool is_live(int bit) const {
    return std::any_of(live_.begin(), live_.end(), [&](std::uint32_t r) { return (r & register_mask(bit)) != 0; });
  }
  void compare_registers(int bit) {
    for (std::uint32_t r : live_) {
      if ((r & register_mask(bit)) != 0) continue;
      const Record a = records_[r], b = records_[r | register_mask(bit)];
      Value* swap = ops_.less(b, a);
      records_[r] = ops_.select(swap, b, a);
      records_[r | register_mask(bit)] = ops_.select(swap, a, b);
    }
  }
  void prune_registers(int bit) {
    std::erase_if(live_, [&](std::uint32_t r) { return (r & register_mask(bit)) != 0; });
    for (std::uint32_t r : live_) records_[r] = ops_.lesser(records_[r], records_[r | register_mask(bit)]);
  }

  /// Replaces each record by f of itself and of the record of the thread on the other side of an index bit.
  void with_partners(HardwareDim where, Value* bit, const std::function<Record(const Record& own, const Record& other)>& f) {
    Value* mask = ops_.mask_of(where, bit);
    if (where == HardwareDim::lane) {
      for (std::uint32_t r : live_) records_[r] = f(records_[r], ops_.from_lane(records_[r], mask));
      return;
    }
    // Two buffers alternate, also between iterations of a loop.
    const std::size_t group =
        std::min<std::size_t>(static_cast<std::size_t>(plan_.exchange_group), std::max<std::size_t>(live_.size() / 2, 1));
    for (std::size_t first = 0; first < live_.size(); first += group) {
      std::vector<Record> own;
      for (std::size_t i = first; i < first + group; ++i) own.push_back(records_[live_[i]]);
      const std::vector<Record> others = ops_.from_warp(own, mask, e_.i32(static_cast<std::int64_t>(first / group % 2)));
      for (std::size_t i = 0; i < group; ++i) records_[live_[first + i]] = f(own[i], others[i]);
    }
    if (live_.size() == group) e_.barrier();  // with one group, the next iteration uses the same buffer
  }
  void compare_threads(HardwareDim where, Value* bit) {
    Value* keeps_greater = bit_of(of_thread_, bit);
    with_partners(where, bit, [&](const Record& own, const Record& other) {
      return ops_.select(b_.CreateXor(ops_.less(other, own), keeps_greater), other, own);
    });
  }

  RecordOps ops_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const passes::SortPlan& plan_;
  std::vector<Record> records_;      // indexed by register
  std::vector<std::uint32_t> live_;  // live registers, ascending
  Value* of_thread_ = nullptr;       // RecordOps::index_of_thread
};

}  // namespace

std::vector<Record> sort_in_loops(RecordOps ops, std::vector<Record> records) { return LoopNetwork(ops, std::move(records)).run(); }

}  // namespace tilewright::backend::nvptx
