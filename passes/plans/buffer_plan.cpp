// Computes vectors, ldmatrix accesses and swizzles from the offsets of registers and lanes in a buffer.
#include "passes/plans/buffer_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tileir/diagnostics.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::passes {

using ir::F2Matrix;
using ir::HardwareDim;
using ir::LinearLayout;

namespace {

constexpr int kLog2RowBytes = 4;  // of a row that ldmatrix reads; also the widest access
constexpr int kLog2WordBytes = 2;

int log2(int x) { return std::countr_zero(static_cast<unsigned>(x)); }

/// The map from registers, lanes and warps, side by side, to offsets in memory.
F2Matrix offsets(const LinearLayout& registers, const LinearLayout& memory) {
  const auto m = memory.matrix().solve(registers.matrix());
  TW_CHECK(m, "a buffer has an offset for every element");
  return *m;
}

}  // namespace

LinearLayout in_buffer(const LinearLayout& part, const LinearLayout& buffer) {
  LinearLayout whole(buffer.log2_extents());
  for (int d = 0; d < ir::kHardwareDims; ++d)
    for (std::uint32_t basis : part.bases(static_cast<HardwareDim>(d)))
      whole.add_basis(static_cast<HardwareDim>(d), whole.flat(part.coordinates(basis)));
  return whole;
}

int log2_shared_vector(const LinearLayout& registers, const LinearLayout& memory, int element_bytes) {
  const F2Matrix m = offsets(registers, memory);
  std::vector<int> vector;  // the register bits whose offsets are 1, 2, 4, ...
  for (std::uint32_t unit = 1;; unit <<= 1) {
    int found = -1;
    for (int i = 0; i < registers.bits(HardwareDim::reg) && found < 0; ++i)
      if (m.columns[static_cast<std::size_t>(i)] == unit) found = i;
    if (found < 0) break;
    vector.push_back(found);
  }
  return log2_copy_vector(registers, memory, element_bytes, vector);
}

int log2_copy_vector(const LinearLayout& registers, const LinearLayout& memory, int element_bytes, std::span<const int> vector) {
  const F2Matrix m = offsets(registers, memory);
  const int most = std::min(kLog2RowBytes - log2(element_bytes), static_cast<int>(vector.size()));
  int n = 0;
  // A bit of the offset must come only from its register bit: another bit would misalign the vector.
  const auto fits = [&](int bit) {
    for (int i = 0; i < m.width(); ++i) {
      const std::uint32_t column = m.columns[static_cast<std::size_t>(i)];
      if (i == vector[static_cast<std::size_t>(bit)] ? column != 1u << bit : (column >> bit & 1) != 0) return false;
    }
    return true;
  };
  while (n < most && fits(n)) ++n;
  return n;
}

std::uint32_t MatrixLoad::within_instruction() const {
  std::uint32_t bits = (1u << log2_packed) - 1;
  for (const int bit : matrices) bits |= 1u << bit;
  return pair < 0 ? bits : bits | 1u << pair;
}

