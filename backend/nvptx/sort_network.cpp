// Records between threads, and the network in registers.
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

Record RecordOps::of_lane(const Record& r, Value* mask) {
  const auto other = [&](Value* v) { return v ? l_.shuffle(NvptxLowering::Shuffle::bfly, v, mask) : nullptr; };
  return {other(r.word), other(r.index)};
}

std::vector<Record> RecordOps::of_warp(std::span<const Record> records, Value* mask, Value* buffer) {
  const Type word(plan_.word_bits == 32 ? ir::Element::u32 : ir::Element::u64), index(ir::Element::u32);
  const std::int64_t group = plan_.exchange_group, index_begin = 2 * group * threads() * word.element_bytes();
  Value* other = b_.CreateXor(l_.thread(), mask);
  const auto address = [&](Value* thread, Type t, std::int64_t begin) {
    Value* at = b_.CreateAdd(b_.CreateMul(buffer, l_.i32(group * threads())), thread);
    return b_.CreateAdd(b_.CreateMul(at, l_.i32(t.element_bytes())), l_.shared_address(shared_ + begin));
  };
  const auto each = [&](auto&& f) {
    f(word, std::int64_t{0}, &Record::word);
    if (plan_.splits_words) f(index, index_begin, &Record::index);
  };
  std::vector<Record> out(records.size());
  each([&](Type t, std::int64_t begin, Value* Record::* part) {
    Value* own = address(l_.thread(), t, begin);
    for (std::size_t i = 0; i < records.size(); ++i) {
      Value* v[] = {records[i].*part};
      l_.store_shared(t, own, static_cast<std::int64_t>(i) * threads() * t.element_bytes(), v);
    }
  });
  l_.emit_barrier();
  each([&](Type t, std::int64_t begin, Value* Record::* part) {
    Value* theirs = address(other, t, begin);
    for (std::size_t i = 0; i < records.size(); ++i)
      out[i].*part = l_.load_shared(t, theirs, static_cast<std::int64_t>(i) * threads() * t.element_bytes(), 1)[0];
  });
  return out;
}

std::vector<int> RecordOps::given_up() const {
  std::vector<int> bits;
  for (int bit = register_bits() - 1; bit >= plan_.log2_kept; --bit) bits.push_back(bit);
  for (int bit = std::max(register_bits(), plan_.log2_kept); bit < plan_.log2_extent; ++bit) bits.push_back(bit);
  return bits;
}

std::pair<RecordOps::Place, int> RecordOps::place(int bit) const {
  const auto at = static_cast<std::size_t>(bit);
  const auto registers = static_cast<std::size_t>(register_bits()), lanes = static_cast<std::size_t>(lane_bits());
  if (at < registers) return {Place::reg, plan_.places.low_registers[at]};
  if (at < registers + lanes) return {Place::lane, plan_.places.lanes[at - registers]};
  return {Place::warp, plan_.places.warps[at - registers - lanes]};
}

Value* RecordOps::index_of_thread() {
  ir::F2Matrix map;
  map.columns.resize(static_cast<std::size_t>(ir::TargetDesc::kLog2WarpLanes + plan_.layout.bits(HardwareDim::warp)));
  for (int bit = register_bits(); bit < plan_.log2_extent; ++bit) {
    const auto [where, at] = place(bit);
    map.columns[static_cast<std::size_t>(where == Place::warp ? at + ir::TargetDesc::kLog2WarpLanes : at)] = 1u << bit;
  }
  return l_.apply(map, l_.thread());
}

Value* RecordOps::mask_of(Place where, Value* bit) {
  // The masks of all bits in bytes of one constant, as the bit is known only when this runs.
  const int lowest = register_bits() + (where == Place::warp ? lane_bits() : 0);
  const int highest = where == Place::warp ? plan_.log2_extent : register_bits() + lane_bits();
  std::uint64_t masks = 0;
  for (int k = lowest; k < highest; ++k) masks |= std::uint64_t{1} << (place(k).second + 8 * (k - lowest));
  Value* shift = b_.CreateMul(b_.CreateSub(bit, l_.i32(lowest)), l_.i32(8));
  Value* mask =
      b_.CreateAnd(b_.CreateTrunc(b_.CreateLShr(b_.getInt64(masks), b_.CreateZExt(shift, b_.getInt64Ty())), b_.getInt32Ty()), l_.i32(0xff));
  return where == Place::warp ? b_.CreateShl(mask, l_.i32(ir::TargetDesc::kLog2WarpLanes)) : mask;
}

class RegisterNetwork {
  using Place = RecordOps::Place;

 public:
  RegisterNetwork(RecordOps ops, std::vector<Record> records) : ops_(ops), b_(ops_.b_), records_(std::move(records)) {
    for (std::uint32_t r = 0; r < records_.size(); ++r) alive_.push_back(r);
  }

