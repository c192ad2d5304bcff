// Chooses swizzles by linear algebra. The bits of an offset in shared memory, from the lowest up, get as basis elements of the tile's
// space:
//
//   1. vector bits: the directions in which registers of both sides extend, then those of the side with wider vectors (offset_basis)
//   2. bank bits: a complement of the vectors and of U
//   3. line bits: a subspace U that has only 0 in common with A and with B, the spans of the elements that one wavefront of the storing and
//      of the loading side touches (lines_apart)
//
// Two lanes access different words of one bank exactly if the difference of their elements is in U and not 0, so there are no conflicts.
// If A and B have equal dimensions, such a U exists: let I be their intersection, A = I + A', B = I + B'; then U is spanned by a1 + b1,
// a2 + b2, ... (ai, bi: bases of A', B') and a complement of A + B.
// (Zhou et al., "Linear Layouts", 2025, give this construction for equal vectors on both sides; wider ones on one side are new here.)
#include "tileir/layout/swizzle.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::ir {

namespace {

using Vectors = std::vector<std::uint32_t>;

constexpr int kLog2WordBytes = 2, kLog2LineBytes = 7, kLog2VectorBytes = 4;

int log2_exact(int x) { return std::countr_zero(static_cast<unsigned>(x)); }
/// log2 of the number of groups of lanes that are served one after another.
int log2_phases(int log2_bytes, int log2_lanes) { return std::clamp(log2_bytes - kLog2WordBytes, 0, log2_lanes); }

Vectors joined(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  Vectors v(a.begin(), a.end());
  v.insert(v.end(), b.begin(), b.end());
  return v;
}
std::span<const std::uint32_t> head(const Vectors& v, int n) {
  return std::span(v).first(std::min(static_cast<std::size_t>(std::max(n, 0)), v.size()));
}
int size(const Vectors& v) { return static_cast<int>(v.size()); }
/// The n lowest unit vectors.
Vectors units(int n) { return identity_matrix(n).columns; }

/// One side of a plan: the bases of its registers, lanes and threads.
struct Side {
  Vectors registers;       // linearly independent
  Vectors lanes, threads;  // threads: lanes, warps and blocks together

  Side(const LinearLayout& l, bool stores) {
    const auto bases = [&](HardwareDim d, bool without_free) {
      Vectors v = l.bases(d);
      for (std::uint32_t free = without_free ? l.free_bits(d) : 0; free != 0; free &= free - 1)
        v[static_cast<std::size_t>(std::countr_zero(free))] = 0;
      return v;
    };
    registers = bases(HardwareDim::reg, true);
    std::erase(registers, 0u);
    lanes = bases(HardwareDim::lane, stores);
    threads = joined(joined(lanes, bases(HardwareDim::warp, stores)), bases(HardwareDim::block, stores));
  }

