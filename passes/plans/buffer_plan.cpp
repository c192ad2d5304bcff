// Vectors, ldmatrix and swizzles, by the offsets of registers and lanes in a buffer.
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

constexpr int kLog2RowBytes = 4;  // of a matrix of ldmatrix; also the widest access
constexpr int kLog2WordBytes = 2;

int log2(int x) { return std::countr_zero(static_cast<unsigned>(x)); }

/// From registers, lanes and warps, side by side, to offsets in memory.
F2Matrix offsets(const LinearLayout& registers, const LinearLayout& memory) {
  const auto m = memory.matrix().solve(registers.matrix());
  TW_CHECK(m, "a buffer has a place for every element");
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
  // A bit of the offset may come from its register only: another one would misalign the vector.
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

std::optional<MatrixLoad> plan_matrix_load(const LinearLayout& registers, const LinearLayout& memory, int element_bytes) {
  const int element = log2(element_bytes), packed = kLog2WordBytes - element, row = kLog2RowBytes - element;
  const int register_bits = registers.bits(HardwareDim::reg);
  if (packed < 0 || register_bits < packed || registers.bits(HardwareDim::lane) != 5) return std::nullopt;
  const F2Matrix m = offsets(registers, memory);
  const auto column = [&](int i) { return m.columns[static_cast<std::size_t>(i)]; };
  const auto lane = [&](int i) { return column(register_bits + i); };
  // The bits of an element within a row of 16 bytes, and those of the row's number in a matrix.
  std::vector<std::uint32_t> within, rows;
  MatrixLoad plan;
  const auto assign = [&](bool transposes) {
    within.clear(), rows.clear();
    plan.transposes = transposes;
    auto& first = transposes ? rows : within;
    auto& second = transposes ? within : rows;
    for (int i = 0; i < packed; ++i) first.push_back(column(i));
    for (int i = 0; i < 2; ++i) first.push_back(lane(i));
    for (int i = 2; i < 5; ++i) second.push_back(lane(i));
    for (int i = 0; i < row; ++i)
      if (static_cast<int>(within.size()) != row || within[static_cast<std::size_t>(i)] != 1u << i) return false;
    // Everything else moves whole rows.
    const std::uint32_t in_row = (1u << row) - 1;
    for (const std::uint32_t r : rows)
      if (r & in_row) return false;
    for (int i = packed; i < register_bits; ++i)
      if (column(i) & in_row) return false;
    for (int i = register_bits + 5; i < m.width(); ++i)
      if (column(i) & in_row) return false;
    return rows.size() == 3;
  };
  // Transposed words hold one element of each of two rows: elements must have 2 bytes.
  if (!assign(false) && !(element_bytes == 2 && assign(true))) return std::nullopt;
  plan.log2_packed = packed;
  plan.log2_matrices = std::min(2, register_bits - packed);
  plan.thread_offset.columns = rows;
  for (int i = 0; i < 2; ++i) plan.thread_offset.columns.push_back(i < plan.log2_matrices ? column(packed + i) : 0);
  for (int i = register_bits + 5; i < m.width(); ++i) plan.thread_offset.columns.push_back(column(i));
  for (int i = 0; i < register_bits; ++i) plan.by_register.columns.push_back(i < packed + plan.log2_matrices ? 0 : column(i));
  return plan;
}

namespace {

/// Rows along one axis. Bit i of the row's number XORs masks[i] to the number of the chunk in a line of 128 bytes.
class SwizzledRows {
 public:
  SwizzledRows(const LinearLayout& writer, int element_bytes) : extents_(writer.log2_extents()), element_bytes_(element_bytes) {
    inner_ = axis_of_neighbours(writer);
    const int log2_row = extents_[static_cast<std::size_t>(inner_)];
    log2_chunk_ = std::min(kLog2RowBytes - log2(element_bytes), log2_row);
    chunk_bits_ = std::min(log2_row - log2_chunk_, kLog2LineChunks);
    for (std::size_t axis = 0; axis < extents_.size(); ++axis)
      if (static_cast<int>(axis) != inner_) rows_ += extents_[axis];
    // 8 rows at one chunk are in different banks: as many rows as a line holds lie side by side, the next ones are permuted.
    for (int i = 0; i < rows_; ++i) {
      const int bit = i - (kLog2LineChunks - chunk_bits_);
      masks_.push_back(bit >= 0 && bit < chunk_bits_ ? 1u << bit : 0);
    }
  }

  LinearLayout layout() const {
    LinearLayout memory(extents_);
    const auto add = [&](std::uint32_t basis) { memory.add_basis(HardwareDim::offset, basis); };
    const int shift = memory.axis_shift(inner_);
    for (int i = 0; i < extents_[static_cast<std::size_t>(inner_)]; ++i) add(1u << (shift + i));
    int row = 0;
    for (int axis = static_cast<int>(extents_.size()) - 1; axis >= 0; --axis)
      for (int i = 0; axis != inner_ && i < extents_[static_cast<std::size_t>(axis)]; ++i)
        add(1u << (memory.axis_shift(axis) + i) | masks_[static_cast<std::size_t>(row++)] << (shift + log2_chunk_));
    return memory;
  }

  /// Changes one mask after the other as long as that makes the reader faster.
  void improve_for(const LinearLayout& reader) {
    int least = wavefronts(reader);
    for (bool improved = true; std::exchange(improved, false);)
      for (std::uint32_t& mask : masks_) {
        std::uint32_t best = mask;
        for (std::uint32_t other = 0; other < 1u << chunk_bits_; ++other) {
          mask = other;
          if (const int now = wavefronts(reader); now < least) least = now, best = other, improved = true;
        }
        mask = best;
      }
  }

 private:
  static constexpr int kLog2LineChunks = 3;

  /// The axis along which the lowest registers of a thread are neighbours; the last one if there is none.
  static int axis_of_neighbours(const LinearLayout& writer) {
    for (const std::uint32_t basis : writer.bases(HardwareDim::reg))
      for (int axis = writer.rank() - 1; axis >= 0; --axis)
        if (writer.log2_extents()[static_cast<std::size_t>(axis)] > 0 && basis == 1u << writer.axis_shift(axis)) return axis;
    return writer.rank() - 1;
  }

  /// Of one access of a warp, for vectors of one element times the number of vectors that it takes to read all.
  int wavefronts(const LinearLayout& reader) const {
    const LinearLayout memory = layout();
    const int log2_vector = log2_shared_vector(reader, memory, element_bytes_);
    const F2Matrix all = offsets(reader, memory);
    F2Matrix access = ir::identity_matrix(log2_vector);
    const int registers = reader.bits(HardwareDim::reg);
    for (int i = 0; i < reader.bits(HardwareDim::lane); ++i) access.columns.push_back(all.columns[static_cast<std::size_t>(registers + i)]);
    return ir::shared_wavefronts(access, element_bytes_, log2_vector) << (registers - log2_vector);
  }

  const std::vector<int> extents_;
  const int element_bytes_;
  int inner_ = 0, log2_chunk_ = 0, chunk_bits_ = 0, rows_ = 0;
  std::vector<std::uint32_t> masks_;
};

}  // namespace

LinearLayout buffer_layout(const LinearLayout& writer, const LinearLayout& reader, int element_bytes) {
  SwizzledRows rows(writer, element_bytes);
  if (!plan_matrix_load(reader, rows.layout(), element_bytes)) rows.improve_for(reader.without_free_registers());
  return rows.layout();
}

}  // namespace tilewright::passes
