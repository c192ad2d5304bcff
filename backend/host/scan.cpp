// Scans along an axis: strictly one element after another, as the interpreter does, except for combinations that give the same bits in any
// grouping.
#include <algorithm>

#include "backend/host/combine.h"
#include "backend/host/step_ops.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

/// Emits one scan, from the buffers of the operands to those of the results. Four forms: copy (one element), across (elements inside of the
/// axis are scanned side by side), prefixes (along the last axis, a vector at a time), rows (along the last axis, element after element).
class ScanEmitter {
 public:
  ScanEmitter(Emitter& e, OpId id) : e_(e), b_(e.b()), id_(id), shape_(e.f().type(e.f().operand(id, 0))) {
    const auto& op = e.f().op(id);
    const auto axis = static_cast<int>(e.f().attr(id, AttrName::axis));
    reverse_ = e.f().attr(id, AttrName::reverse) != 0;
    extent_ = shape_.extent(axis);
    for (int i = axis + 1; i < shape_.rank(); ++i) inner_ *= shape_.extent(i);
    for (std::size_t j = 0; j < op.operands.size(); ++j) {
      types_.push_back(e.f().type(op.operands[j]));
      from_.push_back(e.operand_buffer(id, j));
      to_.push_back(e.buffer_of(op.results[j]));
    }
  }

  void run() {
    if (extent_ == 1)
      copy();
    else if (inner_ > 1)
      across();
    else if (is_exact())
      prefixes();
    else
      rows();
  }

 private:
  // An addition has a latency of four cycles, and one can start in each cycle: so four independent chains run at once.
  static constexpr std::int64_t kChains = 4;

  Value* read(std::size_t j, Value* index, unsigned lanes) { return e_.read_lanes(from_[j], types_[j], index, lanes); }
  void write(std::size_t j, Value* index, Value* v) { e_.write_lanes(to_[j], types_[j], index, v); }
  Value* sum(Value* a, Value* b) { return b_.CreateAdd(a, b, "", true, true); }
  Value* product(Value* a, std::int64_t b) { return b_.CreateMul(a, e_.i64(b), "", true, true); }

  void copy() {
    for (std::size_t j = 0; j < types_.size(); ++j) e_.move_block(types_[j], shape_.elements(), to_[j], e_.i64(0), from_[j], e_.i64(0));
  }

  /// Scans that begin at these elements, with `lanes` neighbours each; the next element of a scan is `inner_` elements further.
  void chains(const Values& starts, unsigned lanes) {
    const std::size_t n = types_.size();
    const auto at = [&](Value* start, Value* k) {
      return sum(start, product(reverse_ ? b_.CreateSub(e_.i64(extent_ - 1), k, "", true, true) : k, inner_));
    };
    Values first;
    for (Value* start : starts)
      for (std::size_t j = 0; j < n; ++j) {
        Value* index = at(start, e_.i64(0));
        first.push_back(read(j, index, lanes));
        write(j, index, first.back());
      }
    e_.loop(e_.i64(1), e_.i64(extent_), e_.i64(1), first, false, [&](Value* k, const Values& carried) {
      Values next;
      for (std::size_t c = 0; c < starts.size(); ++c) {
        Value* index = at(starts[c], k);
        const auto mine = carried.begin() + static_cast<std::ptrdiff_t>(c * n);
        Values later;
        for (std::size_t j = 0; j < n; ++j) later.push_back(read(j, index, lanes));
        const Values combined = combine(e_, id_, Values(mine, mine + static_cast<std::ptrdiff_t>(n)), later);
        for (std::size_t j = 0; j < n; ++j) write(j, index, combined[j]);
        next.insert(next.end(), combined.begin(), combined.end());
      }
      return next;
    });
  }

  /// Scans along an axis with inner elements, which are scanned side by side.
  void across() {
    const std::int64_t lanes = std::min<std::int64_t>(inner_, e_.target().lanes()), count = std::min(kChains, inner_ / lanes);
    e_.loop(e_.i64(0), e_.i64(shape_.elements() / (extent_ * inner_)), e_.i64(1), {}, false, [&](Value* outer, const Values&) {
      e_.loop(e_.i64(0), e_.i64(inner_), e_.i64(lanes * count), {}, false, [&](Value* i, const Values&) {
        Values starts;
        for (std::int64_t c = 0; c < count; ++c) starts.push_back(sum(product(outer, extent_ * inner_), sum(i, e_.i64(c * lanes))));
        chains(starts, static_cast<unsigned>(lanes));
        return Values{};
      });
      return Values{};
    });
  }

  /// Scans along the last axis, a few rows at a time.
  void rows() {
    const std::int64_t all = shape_.elements() / extent_, count = std::min(kChains, all);
    e_.loop(e_.i64(0), e_.i64(all), e_.i64(count), {}, false, [&](Value* row, const Values&) {
      Values starts;
      for (std::int64_t c = 0; c < count; ++c) starts.push_back(product(sum(row, e_.i64(c)), extent_));
      chains(starts, 1);
      return Values{};
    });
  }

  /// Whether elements may be combined in any grouping without changing a bit.
  bool is_exact() const {
    const auto k = single_op(e_.f(), id_);
    if (!k || !has_identity(e_.f(), id_)) return false;
    return !shape_.is_float() || *k == OpKind::minimum_ || *k == OpKind::maximum_;
  }

  /// Scans along the last axis, a vector at a time: lane i combines with lane i - 1, then i - 2, i - 4, ..., then with all earlier
  /// elements.
  void prefixes() {
    const int bits = std::max(32, ir::bits(shape_.element()));
    const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(extent_, e_.target().vector_bits / bits));
    const Values none = identity(e_, id_, lanes);
    const auto n = static_cast<int>(lanes);
    e_.loop(e_.i64(0), e_.i64(shape_.elements() / extent_), e_.i64(1), {}, false, [&](Value* row, const Values&) {
      Value* start = product(row, extent_);
      e_.loop(e_.i64(0), e_.i64(extent_), e_.i64(n), none, false, [&](Value* i, const Values& before) {
        Value* index = sum(start, reverse_ ? b_.CreateSub(e_.i64(extent_ - n), i, "", true, true) : i);
        Values x{read(0, index, lanes)};
        for (int distance = 1; distance < n; distance *= 2) {
          std::vector<int> moved;
          for (int lane = 0; lane < n; ++lane) {
            const int source = reverse_ ? lane + distance : lane - distance;
            moved.push_back(source >= 0 && source < n ? source : n + lane);
          }
          x = combine(e_, id_, {b_.CreateShuffleVector(x[0], none[0], moved)}, x);
        }
        write(0, index, combine(e_, id_, before, x)[0]);
        // Uses the carried total and not the written vector, so that each vector depends on only one combination of the previous vector.
        Value* total = b_.CreateShuffleVector(x[0], std::vector<int>(lanes, reverse_ ? 0 : n - 1));
        return combine(e_, id_, before, {total});
      });
      return Values{};
    });
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const Type shape_;
  bool reverse_ = false;
  std::int64_t extent_ = 1, inner_ = 1;  // inner_: elements between neighbours along the axis
  std::vector<Type> types_;
  Values from_, to_;
};

}  // namespace

void emit_scan(Emitter& e, OpId id) { ScanEmitter(e, id).run(); }

}  // namespace tilewright::backend::host