  /// The lanes that are served in one phase.
  std::span<const std::uint32_t> phase(int log2_bytes) const {
    const int lane_bits = size(lanes);
    return head(lanes, lane_bits - log2_phases(log2_bytes, lane_bits));
  }
};

/// A subspace, split into vectors of the wider side and the rest.
struct Split {
  Vectors rest;     // a basis of the offsets that are not in the wider vectors
  Vectors touched;  // the part of the span of `rest` that a wavefront of the narrow side touches
};

/// A complement of `extra` in the span of `whole` that contains `aligned` and has the smallest possible intersection with `touched`.
Split split(const Vectors& whole, const Vectors& extra, const Vectors& aligned, const Vectors& touched) {
  F2Span span;  // the input of a reduced vector says which vectors of `extra` it contains
  Split result;
  for (const std::uint32_t v : aligned)
    if (span.insert(v, 0)) result.rest.push_back(v);
  for (int i = 0; i < size(extra); ++i) span.insert(extra[static_cast<std::size_t>(i)], 1u << i);
  F2Span used;  // the parts of `extra` by which touched vectors differ so far
  const Vectors basis = F2Span().insert(touched);
  for (const std::uint32_t v : intersection(joined(aligned, extra), basis)) used.insert(span.reduce(v).inputs);
  for (const std::uint32_t v : basis) {
    if (span.contains(v)) continue;
    int i = 0;
    while (i < size(extra) && !used.insert(1u << i)) ++i;
    const std::uint32_t without = i < size(extra) ? v ^ extra[static_cast<std::size_t>(i)] : v;
    span.insert(without, 0);
    result.rest.push_back(without);
  }
  for (const std::uint32_t v : whole)
    if (span.insert(v, 0)) result.rest.push_back(v);
  result.touched = intersection(touched, result.rest);
  return result;
}

/// `count` independent vectors in the span of `whole` such that no sum of them is in the span of a or of b; fewer if there are not enough.
Vectors lines_apart(const Vectors& whole, const Vectors& a, const Vectors& b, int count) {
  const Vectors b_basis = F2Span().insert(b), both = intersection(a, b_basis);
  F2Span in_a(both), in_b(both), in_sum(joined(a, b));
  const Vectors only_a = in_a.insert(a), only_b = in_b.insert(b_basis);
  Vectors lines = in_sum.insert(whole);
  for (std::size_t i = 0; i < std::min(only_a.size(), only_b.size()); ++i) lines.push_back(only_a[i] ^ only_b[i]);
  if (size(lines) > count) lines.resize(static_cast<std::size_t>(count));
  return lines;
}

struct Widths {
  int narrow, wide, element;  // log2: narrow and wide vectors in elements, an element in bytes
};

/// The basis of the offsets, from bit 0 up, or none if there would be bank conflicts or the wide side has no vectors of that width.
/// `common`: the directions that vectors of both sides can have.
std::optional<Vectors> offset_basis(const Side& narrow, const Side& wide, const Vectors& common, Widths w, int bits) {
  const auto narrow_vector = head(common, w.narrow);
  F2Span spanned(joined(wide.threads, narrow_vector));
  const Vectors candidates = spanned.insert(wide.registers);
  const Vectors wide_vector = joined(narrow_vector, head(candidates, w.wide - w.narrow));
  if (size(wide_vector) < w.wide) return std::nullopt;

  // The bits above the narrow vectors: the threads of both sides, then the rest of the space.
  F2Span all(narrow_vector);
  Vectors above_narrow = all.insert(joined(narrow.threads, wide.threads));
  for (const std::uint32_t v : all.insert(units(bits))) above_narrow.push_back(v);
  const Vectors extra = intersection(above_narrow, wide_vector);
  // Elements of one word are in the same bank.
  const int word = std::max(kLog2WordBytes - w.element, 0);
  const Vectors narrow_touched = joined(narrow.phase(w.narrow + w.element), head(extra, word - w.narrow));
  const Split above_wide = split(above_narrow, extra, wide.threads, narrow_touched);
  const auto in_word = head(above_wide.rest, word - w.wide);
  const Vectors touched_a = F2Span().insert(joined(above_wide.touched, in_word));
  const Vectors touched_b = F2Span().insert(joined(wide.phase(w.wide + w.element), in_word));

  const int lines = std::max(bits - (kLog2LineBytes - w.element), 0);
  const Vectors apart = lines_apart(above_wide.rest, touched_a, touched_b, lines);
  if (size(apart) < lines) return std::nullopt;
  Vectors basis = joined(joined(narrow_vector, extra), in_word);
  F2Span filled(joined(basis, apart));
  basis = joined(basis, filled.insert(joined(joined(touched_b, touched_a), above_wide.rest)));
  return joined(basis, apart);
}

}  // namespace

int least_wavefronts(int element_bytes, int log2_vector, int log2_lanes) {
  return 1 << log2_phases(log2_exact(element_bytes) + log2_vector, log2_lanes);
}

int shared_wavefronts(const F2Matrix& offset, int element_bytes, int log2_vector, bool in_pairs) {
  const int element = log2_exact(element_bytes), log2_bytes = element + log2_vector;
  TW_CHECK(log2_bytes <= kLog2VectorBytes, "an access of a lane has at most 16 bytes");
  const int phases = log2_phases(log2_bytes, offset.width() - log2_vector) - (in_pairs ? 1 : 0);
  F2Span words, banks;
  const auto touch = [&](std::uint32_t word) {
    words.insert(word);
    banks.insert(word & ((1u << (kLog2LineBytes - kLog2WordBytes)) - 1));
  };
  for (const std::uint32_t o : head(offset.columns, offset.width() - phases))
    touch(element > kLog2WordBytes ? o << (element - kLog2WordBytes) : o >> (kLog2WordBytes - element));
  for (int i = kLog2WordBytes; i < element; ++i) touch(1u << (i - kLog2WordBytes));
  return 1 << (phases + words.dimension() - banks.dimension());
}