std::optional<MatrixLoad> plan_matrix_load(const LinearLayout& registers, const LinearLayout& memory, int element_bytes) {
  const int element = log2(element_bytes), packed = kLog2WordBytes - element, row = kLog2RowBytes - element;
  const int register_bits = registers.bits(HardwareDim::reg);
  if (packed < 0 || register_bits < packed || registers.bits(HardwareDim::lane) != 5) return std::nullopt;
  const F2Matrix m = offsets(registers, memory);
  const auto column = [&](int i) { return m.columns[static_cast<std::size_t>(i)]; };
  const auto lane = [&](int i) { return column(register_bits + i); };
  MatrixLoad plan;
  plan.log2_packed = packed;
  // The bits of an element within a row of 16 bytes, and the bits of the row's number in a matrix.
  std::vector<std::uint32_t> within, rows;
  const auto assign = [&](bool transposes) {
    within.clear(), rows.clear();
    plan.transposes = transposes;
    if (transposes) {
      // A word has bytes of two rows of a matrix; two more rows are in another word.
      if (element_bytes == 1) {
        for (int i = packed; i < register_bits && plan.pair < 0; ++i)
          if (column(i) == 1) plan.pair = i;
        if (plan.pair < 0) return false;
        within.push_back(column(plan.pair));
      }
      rows.push_back(column(0));
      for (int i = 0; i < 2; ++i) rows.push_back(lane(i));
      for (int i = 2; i < 5; ++i) within.push_back(lane(i));
    } else {
      for (int i = 0; i < packed; ++i) within.push_back(column(i));
      for (int i = 0; i < 2; ++i) within.push_back(lane(i));
      for (int i = 2; i < 5; ++i) rows.push_back(lane(i));
    }
    for (int i = 0; i < row; ++i)
      if (static_cast<int>(within.size()) != row || within[static_cast<std::size_t>(i)] != 1u << i) return false;
    // All other bits move whole rows.
    const std::uint32_t in_row = (1u << row) - 1;
    for (const std::uint32_t r : rows)
      if (r & in_row) return false;
    for (int i = transposes ? 0 : packed; i < register_bits; ++i)
      if (i != plan.pair && (column(i) & in_row)) return false;
    for (int i = register_bits + 5; i < m.width(); ++i)
      if (column(i) & in_row) return false;
    return rows.size() == 3;
  };
  if (!assign(false) && !(element_bytes <= 2 && assign(true))) return std::nullopt;
  if (plan.pair >= 0) plan.matrices.push_back(1);
  for (int i = packed; i < register_bits && plan.matrices.size() < 2; ++i)
    if (i != plan.pair) plan.matrices.push_back(i);
  plan.thread_offset.columns = rows;
  for (std::size_t i = 0; i < 2; ++i) plan.thread_offset.columns.push_back(i < plan.matrices.size() ? column(plan.matrices[i]) : 0);
  for (int i = register_bits + 5; i < m.width(); ++i) plan.thread_offset.columns.push_back(column(i));
  const std::uint32_t within_instruction = plan.within_instruction();
  for (int i = 0; i < register_bits; ++i) plan.by_register.columns.push_back((within_instruction >> i & 1) != 0 ? 0 : column(i));
  return plan;
}

