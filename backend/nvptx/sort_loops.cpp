// The network in loops over its steps, with a thread's records in registers: code grows with their number, not with that of the steps.
#include <algorithm>
#include <functional>

#include "backend/nvptx/sort_network.h"

namespace tilewright::backend::nvptx {

class LoopNetwork {
  using Place = RecordOps::Place;

 public:
  LoopNetwork(RecordOps ops, std::vector<Record> records)
      : ops_(ops), l_(ops_.l_), b_(ops_.b_), plan_(ops_.plan_), records_(std::move(records)) {
    for (std::uint32_t r = 0; r < records_.size(); ++r) alive_.push_back(r);
    of_thread_ = ops_.index_of_thread();
  }

  std::vector<Record> run() {
    const std::vector<int> given_up = ops_.given_up();
    const int kept = plan_.log2_kept, registers = ops_.register_bits(), lanes = registers + ops_.lane_bits();
    // A direction is a bit of the index; above all bits there is a 0.
    const int first = given_up.empty() ? plan_.log2_extent : given_up[0];
    if (kept > 0)
      loop(l_.i32(1), l_.i32(kept + 1),
           [&](Value* size) { merge(size, b_.CreateSelect(b_.CreateICmpULT(size, l_.i32(kept)), size, l_.i32(first))); });
    std::size_t done = 0;
    for (; done < given_up.size() && given_up[done] < registers; ++done) {
      give_up_registers(given_up[done]);
      merge(l_.i32(kept), l_.i32(done + 1 < given_up.size() ? given_up[done + 1] : plan_.log2_extent));
    }
    // The rest are bits of threads, each followed by the next one.
    const auto give_up = [&](Place where, int lo, int hi) {
      if (lo < hi)
        loop(l_.i32(lo), l_.i32(hi), [&](Value* bit) {
          with_partners(where, bit, [&](const Record& own, const Record& other) { return ops_.lesser(own, other); });
          merge(l_.i32(kept), b_.CreateAdd(bit, l_.i32(1)));
        });
    };
    const int from = std::max(registers, kept);
    give_up(Place::lane, from, lanes);
    give_up(Place::warp, std::max(from, lanes), plan_.log2_extent);
    std::vector<Record> out;
    for (std::uint32_t r : alive_) out.push_back(records_[r]);
    return out;
  }

 private:
  /// Values of all records that are alive: words, then indices if they are apart.
  Registers values() const {
    Registers v;
    for (std::uint32_t r : alive_) v.push_back(records_[r].word);
    if (plan_.splits_words)
      for (std::uint32_t r : alive_) v.push_back(records_[r].index);
    return v;
  }
  void set_values(const Registers& v) {
    for (std::size_t i = 0; i < alive_.size(); ++i) records_[alive_[i]] = {v[i], plan_.splits_words ? v[alive_.size() + i] : nullptr};
  }

