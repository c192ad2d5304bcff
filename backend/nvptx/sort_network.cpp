// Exchanges records with other threads, and emits the unrolled network.
#include "backend/nvptx/sort_network.h"

#include <algorithm>

namespace tilewright::backend::nvptx {

Value* RecordOps::less(const Record& a, const Record& b) {
  Value* before = b_.CreateICmpULT(a.word, b.word);
  if (!a.index) return before;
  return b_.CreateOr(before, b_.CreateAnd(b_.CreateICmpEQ(a.word, b.word), b_.CreateICmpULT(a.index, b.index)));
}

Record RecordOps::select(Value* condition, const Record& a, const Record& b) {
  return {b_.CreateSelect(condition, a.word, b.word), a.index ? b_.CreateSelect(condition, a.index, b.index) : nullptr};
}

Record RecordOps::from_lane(const Record& r, Value* mask) {
  const auto other = [&](Value* v) { return v ? e_.shuffle(Shuffle::bfly, v, mask) : nullptr; };
  return {other(r.word), other(r.index)};
}

std::vector<Record> RecordOps::from_warp(std::span<const Record> records, Value* mask, Value* buffer) {
  const Type word(plan_.word_bits == 32 ? ir::Element::u32 : ir::Element::u64), index(ir::Element::u32);
  const std::int64_t group = plan_.exchange_group, index_begin = 2 * group * threads() * word.element_bytes();
  Value* other = b_.CreateXor(e_.thread(), mask);
  const auto address = [&](Value* thread, Type t, std::int64_t begin) {
    Value* at = b_.CreateAdd(b_.CreateMul(buffer, e_.i32(group * threads())), thread);
    return b_.CreateAdd(b_.CreateMul(at, e_.i32(t.element_bytes())), e_.shared_address(shared_ + begin));
  };
  const auto each = [&](auto&& f) {
    f(word, std::int64_t{0}, &Record::word);
    if (plan_.splits_words) f(index, index_begin, &Record::index);
  };
  std::vector<Record> out(records.size());
  each([&](Type t, std::int64_t begin, Value* Record::* part) {
    Value* own = address(e_.thread(), t, begin);
    for (std::size_t i = 0; i < records.size(); ++i) {
      Value* v[] = {records[i].*part};
      e_.store_shared(t, own, static_cast<std::int64_t>(i) * threads() * t.element_bytes(), v);
    }
  });
  e_.barrier();
  each([&](Type t, std::int64_t begin, Value* Record::* part) {
    Value* theirs = address(other, t, begin);
    for (std::size_t i = 0; i < records.size(); ++i)
      out[i].*part = e_.load_shared(t, theirs, static_cast<std::int64_t>(i) * threads() * t.element_bytes(), 1)[0];
  });
  return out;
}

std::vector<int> RecordOps::pruned_bits() const {
  std::vector<int> bits;
  for (int bit = register_bits() - 1; bit >= plan_.log2_kept; --bit) bits.push_back(bit);
  for (int bit = std::max(register_bits(), plan_.log2_kept); bit < plan_.log2_extent; ++bit) bits.push_back(bit);
  return bits;
}

std::pair<HardwareDim, int> RecordOps::location(int bit) const {
  const auto at = static_cast<std::size_t>(bit);
  const auto registers = static_cast<std::size_t>(register_bits()), lanes = static_cast<std::size_t>(lane_bits());
  if (at < registers) return {HardwareDim::reg, plan_.order.low_registers[at]};
  if (at < registers + lanes) return {HardwareDim::lane, plan_.order.lanes[at - registers]};
  return {HardwareDim::warp, plan_.order.warps[at - registers - lanes]};
}

Value* RecordOps::index_of_thread() {
  ir::F2Matrix map;
  map.columns.resize(static_cast<std::size_t>(ir::TargetDesc::kLog2WarpLanes + plan_.layout.bits(HardwareDim::warp)));
  for (int bit = register_bits(); bit < plan_.log2_extent; ++bit) {
    const auto [where, at] = location(bit);
    map.columns[static_cast<std::size_t>(where == HardwareDim::warp ? at + ir::TargetDesc::kLog2WarpLanes : at)] = 1u << bit;
  }
  return e_.apply(map, e_.thread());
}

Value* RecordOps::mask_of(HardwareDim where, Value* bit) {
  // The masks of all bits are packed as bytes into one constant, since the bit is known only at run time.
  const int lowest = register_bits() + (where == HardwareDim::warp ? lane_bits() : 0);
  const int highest = where == HardwareDim::warp ? plan_.log2_extent : register_bits() + lane_bits();
  std::uint64_t masks = 0;
  for (int k = lowest; k < highest; ++k) masks |= std::uint64_t{1} << (location(k).second + 8 * (k - lowest));
  Value* shift = b_.CreateMul(b_.CreateSub(bit, e_.i32(lowest)), e_.i32(8));
  Value* mask =
      b_.CreateAnd(b_.CreateTrunc(b_.CreateLShr(b_.getInt64(masks), b_.CreateZExt(shift, b_.getInt64Ty())), b_.getInt32Ty()), e_.i32(0xff));
  return where == HardwareDim::warp ? b_.CreateShl(mask, e_.i32(ir::TargetDesc::kLog2WarpLanes)) : mask;
}

namespace {

class UnrolledNetwork {
 public:
  UnrolledNetwork(RecordOps ops, std::vector<Record> records) : ops_(ops), b_(ops_.emitter().b()), records_(std::move(records)) {
    for (std::uint32_t r = 0; r < records_.size(); ++r) live_.push_back(r);
  }