namespace {

/// The cost of the accesses by which a warp reads or writes all of its registers.
struct Wavefronts {
  int now, ideal;
};

/// The wavefronts by ldmatrix; none if it cannot read this layout.
std::optional<Wavefronts> by_matrices(const LinearLayout& reader, const LinearLayout& memory, int element_bytes) {
  const auto plan = plan_matrix_load(reader, memory, element_bytes);
  if (!plan) return std::nullopt;
  // Computed as if each lane read the row whose address it provides.
  const int log2_row = kLog2RowBytes - log2(element_bytes);
  const int instructions = 1 << (reader.bits(HardwareDim::reg) - std::popcount(plan->within_instruction()));
  F2Matrix rows = ir::identity_matrix(log2_row);
  rows.columns.insert(rows.columns.end(), plan->thread_offset.columns.begin(), plan->thread_offset.columns.begin() + 5);
  return Wavefronts{ir::shared_wavefronts(rows, element_bytes, log2_row) * instructions,
                    ir::least_wavefronts(element_bytes, log2_row) * instructions};
}

Wavefronts by_vectors(const LinearLayout& threads, const LinearLayout& memory, int element_bytes, bool is_load) {
  const int registers = threads.bits(HardwareDim::reg);
  const int log2_vector = log2_shared_vector(threads, memory, element_bytes), accesses = 1 << (registers - log2_vector);
  const F2Matrix all = offsets(threads, memory);
  F2Matrix access = ir::identity_matrix(log2_vector);
  for (int i = 0; i < threads.bits(HardwareDim::lane); ++i) access.columns.push_back(all.columns[static_cast<std::size_t>(registers + i)]);
  const auto is_same = [&](int lane) { return access.columns[static_cast<std::size_t>(log2_vector + lane)] == 0; };
  const bool in_pairs = is_load && element_bytes << log2_vector > 4 && threads.bits(HardwareDim::lane) > 1 && (is_same(0) || is_same(1));
  return {ir::shared_wavefronts(access, element_bytes, log2_vector, in_pairs) * accesses,
          ir::least_wavefronts(element_bytes, log2_vector) * accesses >> in_pairs};
}

Wavefronts of_reads(const LinearLayout& reader, const LinearLayout& memory, int element_bytes) {
  const std::optional<Wavefronts> matrices = by_matrices(reader, memory, element_bytes);
  return matrices ? *matrices : by_vectors(reader, memory, element_bytes, true);
}

/// Rows along one axis, in lines of 128 bytes: a line holds as many rows as fit, and a longer row counts as several rows. Bit i of the
/// row's number XORs masks[i] into the number of the chunk in its line or, for a row that does not begin a line, within the row.
class SwizzledRows {
 public:
  SwizzledRows(const std::vector<int>& log2_extents, int inner, int element_bytes)
      : extents_(log2_extents), element_bytes_(element_bytes), inner_(inner) {
    const int log2_row = extents_[static_cast<std::size_t>(inner_)];
    log2_chunk_ = std::min(kLog2RowBytes - log2(element_bytes), log2_row);
    chunk_bits_ = std::min(log2_row - log2_chunk_, kLog2LineChunks);
    const LinearLayout shape(extents_);
    for (int i = log2_chunk_ + chunk_bits_; i < log2_row; ++i) rows_.push_back(1u << (shape.axis_shift(inner_) + i));
    const int lines_of_row = static_cast<int>(rows_.size());
    for (int axis = static_cast<int>(extents_.size()) - 1; axis >= 0; --axis)
      for (int i = 0; axis != inner_ && i < extents_[static_cast<std::size_t>(axis)]; ++i)
        rows_.push_back(1u << (shape.axis_shift(axis) + i));
    // The same chunk of 8 rows is in different banks: rows of one line are side by side, and later lines are permuted.
    for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
      const int bit = i - in_line() - lines_of_row;
      masks_.push_back(bit >= 0 && bit < chunk_bits_ ? 1u << bit : 0);
    }
  }

  LinearLayout layout() const {
    LinearLayout memory(extents_);
    const int shift = memory.axis_shift(inner_);
    for (int i = 0; i < log2_chunk_ + chunk_bits_; ++i) memory.add_basis(HardwareDim::offset, 1u << (shift + i));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::uint32_t basis = rows_[i] | (masks_[i] & ((1u << chunk_bits_) - 1)) << (shift + log2_chunk_);
      for (std::size_t j = 0; masks_[i] >> (static_cast<std::size_t>(chunk_bits_) + j) != 0; ++j)
        if ((masks_[i] >> (static_cast<std::size_t>(chunk_bits_) + j) & 1) != 0) basis |= rows_[j];
      memory.add_basis(HardwareDim::offset, basis);
    }
    return memory;
  }

  /// Changes one mask after another as long as the reader and the writer together become faster.
  void improve_for(const LinearLayout& reader, const LinearLayout& writer) {
    const auto both = [&] {
      const LinearLayout memory = layout();
      const Wavefronts read = of_reads(reader, memory, element_bytes_), written = by_vectors(writer, memory, element_bytes_, false);
      return Wavefronts{read.now + written.now, read.ideal + written.ideal};
    };
    Wavefronts least = both();
    for (bool improved = true; std::exchange(improved, false);)
      for (std::size_t i = 0; i < masks_.size(); ++i) {
        const int bits = static_cast<int>(i) < in_line() ? chunk_bits_ : chunk_bits_ + in_line();
        std::uint32_t best = masks_[i];
        for (std::uint32_t mask = 0; mask < 1u << bits && least.now > least.ideal; ++mask) {
          masks_[i] = mask;
          if (const Wavefronts w = both(); w.now < least.now) least = w, best = mask, improved = true;
        }
        masks_[i] = best;
      }
  }

 private:
  static constexpr int kLog2LineChunks = 3;
  /// The number of the lowest bits of a row's number that select a row within a line.
  int in_line() const { return std::min(kLog2LineChunks - chunk_bits_, static_cast<int>(rows_.size())); }

  const std::vector<int> extents_;
  const int element_bytes_;
  const int inner_;
  int log2_chunk_ = 0, chunk_bits_ = 0;
  std::vector<std::uint32_t> rows_;  // indexed by bit of a row's number: the flat index that the bit contributes
  std::vector<std::uint32_t> masks_;
};

}  // namespace

