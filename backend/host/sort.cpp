// Sorts rows by a bitonic network over records of a key and its index in the row.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "backend/host/nest.h"
#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

/// Emits one sort, a group of rows at a time:
/// 1. make_records  A record is a signed integer: the key, mapped so that signed order is the requested order, above its index in the row.
///                  No two records are equal, so any network sorts stably. Keys that are too wide have a second word for the index;
///                  integers that are sorted alone have no index, because equal ones are interchangeable.
/// 2. sort_group    The network; every comparison puts the lesser record first. To merge two sorted runs of n, records i and 2n - 1 - i are
///                  compared first, then those n/2, n/4, ... 1 apart. Distances below the lanes of a vector are shuffles, the others whole
///                  vectors; extents are loop bounds, so that the size of the code depends on the vector alone.
///    select_least  Instead of both, for the few least elements of a long row: sorts only records that may be among them.
/// 3. write_rows    Writes the elements of every tile in the order of the records.
class RowSorter {
  using Record = std::array<Value*, 2>;  // vectors; the second one is null if one word holds the record

 public:
  RowSorter(Emitter& e, OpId id) : e_(e), b_(e.b()), id_(id), keys_(e.f().type(e.f().operand(id, 0))) {
    const auto& op = e.f().op(id);
    descending_ = e.f().attr(id, AttrName::descending) != 0;
    const Type result = e.f().type(op.results[0]);
    log2_extent_ = keys_.log2_extent(keys_.rank() - 1);
    log2_kept_ = result.log2_extent(result.rank() - 1);
    for (std::size_t j = 0; j < op.operands.size(); ++j) {
      types_.push_back(e.f().type(op.operands[j]));
      from_.push_back(is_computed(j) ? nullptr : e.operand_buffer(id, j));
      to_.push_back(e.buffer_of(op.results[j]));
    }
    keys_only_ = op.operands.size() == 1 && !keys_.is_float();
    key_bits_ = ir::bits(keys_.element());
    const int bits = key_bits_ + (keys_only_ ? 0 : log2_extent_);
    word_bits_ = bits <= 32 ? 32 : 64;
    words_ = bits <= 64 ? 1 : 2;
    lanes_ = static_cast<unsigned>(std::min<std::int64_t>(e.target().vector_bits / word_bits_, keys_.elements()));
    log2_lanes_ = std::countr_zero(lanes_);
    log2_group_ = std::max(log2_extent_, log2_lanes_);
    log2_run_ = std::max(log2_kept_, log2_lanes_);
  }

  void run() {
    if (log2_extent_ == 0) {
      loop(keys_.elements(), 1, [&](Value* row) {
        for (std::size_t j = 0; j < types_.size(); ++j) move_element(j, row, row);
      });
      return;
    }
    // A run that is sorted, and a run that is being collected.
    const bool selects = log2_extent_ >= log2_lanes_ && log2_extent_ >= log2_run_ + 2;
    std::array<Emitter::ScratchRange, 2> scratch{};
    for (int w = 0; w < words_; ++w) {
      scratch[w] = e_.allocate_scratch((std::int64_t{word_bits_} / 8) << (selects ? log2_run_ + 1 : log2_group_));
      records_[w] = scratch[w].address;
    }
    loop(keys_.elements() >> log2_group_, 1, [&](Value* group) {
      Value* first = b_.CreateShl(group, static_cast<std::uint64_t>(log2_group_), "", true, true);
      if (selects) {
        select_least(first);
      } else {
        make_records(first);
        sort_group();
      }
      write_rows(first);
    });
    for (int w = 0; w < words_; ++w) e_.free_scratch(scratch[w]);
  }

 private:
  // A chunk of records fits the first-level cache: all distances within a chunk are compared before the next chunk.
  static constexpr int kLog2Chunk = 11;

  // ---- emission ----

  void loop(std::int64_t n, std::int64_t step, const std::function<void(Value*)>& body) { loop(e_.i64(0), e_.i64(n), step, false, body); }
  void loop(Value* lo, Value* hi, std::int64_t step, bool may_be_empty, const std::function<void(Value*)>& body) {
    e_.loop(lo, hi, e_.i64(step), {}, may_be_empty, [&](Value* i, const Values&) {
      body(i);
      return Values{};
    });
  }
  Value* plus(Value* a, Value* b) { return b_.CreateAdd(a, b, "", true, true); }
  Value* minus(Value* a, Value* b) { return b_.CreateSub(a, b, "", true, true); }
  Value* power(Value* exponent) { return b_.CreateShl(e_.i64(1), exponent, "", true, true); }
  llvm::Type* word() { return b_.getIntNTy(static_cast<unsigned>(word_bits_)); }
  llvm::Type* key_word() { return b_.getIntNTy(static_cast<unsigned>(key_bits_)); }
  llvm::Type* words() { return llvm::FixedVectorType::get(word(), lanes_); }