  std::vector<Record> run() {
    const std::vector<int> pruned = ops_.pruned_bits();
    const int kept = ops_.plan().log2_kept;
    const auto direction = [&](std::size_t i) { return i < pruned.size() ? pruned[i] : kUp; };
    for (int size = 1; size <= kept; ++size) merge(size, size < kept ? size : direction(0));
    for (std::size_t i = 0; i < pruned.size(); ++i) {
      prune(pruned[i]);
      merge(kept, direction(i + 1));
    }
    std::vector<Record> out;
    for (std::uint32_t r : live_) out.push_back(records_[r]);
    return out;
  }

 private:
  static constexpr int kUp = -1;  // the direction of a run is a bit of the index, ascending if it is 0; kUp: always ascending

  /// The XOR of some bits of the index of the record in register r: a constant, and a value that differs between threads, if there is one.
  struct Parity {
    bool constant = false;
    Value* of_thread = nullptr;
  };
  Parity parity(std::initializer_list<int> bits, std::uint32_t r) {
    Parity s;
    std::uint32_t mask = 0;
    for (int bit : bits) {
      if (bit == kUp) continue;
      const auto [where, at] = ops_.location(bit);
      if (where == HardwareDim::reg)
        s.constant ^= (r >> at & 1) != 0;
      else
        mask ^= thread_bit(where, at);
    }
    if (mask == 0) return s;
    Value*& of_thread = parities_[mask];
    if (!of_thread) of_thread = ops_.emitter().parity_of_thread(mask);
    s.of_thread = of_thread;
    return s;
  }
  static std::uint32_t thread_bit(HardwareDim where, int at) {
    return 1u << (where == HardwareDim::warp ? at + ir::TargetDesc::kLog2WarpLanes : at);
  }

  void merge(int log2_run, int direction) {
    for (int bit = log2_run - 1; bit >= 0; --bit) compare(bit, direction);
  }

  void compare(int bit, int direction) {
    const auto [where, at] = ops_.location(bit);
    if (where == HardwareDim::reg) {
      for (std::uint32_t r : live_)
        if ((r >> at & 1) == 0) compare_registers(r, r | 1u << at, parity({direction}, r));
      return;
    }
    const std::vector<Record> others = partners(where, at);
    for (std::size_t i = 0; i < live_.size(); ++i) {
      Record& own = records_[live_[i]];
      // The upper half of an ascending run keeps the greater record.
      const Parity greater = parity({bit, direction}, live_[i]);
      Value* take = b_.CreateXor(ops_.less(others[i], own), greater.of_thread);
      if (greater.constant) take = b_.CreateNot(take);
      own = ops_.select(take, others[i], own);
    }
  }

  void compare_registers(std::uint32_t low, std::uint32_t high, const Parity& down) {
    const Record a = records_[low], b = records_[high];
    Value* swap = down.constant ? ops_.less(a, b) : ops_.less(b, a);
    if (down.of_thread) swap = b_.CreateXor(swap, down.of_thread);
    records_[low] = ops_.select(swap, b, a);
    records_[high] = ops_.select(swap, a, b);
  }

  void prune(int bit) {
    const auto [where, at] = ops_.location(bit);
    if (where == HardwareDim::reg) {
      std::erase_if(live_, [at](std::uint32_t r) { return (r >> at & 1) != 0; });
      for (std::uint32_t r : live_) records_[r] = ops_.lesser(records_[r], records_[r | 1u << at]);
      return;
    }
    const std::vector<Record> others = partners(where, at);
    for (std::size_t i = 0; i < live_.size(); ++i) records_[live_[i]] = ops_.lesser(records_[live_[i]], others[i]);
  }

  std::vector<Record> partners(HardwareDim where, int at) {
    std::vector<Record> own, others;
    for (std::uint32_t r : live_) own.push_back(records_[r]);
    Value* mask = ops_.emitter().i32(thread_bit(where, at));
    if (where == HardwareDim::lane) {
      for (const Record& r : own) others.push_back(ops_.from_lane(r, mask));
      return others;
    }
    const auto group = static_cast<std::size_t>(ops_.plan().exchange_group);
    for (std::size_t first = 0; first < own.size(); first += group) {
      const auto part =
          ops_.from_warp(std::span(own).subspan(first, std::min(group, own.size() - first)), mask, ops_.emitter().i32(buffer_));
      others.insert(others.end(), part.begin(), part.end());
      buffer_ ^= 1;
    }
    return others;
  }

  RecordOps ops_;
  llvm::IRBuilder<>& b_;
  std::vector<Record> records_;      // indexed by register
  std::vector<std::uint32_t> live_;  // live registers, ascending
  std::map<std::uint32_t, Value*> parities_;
  int buffer_ = 0;
};

}  // namespace

std::vector<Record> sort_unrolled(RecordOps ops, std::vector<Record> records) { return UnrolledNetwork(ops, std::move(records)).run(); }

}  // namespace tilewright::backend::nvptx
