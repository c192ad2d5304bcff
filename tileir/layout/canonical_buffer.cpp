// Builds canonical buffers, recognises them, and derives descriptors and boxes.
#include "tileir/layout/canonical_buffer.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {

constexpr int kSlabBytes[] = {128, 64, 32};
constexpr int kChunkBytes = 16, kPatternRows = 8;
constexpr int kMostBoxExtent = 256;
constexpr int kStepBytes = 32, kGroupRows = 64;  // of an instruction: its bytes along K, and its rows of a

int log2(int n) { return std::countr_zero(static_cast<unsigned>(n)); }

struct Shape {
  int inner, slab_bytes;
  int log2_slab;  // in elements
  int rows, slabs;

  int bytes_of_slab() const { return rows * slab_bytes; }
};

Shape shape_of(const std::vector<int>& log2_extents, int inner, int element_bytes, int slab_bytes) {
  Shape s{inner, slab_bytes, log2(slab_bytes / element_bytes), 1, 1};
  for (int axis = 0; axis < static_cast<int>(log2_extents.size()); ++axis)
    if (axis != inner) s.rows <<= log2_extents[static_cast<std::size_t>(axis)];
  s.slabs = 1 << std::max(log2_extents[static_cast<std::size_t>(inner)] - s.log2_slab, 0);
  return s;
}

/// The shape of a canonical buffer that has this layout. If a row is one slab, or if there are few rows, two shapes have the same layout:
/// the one with the longer slabs is taken.
std::optional<Shape> recognise(const LinearLayout& layout, int element_bytes, int inner) {
  const std::vector<int>& extents = layout.log2_extents();
  for (int slab_bytes : kSlabBytes) {
    const bool is_whole = slab_bytes >= element_bytes && (element_bytes << extents[static_cast<std::size_t>(inner)]) >= slab_bytes;
    if (is_whole && layout == canonical_buffer(extents, inner, element_bytes, slab_bytes))
      return shape_of(extents, inner, element_bytes, slab_bytes);
  }
  return std::nullopt;
}

std::string why_not_canonical() {
  return "its rows are not cut into slabs of 32, 64 or 128 bytes whose chunks of 16 bytes are permuted by the number of the row";
}

}  // namespace

LinearLayout canonical_buffer(const std::vector<int>& log2_extents, int inner, int element_bytes, int slab_bytes) {
  const int log2_chunk = log2(kChunkBytes / element_bytes), log2_slab = log2(slab_bytes / element_bytes);
  const int log2_row = log2_extents[static_cast<std::size_t>(inner)], chunk_bits = log2_slab - log2_chunk;
  TW_CHECK(log2_row >= log2_slab, "a row is shorter than a slab");
  LinearLayout memory(log2_extents);
  const int shift = memory.axis_shift(inner);
  for (int i = 0; i < log2_slab; ++i) memory.add_basis(HardwareDim::offset, 1u << (shift + i));
  // The swizzle pattern is one of lines of 128 bytes: all rows of a line have their chunks permuted in the same way.
  int row_bit = chunk_bits - 3;
  for (int axis = static_cast<int>(log2_extents.size()) - 1; axis >= 0; --axis)
    for (int i = 0; axis != inner && i < log2_extents[static_cast<std::size_t>(axis)]; ++i, ++row_bit) {
      const std::uint32_t chunk = row_bit >= 0 && row_bit < chunk_bits ? 1u << (shift + log2_chunk + row_bit) : 0;
      memory.add_basis(HardwareDim::offset, 1u << (memory.axis_shift(axis) + i) | chunk);
    }
  for (int i = log2_slab; i < log2_row; ++i) memory.add_basis(HardwareDim::offset, 1u << (shift + i));
  return memory;
}

std::uint64_t MatrixDescriptor::bits(std::uint32_t address) const {
  const auto field = [](int bytes) { return static_cast<std::uint64_t>(bytes >> 4 & 0x3fff); };
  const std::uint64_t swizzle = slab_bytes == 128 ? 1 : slab_bytes == 64 ? 2 : 3;
  return field(static_cast<int>(address & 0x3ffff)) | field(leading) << 16 | field(stride) << 32 | swizzle << 62;
}