  Value* address(int w, Value* at) { return b_.CreateInBoundsGEP(word(), records_[w], at); }
  llvm::Align align(std::int64_t lanes) { return llvm::Align(static_cast<std::uint64_t>(word_bits_ / 8 * lanes)); }
  Record load(Value* at) {
    Record r{};
    for (int w = 0; w < words_; ++w) r[w] = b_.CreateAlignedLoad(words(), address(w, at), align(lanes_));
    return r;
  }
  void store(Value* at, const Record& r) {
    for (int w = 0; w < words_; ++w) b_.CreateAlignedStore(r[w], address(w, at), align(lanes_));
  }
  /// Lane i of the result is lane lanes[i] of the concatenation of a and b.
  Record shuffle(const Record& a, const Record& b, const std::vector<int>& lanes) {
    Record r{};
    for (int w = 0; w < words_; ++w) r[w] = b_.CreateShuffleVector(a[w], b[w], lanes);
    return r;
  }
  Record exchanged(const Record& r, int mask) {  // lane i takes the record of lane i ^ mask
    std::vector<int> lanes;
    for (int i = 0; i < static_cast<int>(lanes_); ++i) lanes.push_back(i ^ mask);
    return shuffle(r, r, lanes);
  }
  Record reversed(const Record& r) { return exchanged(r, static_cast<int>(lanes_) - 1); }

