// Linear layouts: maps over F2 from the bits of hardware coordinates (register, lane, warp, block) to the bits of tile coordinates.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tileir/layout/f2_matrix.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// The dimensions of a hardware coordinate: a register of a thread, a lane of a warp, a warp of a CTA, a CTA (block) of a cluster; or, for
/// shared memory, an offset in elements.
enum class HardwareDim : std::uint8_t { reg, lane, warp, block, offset };
inline constexpr int kHardwareDims = 5;
/// "register", "lane", "warp", "block", "offset".
std::string_view text(HardwareDim);

/// The layout of a tile. Bit i of hardware dimension d contributes bases(d)[i], and contributions are added by XOR. A contribution is a
/// flat index: the tile's coordinates in row-major order. Extents are powers of two, so each axis has a range of bits in it, the last axis
/// the lowest ones. (Triton's LinearLayout is the model; see "Linear Layouts", Zhou et al., 2025.)
///
/// Example: f32[8, 16] by 32 lanes, 4 registers each, 4 elements of a row a thread:
///   register [1, 2], lane [4, 8, 16, 32, 64]: register r of lane l holds row l / 4, column 4 (l % 4) + r.
///
/// An element may have several coordinates, which hold copies of it (a basis that is zero or a sum of others). Every element has at least
/// one, unless the layout is a sublayout.
class LinearLayout {
 public:
  /// A scalar, with no bases.
  LinearLayout() = default;
  /// A tile of extents 2^log2_extents[a], outermost first, with no bases yet.
  explicit LinearLayout(std::vector<int> log2_extents) : log2_extents_(std::move(log2_extents)) {}

  // ---- reading ----
  const std::vector<int>& log2_extents() const { return log2_extents_; }
  int rank() const { return static_cast<int>(log2_extents_.size()); }
  int log2_elements() const;
  const std::vector<std::uint32_t>& bases(HardwareDim d) const { return bases_[static_cast<int>(d)]; }
  int bits(HardwareDim d) const { return static_cast<int>(bases(d).size()); }
  /// 2^bits(d): how many registers a thread has, how many lanes...
  std::uint32_t size(HardwareDim d) const { return 1u << bits(d); }
  /// The flat index that coordinate x of d contributes. Requires: x < size(d).
  std::uint32_t apply(HardwareDim d, std::uint32_t x) const;
  std::uint32_t operator()(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const;
  /// All bases side by side: register, lane, warp, block, offset, from bit 0 up.
  F2Matrix matrix() const;
  /// The lowest bit of axis a in the flat index; its bits are [axis_shift(a), axis_shift(a) + log2_extents()[a]).
  int axis_shift(int axis) const;
  std::uint32_t axis_mask(int axis) const;
  /// The coordinates of a flat index, outermost first.
  std::vector<std::uint32_t> coordinates(std::uint32_t flat) const;
  std::uint32_t flat(std::span<const std::uint32_t> coordinates) const;

  bool is_surjective() const;  // every element has a coordinate
  bool is_injective() const;   // no element has two
  /// The free bits of d: those whose basis is a sum of the bases before it (of earlier dimensions, or of lower bits of d), so that the bit
  /// only selects another copy. A store is executed where all free bits are 0, so each element is stored once.
  std::uint32_t free_bits(HardwareDim d) const;
  /// The largest k for which the low k register bits map to the low k bits of the flat index in order, and no other hardware bit maps to
  /// any of these: a thread holds aligned runs of 2^k neighbours, in order.
  int log2_contiguity() const;
  friend bool operator==(const LinearLayout&, const LinearLayout&) = default;

  // ---- building ----
  void add_basis(HardwareDim d, std::uint32_t flat) { bases_[static_cast<int>(d)].push_back(flat); }
  void set_bases(HardwareDim d, std::vector<std::uint32_t> bases) { bases_[static_cast<int>(d)] = std::move(bases); }

  // ---- the layouts of the results of shape ops, whose elements stay at their coordinates ----
  /// Keeps the flat order under other extents. Requires: the same number of elements.
  LinearLayout reshaped(std::vector<int> log2_extents) const;
  /// Axis i of the result is axis axes[i] of this.
  LinearLayout permuted(std::span<const std::int64_t> axes) const;
  /// The layout of an operand of these extents that is broadcast to this tile: axes of extent 1 contribute nothing.
  LinearLayout narrowed(std::vector<int> log2_extents) const;
  /// The layout without an axis: that of the results of a reduce.
  LinearLayout without_axis(int axis) const;
  /// The layout without free register bits, that is without registers that hold copies.
  LinearLayout without_free_registers() const;

  // ---- algebra ----
  /// Direct sum (Triton's operator*): extents multiply along each axis; in each dimension the bits of this layout come first, then those of
  /// `outer`, whose coordinates are in units of this layout's extents.
  LinearLayout operator*(const LinearLayout& outer) const;
  /// The layout `outer` for which inner * outer == *this; none if there is none.
  std::optional<LinearLayout> divided_by(const LinearLayout& inner) const;
  /// The layout restricted to these dimensions.
  LinearLayout sublayout(std::span<const HardwareDim> dims) const;

 private:
  std::vector<int> log2_extents_;
  std::array<std::vector<std::uint32_t>, kHardwareDims> bases_;
};

/// The map of a layout conversion: from bits of the destination's hardware coordinate (register, lane, warp, block side by side, as
/// LinearLayout::matrix) to bits of a coordinate of the source that holds the same element. Free bits of the source are 0.
/// Requires: equal extents, source surjective.
F2Matrix conversion(const LinearLayout& source, const LinearLayout& destination);

/// As conversion, but chooses the nearest of several copies in the source: in the block of the thread that needs the element if possible,
/// then in its warp, then in its lane. Where this map keeps lane and warp, elements only change registers.
F2Matrix nearest_conversion(const LinearLayout& source, const LinearLayout& destination);

/// log2 of each extent, as the functions above take them.
std::vector<int> log2_extents(const Type&);

/// "{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]]}": each basis by its coordinates; empty dimensions are left out. The extents
/// are not part of it.
std::string text(const LinearLayout&);
/// Reads that form, with the dimensions in any order. None if it is wrong; then `error` says why. Requires: valid extents.
std::optional<LinearLayout> parse_layout(std::string_view text, std::vector<int> log2_extents, std::string& error);

}  // namespace tilewright::ir