SharedPlan plan_swizzle(const LinearLayout& source, const LinearLayout& destination, int element_bytes) {
  TW_CHECK(source.log2_extents() == destination.log2_extents(), "a conversion keeps the extents");
  TW_CHECK(source.is_surjective(), "the source of a conversion holds every element");
  const int element = log2_exact(element_bytes), widest = kLog2VectorBytes - element, bits = source.log2_elements();
  const Side store(source, true), load(destination, false);
  // The directions of registers on both sides, without those that threads of a side also have: these would misalign that side's vectors.
  const Vectors shared_registers = intersection(store.registers, load.registers);
  const Vectors threads = joined(store.threads, load.threads);
  F2Span spanned(intersection(threads, shared_registers));
  const Vectors common = spanned.insert(shared_registers);
  const int both = std::min(size(common), widest);

  struct Choice {
    Vectors basis;
    int store_vector, load_vector;
    std::pair<long, long> cost;  // wavefronts, accesses
  };
  const auto cost = [&](int store_vector, int load_vector) {
    const long stores = 1L << (size(store.registers) - store_vector), loads = 1L << (size(load.registers) - load_vector);
    return std::pair(stores * least_wavefronts(element_bytes, store_vector, size(store.lanes)) +
                         loads * least_wavefronts(element_bytes, load_vector, size(load.lanes)),
                     stores + loads);
  };
  std::optional<Vectors> equal = offset_basis(store, load, common, {both, both, element}, bits);
  TW_CHECK(equal, "equal vectors on both sides always have offsets without conflicts");
  Choice best{*std::move(equal), both, both, cost(both, both)};
  for (const bool loads_wide : {true, false}) {
    for (int wide = widest; wide > both; --wide) {
      const Side &narrow_side = loads_wide ? store : load, &wide_side = loads_wide ? load : store;
      std::optional<Vectors> basis = offset_basis(narrow_side, wide_side, common, {both, wide, element}, bits);
      if (!basis) continue;
      const int store_vector = loads_wide ? both : wide, load_vector = loads_wide ? wide : both;
      Choice choice{*std::move(basis), store_vector, load_vector, cost(store_vector, load_vector)};
      if (choice.cost < best.cost) best = std::move(choice);
    }
  }
  SharedPlan plan{LinearLayout(source.log2_extents()), best.store_vector, best.load_vector};
  plan.shared.set_bases(HardwareDim::offset, std::move(best.basis));
  return plan;
}

F2Matrix SharedAccesses::warp_offset(int log2_lanes, std::uint32_t idle) const {
  F2Matrix m = identity_matrix(log2_vector);
  for (int i = 0; i < log2_lanes; ++i) m.columns.push_back((idle >> i & 1) != 0 ? 0 : thread_offset.columns[static_cast<std::size_t>(i)]);
  return m;
}

SharedAccesses shared_accesses(const LinearLayout& registers, const LinearLayout& shared, int log2_vector) {
  const std::optional<F2Matrix> to_offset = shared.matrix().solve(registers.matrix());
  TW_CHECK(to_offset, "shared memory holds every element");
  const auto register_bits = static_cast<std::size_t>(registers.bits(HardwareDim::reg));
  SharedAccesses result{log2_vector, {}, {}, {}};
  const F2Matrix by_register{Vectors(to_offset->columns.begin(), to_offset->columns.begin() + static_cast<std::ptrdiff_t>(register_bits))};
  result.thread_offset.columns.assign(to_offset->columns.begin() + static_cast<std::ptrdiff_t>(register_bits), to_offset->columns.end());
  for (std::uint32_t r = 0; r < registers.size(HardwareDim::reg); ++r) {
    result.positions.push_back(by_register(r));
    result.offsets.push_back(result.positions.back() >> log2_vector << log2_vector);
  }
  std::sort(result.offsets.begin(), result.offsets.end());
  result.offsets.erase(std::unique(result.offsets.begin(), result.offsets.end()), result.offsets.end());
  const std::uint32_t in_vector = (1u << log2_vector) - 1;
  for (std::uint32_t& position : result.positions) {
    const auto access = std::lower_bound(result.offsets.begin(), result.offsets.end(), position & ~in_vector) - result.offsets.begin();
    position = static_cast<std::uint32_t>(access) << log2_vector | (position & in_vector);
  }
  return result;
}

}  // namespace tilewright::ir