std::optional<MatrixLoad> plan_matrix_store(const LinearLayout& registers, const LinearLayout& memory, int element_bytes) {
  auto plan = plan_matrix_load(registers, memory, element_bytes);
  if (!plan || plan->pair >= 0 || element_bytes > 2) return std::nullopt;
  const auto cost = [](Wavefronts w, int at_once) { return AccessCost{w.now, -at_once}; };
  const AccessCost matrices = cost(*by_matrices(registers, memory, element_bytes), std::popcount(plan->within_instruction()));
  const AccessCost vectors =
      cost(by_vectors(registers, memory, element_bytes, false), log2_shared_vector(registers, memory, element_bytes));
  return matrices < vectors ? std::move(plan) : std::nullopt;
}

AccessCost access_cost(const LinearLayout& threads, const LinearLayout& source, const LinearLayout& target, int element_bytes) {
  const int registers = threads.bits(HardwareDim::reg);
  const auto plan = plan_matrix_load(threads, source, element_bytes);
  const int at_once = plan ? std::popcount(plan->within_instruction()) : log2_shared_vector(threads, source, element_bytes);
  const int written = log2_shared_vector(threads, target, element_bytes);
  return {of_reads(threads, source, element_bytes).now + by_vectors(threads, target, element_bytes, false).now,
          (1 << (registers - at_once)) + (1 << (registers - written))};
}

int axis_of_neighbours(const LinearLayout& writer) {
  for (const std::uint32_t basis : writer.bases(HardwareDim::reg))
    for (int axis = writer.rank() - 1; axis >= 0; --axis)
      if (writer.log2_extents()[static_cast<std::size_t>(axis)] > 0 && basis == 1u << writer.axis_shift(axis)) return axis;
  return writer.rank() - 1;
}

LinearLayout buffer_layout(const LinearLayout& writer, const LinearLayout& reader, int element_bytes) {
  SwizzledRows rows(writer.log2_extents(), axis_of_neighbours(writer), element_bytes);
  rows.improve_for(reader.without_free_registers(), writer.without_free_registers());
  return rows.layout();
}

int read_cost(const LinearLayout& registers, int inner, int element_bytes, bool used_in_place) {
  const LinearLayout memory = SwizzledRows(registers.log2_extents(), inner, element_bytes).layout();
  const int all = 1 << registers.bits(HardwareDim::reg), log2_word = std::max(kLog2WordBytes - log2(element_bytes), 0);
  if (const auto plan = plan_matrix_load(registers, memory, element_bytes)) {
    const int words = all >> log2_word;
    return (words >> plan->matrices.size()) + (plan->pair >= 0 ? words : 0);
  }
  const int log2_vector = log2_shared_vector(registers, memory, element_bytes);
  const F2Matrix m = offsets(registers, memory);
  // Whether the lowest `count` bits of a register's number select neighbours.
  const auto are_neighbours = [&](int count) {
    for (int i = 0; i < count; ++i)
      if (i >= registers.bits(HardwareDim::reg) || m.columns[static_cast<std::size_t>(i)] != 1u << i) return false;
    return true;
  };
  int cost = all >> log2_vector;
  if (log2_vector < log2_word || !are_neighbours(log2_word)) cost += all;
  if (used_in_place && element_bytes == 1 << kLog2WordBytes && !are_neighbours(log2_vector)) cost += all;
  return cost;
}

}  // namespace tilewright::passes