  Value* less(const Record& a, const Record& b) {
    Value* is_less = b_.CreateICmpSLT(a[0], b[0]);
    if (words_ == 1) return is_less;
    return b_.CreateOr(is_less, b_.CreateAnd(b_.CreateICmpEQ(a[0], b[0]), b_.CreateICmpSLT(a[1], b[1])));
  }
  /// The lesser and the greater of two records, lane by lane.
  std::pair<Record, Record> ordered(const Record& a, const Record& b) {
    if (words_ == 1)
      return {{b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a[0], b[0])}, {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a[0], b[0])}};
    Value* swap = less(b, a);
    std::pair<Record, Record> r;
    for (int w = 0; w < words_; ++w) {
      r.first[w] = b_.CreateSelect(swap, b[w], a[w]);
      r.second[w] = b_.CreateSelect(swap, a[w], b[w]);
    }
    return r;
  }

  // ---- records ----

  /// Maps keys to signed integers of the same width in the requested order, NaN last.
  Value* mapped(Value* key) {
    const std::uint64_t sign = std::uint64_t{1} << (key_bits_ - 1), magnitude = sign - 1;
    llvm::Type* type = with_lanes_of(key_word(), key);
    const auto constant = [&](std::uint64_t bits) { return llvm::ConstantInt::get(type, bits); };
    if (!keys_.is_float()) {
      const std::uint64_t flipped = (ir::is_unsigned(keys_.element()) ? sign : 0) ^ (descending_ ? sign | magnitude : 0);
      return flipped != 0 ? b_.CreateXor(key, constant(flipped)) : key;
    }
    Value* bits = b_.CreateBitCast(key, type);
    Value* size = b_.CreateAnd(bits, constant(magnitude));
    // -0 becomes +0; the magnitude bits of other negative numbers are inverted.
    Value* is_negative = b_.CreateAShr(bits, constant(static_cast<std::uint64_t>(key_bits_) - 1));
    Value* turned = b_.CreateXor(bits, b_.CreateAnd(is_negative, constant(magnitude)));
    Value* order = b_.CreateSelect(b_.CreateICmpEQ(size, constant(0)), constant(0), turned);
    if (descending_) order = b_.CreateNot(order);
    Value* is_nan = b_.CreateICmpUGT(size, constant(ir::element_bits(keys_.element(), HUGE_VAL)));
    return b_.CreateSelect(is_nan, constant(magnitude), order);
  }

  /// The records of the elements that start at `at`, in rows that start at element `first`.
  Record make_record(Value* first, Value* at) {
    Value* key = b_.CreateSExt(mapped(e_.read_lanes(from_[0], keys_, plus(first, at), lanes_)), words());
    if (keys_only_) return {key};
    std::vector<llvm::Constant*> steps;
    for (unsigned i = 0; i < lanes_; ++i) steps.push_back(llvm::ConstantInt::get(word(), i));
    Value* position = b_.CreateAdd(b_.CreateVectorSplat(lanes_, b_.CreateTrunc(at, word())), llvm::ConstantVector::get(steps));
    Value* index = b_.CreateAnd(position, llvm::ConstantInt::get(words(), (std::uint64_t{1} << log2_extent_) - 1));
    if (words_ == 2) return {key, index};
    return {b_.CreateOr(b_.CreateShl(key, static_cast<std::uint64_t>(log2_extent_)), index)};
  }
  void make_records(Value* first) {
    loop(std::int64_t{1} << log2_group_, lanes_, [&](Value* at) { store(at, make_record(first, at)); });
  }
  /// A record that is not less than any other, in every lane.
  Record greatest() {
    llvm::Constant* word_max = llvm::ConstantInt::get(words(), ~std::uint64_t{0} >> (65 - word_bits_));
    return {word_max, words_ == 2 ? word_max : nullptr};
  }

  // ---- the network ----

  /// Compares each lane with lane i ^ mask; lanes with bit `bit` set keep the greater record.
  Record compare_lanes(const Record& r, int mask, int bit) {
    const auto [lesser, greater] = ordered(r, exchanged(r, mask));
    std::vector<int> lanes;
    for (int i = 0; i < static_cast<int>(lanes_); ++i) lanes.push_back((i & bit) != 0 ? i + static_cast<int>(lanes_) : i);
    return shuffle(lesser, greater, lanes);
  }
  Record merge_lanes(Record r, int distance) {
    for (; distance > 0; distance /= 2) r = compare_lanes(r, distance, distance);
    return r;
  }
  /// Sorts runs of `size` lanes each.
  Record sort_lanes(Record r, int size) {
    for (int run = 2; run <= size; run *= 2) r = merge_lanes(compare_lanes(r, run - 1, run / 2), run / 4);
    return r;
  }
  void each_vector(Value* base, int log2_size, const std::function<Record(const Record&)>& f) {
    loop(std::int64_t{1} << log2_size, lanes_, [&](Value* i) {
      Value* at = plus(base, i);
      store(at, f(load(at)));
    });
  }
  void finish_lanes(Value* base, int log2_size) {
    each_vector(base, log2_size, [&](const Record& r) { return merge_lanes(r, static_cast<int>(lanes_) / 2); });
  }

  /// The first comparisons of merges to runs of 2^log2_to, over 2^log2_size records: i with 2n - 1 - i. The greater records remain in
  /// reverse order, which the later comparisons allow.
  void compare_mirrored(Value* base, int log2_size, Value* log2_to) {
    Value* log2_half = minus(log2_to, e_.i64(1));
    Value* last = minus(power(log2_to), e_.i64(lanes_));
    loop(std::int64_t{1} << (log2_size - 1), lanes_, [&](Value* i) {
      Value* run = plus(base, b_.CreateShl(b_.CreateLShr(i, log2_half), log2_to));
      Value* within = b_.CreateAnd(i, minus(power(log2_half), e_.i64(1)));
      Value* low = plus(run, within);
      Value* high = plus(run, minus(last, within));
      const auto [lesser, greater] = ordered(load(low), reversed(load(high)));
      store(low, lesser);
      store(high, greater);
    });
  }
  /// Compares records that are 2^log2_distance apart.
  void compare_apart(Value* base, int log2_size, Value* log2_distance) {
    Value* distance = power(log2_distance);
    loop(std::int64_t{1} << (log2_size - 1), lanes_, [&](Value* i) {
      Value* within = b_.CreateAnd(i, minus(distance, e_.i64(1)));
      // i with a zero bit inserted at the distance
      Value* low = plus(base, plus(b_.CreateShl(minus(i, within), 1), within));
      Value* high = plus(low, distance);
      const auto [lesser, greater] = ordered(load(low), load(high));
      store(low, lesser);
      store(high, greater);
    });
  }
  /// Compares records that are 2^(from - 1), ..., 2^to apart.
  void compare_down(Value* base, int log2_size, Value* from, int to) {
    loop(e_.i64(0), minus(from, e_.i64(to)), 1, true, [&](Value* i) { compare_apart(base, log2_size, minus(minus(from, e_.i64(1)), i)); });
  }

  void sort_chunk(Value* base, int log2_size) {
    each_vector(base, log2_size, [&](const Record& r) { return sort_lanes(r, static_cast<int>(lanes_)); });
    if (log2_size == log2_lanes_) return;
    loop(e_.i64(log2_lanes_ + 1), e_.i64(log2_size + 1), 1, false, [&](Value* log2_to) {
      compare_mirrored(base, log2_size, log2_to);
      compare_down(base, log2_size, minus(log2_to, e_.i64(1)), log2_lanes_);
      finish_lanes(base, log2_size);
    });
  }
  void sort_run(Value* base, int log2_size) {
    const int chunk = std::min(log2_size, kLog2Chunk);
    const auto each_chunk = [&](const std::function<void(Value*)>& f) {
      loop(std::int64_t{1} << log2_size, std::int64_t{1} << chunk, [&](Value* i) { f(plus(base, i)); });
    };
    each_chunk([&](Value* at) { sort_chunk(at, chunk); });
    if (log2_size == chunk) return;
    loop(e_.i64(chunk + 1), e_.i64(log2_size + 1), 1, false, [&](Value* log2_to) {
      compare_mirrored(base, log2_size, log2_to);
      compare_down(base, log2_size, minus(log2_to, e_.i64(1)), chunk);
      each_chunk([&](Value* at) {
        compare_down(at, chunk, e_.i64(chunk), log2_lanes_);
        finish_lanes(at, chunk);
      });
    });
  }

  /// Merges the two sorted runs at `low` and after it, and writes the lesser half of their records to `to` as a sorted run.
  void merge_least(Value* low, Value* to) {
    const std::int64_t run = std::int64_t{1} << log2_run_;
    Value* last = plus(low, e_.i64(2 * run - lanes_));
    loop(run, lanes_, [&](Value* i) { store(plus(to, i), ordered(load(plus(low, i)), reversed(load(minus(last, i)))).first); });
    compare_down(to, log2_run_, e_.i64(log2_run_), log2_lanes_);
    finish_lanes(to, log2_run_);
  }

  /// Reduces pairs of sorted runs until one run is left.
  void keep_least() {
    loop(e_.i64(0), e_.i64(log2_group_ - log2_run_), 1, false, [&](Value* round) {
      Value* pairs = power(minus(e_.i64(log2_group_ - log2_run_ - 1), round));
      loop(e_.i64(0), pairs, 1, false, [&](Value* pair) {
        // The result overwrites runs that are merged already, or the first run of the pair.
        merge_least(b_.CreateShl(pair, static_cast<std::uint64_t>(log2_run_) + 1, "", true, true),
                    b_.CreateShl(pair, static_cast<std::uint64_t>(log2_run_), "", true, true));
      });
    });
  }

  /// Leaves the least records of a row, sorted, at 0. After them it collects vectors in which some record is less than the last one kept so
  /// far; when they fill a run, or the row ends, the run is sorted and merged.
  void select_least(Value* first) {
    const std::int64_t run = std::int64_t{1} << log2_run_, extent = std::int64_t{1} << log2_extent_;
    loop(run, lanes_, [&](Value* i) { store(i, greatest()); });
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock *select = e_.new_block("select"), *collect = e_.new_block("collect"), *collected = e_.new_block("collected");
    llvm::BasicBlock *merge = e_.new_block("merge"), *done = e_.new_block("selected");
    b_.CreateBr(select);

    b_.SetInsertPoint(select);
    auto* begin = b_.CreatePHI(b_.getInt64Ty(), 2, "begin");
    begin->addIncoming(e_.i64(0), before);
    Record last{};
    for (int w = 0; w < words_; ++w) {
      Value* of_kept = address(w, e_.i64((std::int64_t{1} << log2_kept_) - 1));
      last[w] = b_.CreateVectorSplat(lanes_, b_.CreateAlignedLoad(word(), of_kept, align(1)));
    }
    b_.CreateBr(collect);

    b_.SetInsertPoint(collect);
    auto *at = b_.CreatePHI(b_.getInt64Ty(), 2, "at"), *end = b_.CreatePHI(b_.getInt64Ty(), 2, "end");
    at->addIncoming(begin, select);
    end->addIncoming(e_.i64(run), select);
    const Record record = make_record(first, at);
    store(end, record);  // the next record overwrites this one unless it is kept
    Value* is_kept = b_.CreateOrReduce(less(record, last));
    Value* next_end = plus(end, b_.CreateSelect(is_kept, e_.i64(lanes_), e_.i64(0)));
    Value* next = plus(at, e_.i64(lanes_));
    at->addIncoming(next, collect);
    end->addIncoming(next_end, collect);
    Value* is_left = b_.CreateICmpSLT(next, e_.i64(extent));
    b_.CreateCondBr(b_.CreateAnd(is_left, b_.CreateICmpSLT(next_end, e_.i64(2 * run))), collect, collected);

    b_.SetInsertPoint(collected);
    b_.CreateCondBr(b_.CreateICmpEQ(next_end, e_.i64(run)), done, merge);  // the row has ended

    b_.SetInsertPoint(merge);
    loop(next_end, e_.i64(2 * run), lanes_, true, [&](Value* i) { store(i, greatest()); });
    sort_run(e_.i64(run), log2_run_);
    merge_least(e_.i64(0), e_.i64(0));
    begin->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(is_left, select, done);

    b_.SetInsertPoint(done);
  }

  void sort_group() {
    if (log2_extent_ < log2_lanes_) {  // a vector of several rows
      each_vector(e_.i64(0), log2_group_, [&](const Record& r) { return sort_lanes(r, 1 << log2_extent_); });
      return;
    }
    loop(std::int64_t{1} << log2_group_, std::int64_t{1} << log2_run_, [&](Value* base) { sort_run(base, log2_run_); });
    if (log2_run_ < log2_group_) keep_least();
  }

  // ---- results ----

  void write_rows(Value* first) {
    const std::int64_t kept = std::int64_t{1} << log2_kept_;
    Value* first_row = b_.CreateLShr(first, static_cast<std::uint64_t>(log2_extent_));
    loop(std::int64_t{1} << (log2_group_ - log2_extent_), 1, [&](Value* r) {
      Value* row = plus(first_row, r);
      Value* sorted = b_.CreateShl(r, static_cast<std::uint64_t>(log2_extent_), "", true, true);
      Value* to = b_.CreateShl(row, static_cast<std::uint64_t>(log2_kept_), "", true, true);
      if (keys_only_) {
        const std::int64_t lanes = std::min<std::int64_t>(lanes_, kept);
        loop(kept, lanes, [&](Value* i) {
          llvm::Type* type = lanes > 1 ? llvm::FixedVectorType::get(word(), static_cast<unsigned>(lanes)) : word();
          Value* record = b_.CreateAlignedLoad(type, address(0, plus(sorted, i)), align(lanes));
          // The mapping of integers is its own inverse.
          e_.write_lanes(to_[0], keys_, plus(to, i), mapped(b_.CreateTrunc(record, with_lanes_of(key_word(), record))));
        });
        return;
      }
      Value* from = b_.CreateShl(row, static_cast<std::uint64_t>(log2_extent_), "", true, true);
      loop(kept, 1, [&](Value* i) {
        Value* record = b_.CreateAlignedLoad(word(), address(words_ - 1, plus(sorted, i)), align(1));
        Value* index = b_.CreateAnd(b_.CreateZExt(record, b_.getInt64Ty()), e_.i64((std::int64_t{1} << log2_extent_) - 1));
        for (std::size_t j = 0; j < types_.size(); ++j) move_element(j, plus(to, i), plus(from, index));
      });
    });
  }

  /// Whether an operand has no buffer, but is computed for the indices that are written.
  bool is_computed(std::size_t j) const { return j > 0 && e_.plan().schedule(e_.f().op(id_).operands[j]) == Schedule::inlined; }

  /// Writes element `from` of operand j as element `to` of the result.
  void move_element(std::size_t j, Value* to, Value* from) {
    if (!is_computed(j)) return e_.move_block(types_[j], 1, to_[j], to, from_[j], from);
    Step step;
    step.extents = squeezed(types_[j]);
    Nest nest(e_, step);
    std::uint64_t stride = 0;  // log2 of the stride
    for (int dim = nest.dims() - 1; dim >= 0; --dim) {
      const std::int64_t extent = step.extents[static_cast<std::size_t>(dim)];
      nest.set_index(dim, b_.CreateAnd(b_.CreateLShr(from, stride), e_.i64(extent - 1)));
      stride += static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(extent)));
    }
    for (int dim = 0; dim < nest.dims(); ++dim) nest.enter(dim);
    llvm::BasicBlock* rest = e_.new_block("element");
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
    e_.write_lanes(to_[j], types_[j], to, nest.operand(e_.f().op(id_).operands[j]));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const Type keys_;
  bool descending_ = false, keys_only_ = false;
  int key_bits_ = 0, word_bits_ = 0;
  int words_ = 1;                        // words of a record
  unsigned lanes_ = 1;                   // records in a vector
  int log2_extent_ = 0, log2_kept_ = 0;  // log2 of the elements of a row
  int log2_lanes_ = 0;
  int log2_group_ = 0;  // records that are sorted at a time: a row, or a vector of rows
  int log2_run_ = 0;    // records of a row that are sorted completely before runs are merged
  std::vector<Type> types_;
  Values from_, to_;
  std::array<Value*, 2> records_{};
};

}  // namespace

void emit_sort(Emitter& e, OpId id) { RowSorter(e, id).run(); }

}  // namespace tilewright::backend::host