  /// for (i = lo; i < hi; ++i), at least once. All threads run it alike.
  void loop(Value* lo, Value* hi, const std::function<void(Value*)>& body) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = l_.new_block("sort"), *after = l_.new_block("sort_done");
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt32Ty(), 2);
    i->addIncoming(lo, before);
    const Registers init[] = {values()};
    const std::vector<Registers> carried = l_.phis(init, 2);
    NvptxLowering::add_incoming(carried, init, before);
    set_values(carried[0]);
    body(i);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    Value* next = b_.CreateAdd(i, l_.i32(1));
    i->addIncoming(next, last);
    const Registers result[] = {values()};
    NvptxLowering::add_incoming(carried, result, last);
    NvptxLowering::keep_loop(b_.CreateCondBr(b_.CreateICmpSLT(next, hi), inside, after));
    b_.SetInsertPoint(after);
  }
  /// Where all threads see the condition alike.
  void when(Value* condition, const std::function<void()>& body) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = l_.new_block("sort_if"), *after = l_.new_block("sort_join");
    b_.CreateCondBr(condition, inside, after);
    const Registers otherwise[] = {values()};
    b_.SetInsertPoint(inside);
    body();
    const Registers then[] = {values()};
    llvm::BasicBlock* last = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    const std::vector<Registers> joined = l_.phis(otherwise, 2);
    NvptxLowering::add_incoming(joined, otherwise, before);
    NvptxLowering::add_incoming(joined, then, last);
    set_values(joined[0]);
  }
  /// Bits from min(top, hi) - 1 down to lo, if there are any.
  void each_bit_down(Value* top, int hi, int lo, const std::function<void(Value*)>& body) {
    if (lo >= hi) return;
    Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, top, l_.i32(hi));
    when(b_.CreateICmpSGT(first, l_.i32(lo)), [&] {
      loop(l_.i32(0), b_.CreateSub(first, l_.i32(lo)), [&](Value* i) { body(b_.CreateSub(b_.CreateSub(first, l_.i32(1)), i)); });
    });
  }

  Value* bit_of(Value* x, Value* bit) { return b_.CreateTrunc(b_.CreateLShr(x, bit), b_.getInt1Ty()); }
  std::uint32_t register_part(std::uint32_t r) const {
    std::uint32_t i = 0;
    for (std::size_t k = 0; k < plan_.places.low_registers.size(); ++k) i |= (r >> plan_.places.low_registers[k] & 1) << k;
    return i;
  }

  /// Turns the order of the records round where this bit of their index is 1: all runs then go up.
  void turn(Value* direction) {
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(direction);
        known && known->equalsInt(static_cast<std::uint64_t>(plan_.log2_extent)))
      return;
    for (std::uint32_t r : alive_) {
      Value* index = b_.CreateOr(of_thread_, l_.i32(register_part(r)));
      Value* down = b_.CreateSExt(bit_of(index, direction), records_[r].word->getType());
      records_[r].word = b_.CreateXor(records_[r].word, down);
      if (plan_.splits_words) records_[r].index = b_.CreateXor(records_[r].index, b_.CreateTrunc(down, b_.getInt32Ty()));
    }
  }

  void merge(Value* log2_run, Value* direction) {
    const int registers = ops_.register_bits(), lanes = registers + ops_.lane_bits();
    turn(direction);
    each_bit_down(log2_run, plan_.log2_extent, lanes, [&](Value* bit) { compare_threads(Place::warp, bit); });
    each_bit_down(log2_run, lanes, registers, [&](Value* bit) { compare_threads(Place::lane, bit); });
    for (int bit = registers - 1; bit >= 0; --bit)
      if (is_alive(bit)) when(b_.CreateICmpUGT(log2_run, l_.i32(bit)), [&] { compare_registers(bit); });
    turn(direction);
  }

  std::uint32_t register_mask(int bit) const { return 1u << plan_.places.low_registers[static_cast<std::size_t>(bit)]; }
  bool is_alive(int bit) const {
    return std::any_of(alive_.begin(), alive_.end(), [&](std::uint32_t r) { return (r & register_mask(bit)) != 0; });
  }
  void compare_registers(int bit) {
    for (std::uint32_t r : alive_) {
      if ((r & register_mask(bit)) != 0) continue;
      const Record a = records_[r], b = records_[r | register_mask(bit)];
      Value* swap = ops_.less(b, a);
      records_[r] = ops_.select(swap, b, a);
      records_[r | register_mask(bit)] = ops_.select(swap, a, b);
    }
  }
  void give_up_registers(int bit) {
    std::erase_if(alive_, [&](std::uint32_t r) { return (r & register_mask(bit)) != 0; });
    for (std::uint32_t r : alive_) records_[r] = ops_.lesser(records_[r], records_[r | register_mask(bit)]);
  }

  /// Each record becomes what is made of it and that of the thread at the other side of a bit.
  void with_partners(Place where, Value* bit, const std::function<Record(const Record& own, const Record& other)>& f) {
    Value* mask = ops_.mask_of(where, bit);
    if (where == Place::lane) {
      for (std::uint32_t r : alive_) records_[r] = f(records_[r], ops_.of_lane(records_[r], mask));
      return;
    }
    // Two buffers take turns, also from one pass of a loop to the next.
    const std::size_t group =
        std::min<std::size_t>(static_cast<std::size_t>(plan_.exchange_group), std::max<std::size_t>(alive_.size() / 2, 1));
    for (std::size_t first = 0; first < alive_.size(); first += group) {
      std::vector<Record> own;
      for (std::size_t i = first; i < first + group; ++i) own.push_back(records_[alive_[i]]);
      const std::vector<Record> others = ops_.of_warp(own, mask, l_.i32(static_cast<std::int64_t>(first / group % 2)));
      for (std::size_t i = 0; i < group; ++i) records_[alive_[first + i]] = f(own[i], others[i]);
    }
    if (alive_.size() == group) l_.emit_barrier();  // there is no other turn to take
  }
  void compare_threads(Place where, Value* bit) {
    Value* keeps_greater = bit_of(of_thread_, bit);
    with_partners(where, bit, [&](const Record& own, const Record& other) {
      return ops_.select(b_.CreateXor(ops_.less(other, own), keeps_greater), other, own);
    });
  }

  RecordOps ops_;
  NvptxLowering& l_;
  llvm::IRBuilder<>& b_;
  const passes::SortPlan& plan_;
  std::vector<Record> records_;       // by register
  std::vector<std::uint32_t> alive_;  // registers, ascending
  Value* of_thread_ = nullptr;        // the bits of the index that are in threads, in place
};

std::vector<Record> sort_in_loops(RecordOps ops, std::vector<Record> records) { return LoopNetwork(ops, std::move(records)).run(); }

}  // namespace tilewright::backend::nvptx