std::variant<MatrixDescriptor, NotCanonical> matrix_descriptor(const LinearLayout& layout, int k_axis, int element_bytes,
                                                               bool only_k_major) {
  if (layout.rank() != 2) return NotCanonical{fmt::format("it has {} axes, and a factor has 2", layout.rank())};
  for (const bool along_k : {true, false}) {
    const std::optional<Shape> s = recognise(layout, element_bytes, along_k ? k_axis : 1 - k_axis);
    if (!s) continue;
    if (!along_k && only_k_major) return NotCanonical{"the instruction takes factors whose neighbours are along K alone"};
    if (s->rows % kPatternRows != 0) return NotCanonical{fmt::format("it has {} rows, and the pattern has 8", s->rows)};
    MatrixDescriptor d{.along_k = along_k, .stride = kPatternRows * s->slab_bytes, .slab_bytes = s->slab_bytes};
    const int k_of_step = kStepBytes / element_bytes;
    if (along_k) {
      d.leading = kChunkBytes;  // the hardware does not read it
      d.k_step = kStepBytes, d.k_steps_of_slab = s->slab_bytes / kStepBytes, d.k_slab = s->bytes_of_slab();
      d.group = kGroupRows * s->slab_bytes;
    } else {
      if (s->rows % k_of_step != 0) return NotCanonical{fmt::format("K is {}, and an instruction multiplies {}", s->rows, k_of_step)};
      d.leading = s->bytes_of_slab();
      d.k_step = k_of_step * s->slab_bytes, d.k_steps_of_slab = s->rows / k_of_step, d.k_slab = 0;
      d.group = kGroupRows * element_bytes / s->slab_bytes * d.leading;
    }
    return d;
  }
  return NotCanonical{why_not_canonical()};
}

std::variant<CopyBoxes, NotCanonical> copy_boxes(const LinearLayout& layout, int element_bytes) {
  constexpr int kMostRank = 5;
  const int rank = layout.rank();
  if (rank < 2 || rank > kMostRank) return NotCanonical{fmt::format("it has {} axes; a box of several rows has 2 to 5", rank)};
  for (int inner = rank - 1; inner >= 0; --inner) {
    const std::optional<Shape> s = recognise(layout, element_bytes, inner);
    if (!s) continue;
    CopyBoxes c{.inner = inner, .slab_bytes = s->slab_bytes, .extents = {}, .boxes = {}};
    for (int e : layout.log2_extents()) c.extents.push_back(1 << e);
    c.extents[static_cast<std::size_t>(inner)] = 1 << s->log2_slab;
    // A box is a slice of the outermost row axis: the rows of a box must be consecutive.
    const auto outermost = static_cast<std::size_t>(inner == 0 ? 1 : 0);
    const int rows = c.extents[outermost];
    c.extents[outermost] = std::min(rows, kMostBoxExtent);
    for (int axis = 0; axis < rank; ++axis)
      if (c.extents[static_cast<std::size_t>(axis)] > kMostBoxExtent)
        return NotCanonical{fmt::format("axis {} has {} elements; a box has at most 256", axis, c.extents[static_cast<std::size_t>(axis)])};
    const int bytes_of_row = s->bytes_of_slab() / rows;  // bytes for one index of the outermost axis
    for (int slab = 0; slab < s->slabs; ++slab)
      for (int row = 0; row < rows; row += c.extents[outermost]) {
        std::vector<int> first(static_cast<std::size_t>(rank), 0);
        first[static_cast<std::size_t>(inner)] = slab << s->log2_slab;
        first[outermost] = row;
        c.boxes.push_back({std::move(first), slab * s->bytes_of_slab() + row * bytes_of_row});
      }
    return c;
  }
  return NotCanonical{why_not_canonical()};
}

}  // namespace tilewright::ir
