// Canonical buffers against the emulator's reading of matrix descriptors and its writing of tensor boxes: all three name the same bytes.
#include "tileir/layout/canonical_buffer.h"

#include <doctest/doctest.h>

#include <random>

#include "runtime/emulator/async/copy_pieces.h"
#include "runtime/emulator/matrix/descriptor.h"

namespace tilewright::ir {
namespace {

/// Shared memory from the slot's byte address on.
struct Slot {
  const LinearLayout& layout;
  int element_bytes;
  std::uint32_t base;

  std::uint32_t address(std::uint32_t i, std::uint32_t j) const {
    const std::uint32_t at[] = {i, j};
    return base + *layout.matrix().solve(layout.flat(at)) * static_cast<std::uint32_t>(element_bytes);
  }
};

/// Elements that the emulated instruction would read at another address than the layout's.
int wrong_reads(const Slot& slot, int k_axis, const MatrixDescriptor& d) {
  const auto extent = [&](int axis) { return 1 << slot.layout.log2_extents()[static_cast<std::size_t>(axis)]; };
  const int ks = extent(k_axis), others = extent(1 - k_axis), k_of_step = 32 / slot.element_bytes, in_chunk = 16 / slot.element_bytes;
  const auto address = [&](int other, int k) {
    return k_axis == 1 ? slot.address(static_cast<std::uint32_t>(other), static_cast<std::uint32_t>(k))
                       : slot.address(static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(other));
  };
  int wrong = 0;
  for (int first_k = 0; first_k < ks; first_k += k_of_step)
    for (int first = 0; first < others; first += 64) {
      const auto start = slot.base + static_cast<std::uint32_t>(d.offset(first_k / k_of_step, first / 64));
      const rt::emulator::MatrixDescriptor read(d.bits(start));
      for (int other = 0; other < std::min(64, others - first); ++other)
        for (int k = 0; k < k_of_step; ++k) {
          const std::uint64_t seen = d.along_k
                                         ? read.chunk_along_k(static_cast<std::uint64_t>(other), static_cast<std::uint64_t>(k / in_chunk)) +
                                               static_cast<std::uint64_t>(k % in_chunk * slot.element_bytes)
                                         : read.chunk_across(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(other / 8 * 8)) +
                                               static_cast<std::uint64_t>(other % 8 * slot.element_bytes);
          wrong += seen != address(first + other, first_k + k);
        }
    }
  return wrong;
}

/// Elements that the emulated copies would write to another address than the layout's, or not exactly once.
int wrong_writes(const Slot& slot, const CopyBoxes& c) {
  std::vector<int> written(std::size_t{1} << slot.layout.log2_elements());
  int wrong = 0;
  const int outer = 1 - c.inner, width = c.extents[static_cast<std::size_t>(c.inner)];
  for (const CopyBoxes::Box& box : c.boxes)
    for (int row = 0; row < c.extents[static_cast<std::size_t>(outer)]; ++row)
      for (int i = 0; i < width; ++i) {
        std::uint32_t at[2];
        at[c.inner] = static_cast<std::uint32_t>(box.first[static_cast<std::size_t>(c.inner)] + i);
        at[outer] = static_cast<std::uint32_t>(box.first[static_cast<std::size_t>(outer)] + row);
        const std::uint64_t linear = slot.base + static_cast<std::uint64_t>(box.offset + (row * width + i) * slot.element_bytes);
        wrong += rt::emulator::swizzled(linear, static_cast<std::uint32_t>(c.slab_bytes)) != slot.address(at[0], at[1]);
        ++written[slot.layout.flat(at)];
      }
  for (int times : written) wrong += times != 1;
  return wrong;
}

/// Calls visit(layout, inner, element bytes, slab bytes) for tiles of many shapes.
template <class F>
void for_each_canonical(F&& visit) {
  for (int element_bytes : {1, 2, 4})
    for (int slab_bytes : {32, 64, 128})
      for (int inner : {0, 1})
        for (int log2_rows : {3, 4, 6, 7})
          for (int slabs : {1, 2, 4}) {
            std::vector<int> extents(2, log2_rows);
            int log2_row = 0;
            while (element_bytes << log2_row < slab_bytes * slabs) ++log2_row;
            extents[static_cast<std::size_t>(inner)] = log2_row;
            visit(canonical_buffer(extents, inner, element_bytes, slab_bytes), inner, element_bytes, slab_bytes);
          }
}

TEST_CASE("canonical_buffer: an element is where the head of the header says") {
  const LinearLayout l = canonical_buffer({7, 7}, 1, 2, 128);
  CHECK(Slot{l, 2, 0}.address(1, 72) == 128 * 128 + 128 + 0 * 16);
  CHECK(Slot{l, 2, 0}.address(1, 64) == 128 * 128 + 128 + 1 * 16);
  for_each_canonical([](const LinearLayout& layout, int, int, int) { CHECK(layout.is_surjective()); });
}

TEST_CASE("canonical_buffer: a matrix descriptor names the elements that the layout says, of every step and group") {
  int descriptors = 0;
  for_each_canonical([&](const LinearLayout& layout, int inner, int element_bytes, int slab_bytes) {
    CAPTURE(element_bytes);
    CAPTURE(slab_bytes);
    for (int k_axis : {0, 1}) {
      const bool along_k = k_axis == inner;
      if (!along_k && element_bytes != 2) continue;  // the instruction does not transpose them
      const auto found = matrix_descriptor(layout, k_axis, element_bytes, false);
      const bool has_steps = along_k || layout.log2_extents()[static_cast<std::size_t>(k_axis)] >= 4;
      REQUIRE(std::holds_alternative<MatrixDescriptor>(found) == has_steps);
      if (!has_steps) continue;
      const auto& d = std::get<MatrixDescriptor>(found);
      CHECK(d.along_k == along_k);
      CHECK(d.slab_bytes == slab_bytes);
      CHECK(wrong_reads({layout, element_bytes, static_cast<std::uint32_t>(8 * slab_bytes * 3)}, k_axis, d) == 0);
      ++descriptors;
    }
  });
  CHECK(descriptors > 100);
}

TEST_CASE("canonical_buffer: boxes write each element once, where the layout says") {
  for_each_canonical([&](const LinearLayout& layout, int inner, int element_bytes, int slab_bytes) {
    CAPTURE(element_bytes);
    CAPTURE(slab_bytes);
    const auto found = copy_boxes(layout, element_bytes);
    REQUIRE(std::holds_alternative<CopyBoxes>(found));
    const auto& c = std::get<CopyBoxes>(found);
    CHECK(c.inner == inner);
    CHECK(c.slab_bytes == slab_bytes);
    CHECK(wrong_writes({layout, element_bytes, static_cast<std::uint32_t>(8 * slab_bytes)}, c) == 0);
  });
  // 512 rows are two boxes a slab.
  const LinearLayout tall = canonical_buffer({9, 7}, 1, 2, 128);
  const auto c = std::get<CopyBoxes>(copy_boxes(tall, 2));
  CHECK(c.boxes.size() == 4);
  CHECK(wrong_writes({tall, 2, 0}, c) == 0);
}

TEST_CASE("canonical_buffer: of any layout, what has a descriptor or boxes is read and written where the layout says") {
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for_each_canonical([&](const LinearLayout& layout, int, int element_bytes, int slab_bytes) {
    const std::vector<std::uint32_t>& bases = layout.bases(HardwareDim::offset);
    for (int change = 0; change < 6; ++change) {
      std::vector<std::uint32_t> changed = bases;
      const std::size_t i = random() % bases.size(), j = random() % bases.size();
      if (change % 2 == 0)
        std::swap(changed[i], changed[j]);
      else if (i != j)
        changed[i] ^= bases[j];
      LinearLayout other(layout.log2_extents());
      for (std::uint32_t basis : changed) other.add_basis(HardwareDim::offset, basis);
      const Slot slot{other, element_bytes, static_cast<std::uint32_t>(8 * slab_bytes)};
      for (int k_axis : {0, 1}) {
        const auto found = matrix_descriptor(other, k_axis, element_bytes, element_bytes != 2);
        const auto* d = std::get_if<MatrixDescriptor>(&found);
        ++(d ? accepted : refused);
        if (d) CHECK(wrong_reads(slot, k_axis, *d) == 0);
      }
      if (const auto found = copy_boxes(other, element_bytes); const auto* c = std::get_if<CopyBoxes>(&found))
        CHECK(wrong_writes(slot, *c) == 0);
    }
  });
  CHECK(accepted > 20);
  CHECK(refused > 500);
}

TEST_CASE("canonical_buffer: what has no descriptor or no boxes says why") {
  const auto why = [](const auto& found) { return std::get<NotCanonical>(found).reason; };
  LinearLayout plain({6, 7});
  for (int i = 0; i < 13; ++i) plain.add_basis(HardwareDim::offset, 1u << i);
  CHECK(why(matrix_descriptor(plain, 1, 2, false)).starts_with("its rows are not cut into slabs"));
  CHECK(why(copy_boxes(plain, 2)).starts_with("its rows are not cut into slabs"));
  const LinearLayout rows_of_k = canonical_buffer({5, 6}, 1, 2, 128);
  CHECK(why(matrix_descriptor(rows_of_k, 0, 2, true)) == "the instruction takes factors whose neighbours are along K alone");
  CHECK(std::holds_alternative<MatrixDescriptor>(matrix_descriptor(rows_of_k, 0, 2, false)));
  CHECK(why(matrix_descriptor(canonical_buffer({2, 6}, 1, 2, 128), 1, 2, false)) == "it has 4 rows, and the pattern has 8");
  CHECK(why(matrix_descriptor(canonical_buffer({3, 6}, 1, 2, 128), 0, 2, false)) == "K is 8, and an instruction multiplies 16");
  CHECK(why(matrix_descriptor(canonical_buffer({1, 3, 6}, 2, 2, 128), 1, 2, false)) == "it has 3 axes, and a factor has 2");
  CHECK(why(copy_boxes(canonical_buffer({1, 9, 6}, 2, 2, 128), 2)) == "axis 1 has 512 elements; a box has at most 256");
}

}  // namespace
}  // namespace tilewright::ir