  std::vector<Record> run() {
    const std::vector<int> given_up = ops_.given_up();
    const int kept = ops_.plan_.log2_kept;
    const auto direction = [&](std::size_t i) { return i < given_up.size() ? given_up[i] : kUp; };
    for (int size = 1; size <= kept; ++size) merge(size, size < kept ? size : direction(0));
    for (std::size_t i = 0; i < given_up.size(); ++i) {
      give_up(given_up[i]);
      merge(kept, direction(i + 1));
    }
    std::vector<Record> out;
    for (std::uint32_t r : alive_) out.push_back(records_[r]);
    return out;
  }

 private:
  static constexpr int kUp = -1;  // in place of a bit of the index: runs go up where it is 0

  /// The sum of bits of the index of what register r holds: a constant, and a value that differs between threads if there is one.
  struct Sum {
    bool constant = false;
    Value* of_thread = nullptr;
  };
  Sum sum(std::initializer_list<int> bits, std::uint32_t r) {
    Sum s;
    std::uint32_t mask = 0;
    for (int bit : bits) {
      if (bit == kUp) continue;
      const auto [where, at] = ops_.place(bit);
      if (where == Place::reg)
        s.constant ^= (r >> at & 1) != 0;
      else
        mask ^= thread_bit(where, at);
    }
    if (mask == 0) return s;
    Value*& parity = parities_[mask];
    if (!parity) parity = ops_.l_.parity_of_thread(mask);
    s.of_thread = parity;
    return s;
  }
  static std::uint32_t thread_bit(Place where, int at) { return 1u << (where == Place::warp ? at + ir::TargetDesc::kLog2WarpLanes : at); }

  void merge(int log2_run, int direction) {
    for (int bit = log2_run - 1; bit >= 0; --bit) compare(bit, direction);
  }

  void compare(int bit, int direction) {
    const auto [where, at] = ops_.place(bit);
    if (where == Place::reg) {
      for (std::uint32_t r : alive_)
        if ((r >> at & 1) == 0) compare_registers(r, r | 1u << at, sum({direction}, r));
      return;
    }
    const std::vector<Record> others = partners(where, at);
    for (std::size_t i = 0; i < alive_.size(); ++i) {
      Record& own = records_[alive_[i]];
      // The upper half of a run that goes up keeps the greater record.
      const Sum greater = sum({bit, direction}, alive_[i]);
      Value* take = b_.CreateXor(ops_.less(others[i], own), greater.of_thread);
      if (greater.constant) take = b_.CreateNot(take);
      own = ops_.select(take, others[i], own);
    }
  }

  void compare_registers(std::uint32_t low, std::uint32_t high, const Sum& down) {
    const Record a = records_[low], b = records_[high];
    Value* swap = down.constant ? ops_.less(a, b) : ops_.less(b, a);
    if (down.of_thread) swap = b_.CreateXor(swap, down.of_thread);
    records_[low] = ops_.select(swap, b, a);
    records_[high] = ops_.select(swap, a, b);
  }

  void give_up(int bit) {
    const auto [where, at] = ops_.place(bit);
    if (where == Place::reg) {
      std::erase_if(alive_, [at](std::uint32_t r) { return (r >> at & 1) != 0; });
      for (std::uint32_t r : alive_) records_[r] = ops_.lesser(records_[r], records_[r | 1u << at]);
      return;
    }
    const std::vector<Record> others = partners(where, at);
    for (std::size_t i = 0; i < alive_.size(); ++i) records_[alive_[i]] = ops_.lesser(records_[alive_[i]], others[i]);
  }

  std::vector<Record> partners(Place where, int at) {
    std::vector<Record> own, others;
    for (std::uint32_t r : alive_) own.push_back(records_[r]);
    Value* mask = ops_.l_.i32(thread_bit(where, at));
    if (where == Place::lane) {
      for (const Record& r : own) others.push_back(ops_.of_lane(r, mask));
      return others;
    }
    const auto group = static_cast<std::size_t>(ops_.plan_.exchange_group);
    for (std::size_t first = 0; first < own.size(); first += group) {
      const auto part = ops_.of_warp(std::span(own).subspan(first, std::min(group, own.size() - first)), mask, ops_.l_.i32(turn_));
      others.insert(others.end(), part.begin(), part.end());
      turn_ ^= 1;
    }
    return others;
  }

  RecordOps ops_;
  llvm::IRBuilder<>& b_;
  std::vector<Record> records_;       // by register
  std::vector<std::uint32_t> alive_;  // registers, ascending
  std::map<std::uint32_t, Value*> parities_;
  int turn_ = 0;
};

std::vector<Record> sort_in_registers(RecordOps ops, std::vector<Record> records) { return RegisterNetwork(ops, std::move(records)).run(); }

}  // namespace tilewright::backend::nvptx
