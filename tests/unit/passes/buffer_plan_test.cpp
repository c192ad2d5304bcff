// Buffers and their accesses. A model of ldmatrix, written after its definition, gives each register its element of random data. There are
// no bank conflicts for writes and reads.
#include "passes/plans/buffer_plan.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tileir/builder.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout/swizzle.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"
#include "tileir/target/mma_layouts.h"

using namespace tilewright;
using namespace tilewright::ir;
using namespace tilewright::passes;

namespace {

/// One operand of a product: the layout that mma reads it in, and what there is to know of it.
struct Operand {
  std::string name;
  LinearLayout layout;
  int bytes = 0, k_axis = 0;
  int log2_k = 0;  // the instruction's k
};

/// `order`: of rows, columns and K.
Operand operand(int row, int i, int log2_outer, int log2_k, std::vector<std::int64_t> warps, const MmaOrder& order = {}) {
  const MatrixInstruction& instruction = mma_instructions()[static_cast<std::size_t>(row)];
  const MmaLayouts layouts = mma_layouts(instruction, {i == 0 ? log2_outer : 4, i == 0 ? 3 : log2_outer}, log2_k, warps, order);
  return {fmt::format("{} of {}, {} x {}, {} x {} warps, row order {}, column order {}, k order {}, swapped {}", i == 0 ? "a" : "b",
                      instruction.name, 1 << log2_outer, 1 << log2_k, warps[0], warps[1], fmt::join(order.rows, " "),
                      fmt::join(order.columns, " "), fmt::join(order.k, " "), order.swapped),
          i == 0 ? layouts.a : layouts.b, bytes(instruction.factors), i == 0 ? 1 : 0, log2_k_step(instruction, order)};
}

/// Shared memory with random elements, where the layout says.
class Memory {
 public:
  Memory(const LinearLayout& layout, int bytes, unsigned seed)
      : layout_(layout), bytes_(bytes), data_((1u << layout.log2_elements()) * bytes) {
    std::mt19937 random(seed);
    for (std::uint8_t& b : data_) b = static_cast<std::uint8_t>(random());
  }
  std::vector<std::uint8_t> element(std::uint32_t flat) const {
    return at(*layout_.matrix().solve(flat) * static_cast<std::uint32_t>(bytes_), bytes_);
  }
  std::vector<std::uint8_t> at(std::uint32_t address, int count) const {
    REQUIRE(address + static_cast<std::uint32_t>(count) <= data_.size());
    return {data_.begin() + address, data_.begin() + address + count};
  }

 private:
  const LinearLayout& layout_;
  int bytes_;
  std::vector<std::uint8_t> data_;
};

/// A model of ldmatrix: the 32-bit registers of each lane (PTX ISA 9.0, section 9.7.14.5.15). `rows`: the address that each lane gives.
std::vector<std::vector<std::vector<std::uint8_t>>> ldmatrix(const Memory& memory, const std::vector<std::uint32_t>& rows, int matrices,
                                                             bool trans) {
  std::vector<std::vector<std::vector<std::uint8_t>>> words(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(matrices); ++i) {
      std::vector<std::uint8_t> word;
      for (std::uint32_t half = 0; half < 2; ++half) {
        // Element `half` of the lane's word: of row lane / 4, elements 2 (lane % 4) and the next; transposed, of column lane / 4.
        const std::uint32_t row = trans ? lane % 4 * 2 + half : lane / 4, column = trans ? lane / 4 : lane % 4 * 2 + half;
        for (std::uint8_t b : memory.at(rows[8 * i + row] + 2 * column, 2)) word.push_back(b);
      }
      words[lane].push_back(word);
    }
  return words;
}

/// The error of loading a part of a buffer by the plan, as text.
std::string wrong_with_ldmatrix(const LinearLayout& registers, const LinearLayout& layout, int bytes, std::uint32_t first_flat,
                                const MatrixLoad& plan) {
  const Memory memory(layout, bytes, 1);
  const std::uint32_t first = *layout.matrix().solve(first_flat);
  const std::uint32_t words = 1u << plan.matrices.size(), packed = 1u << plan.log2_packed;
  for (std::uint32_t warp = 0; warp < registers.size(HardwareDim::warp); ++warp)
    for (std::uint32_t r = 0; r < registers.size(HardwareDim::reg); ++r) {
      if ((r & plan.within_instruction()) != 0) continue;
      std::vector<std::uint32_t> rows;
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        rows.push_back((plan.thread_offset(lane | warp << 5) ^ plan.by_register(r) ^ first) * static_cast<std::uint32_t>(bytes));
        if (rows.back() % 16 != 0) return "a row is not aligned";
      }
      for (std::uint32_t i = 0; i < words; ++i) {
        std::map<std::uint32_t, std::set<std::uint32_t>> by_bank;
        for (std::uint32_t row = 0; row < 8; ++row) by_bank[rows[8 * i + row] / 16 % 8].insert(rows[8 * i + row]);
        for (const auto& [bank, addresses] : by_bank)
          if (addresses.size() > 1) return "two rows of a matrix are in the same banks";
      }
      const auto loaded = ldmatrix(memory, rows, static_cast<int>(words), plan.transposes);
      // The register of an element: word i has those whose bits `matrices` count i; in pairs the words are exchanged first.
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t i = 0; i < words; ++i)
          for (std::uint32_t j = 0; j < packed; ++j) {
            std::uint32_t target = r;
            std::vector<std::uint8_t> seen;
            if (plan.pair >= 0) {
              // Word i is the byte i % 2 of the pairs of words i and i ^ 1: byte j of it is from word j / 2.
              target |= j | (i & 1) << plan.pair | (words > 2 ? i >> 1 << plan.matrices[1] : 0);
              seen = {loaded[lane][(i & ~1u) | j >> 1][(j & 1) * 2 + (i & 1)]};
            } else {
              for (std::size_t bit = 0; bit < plan.matrices.size(); ++bit) target |= (i >> bit & 1) << plan.matrices[bit];
              target |= j;
              const auto& word = loaded[lane][i];
              seen = {word.begin() + j * bytes, word.begin() + (j + 1) * bytes};
            }
            if (seen != memory.element(registers(target, lane, warp) ^ first_flat)) return "a register gets the wrong element";
          }
    }
  return "";
}

/// The wavefronts of a warp's accesses, by vectors of this many elements.
int wavefronts(const LinearLayout& registers, const LinearLayout& memory, int bytes, int log2_vector) {
  const SharedAccesses a = shared_accesses(registers, memory, log2_vector);
  return shared_wavefronts(a.warp_offset(5), bytes, log2_vector);
}

/// The error of reading with ordinary loads, as text.
std::string wrong_with_vectors(const LinearLayout& registers, const LinearLayout& memory, int bytes) {
  const int log2_vector = log2_shared_vector(registers, memory, bytes);
  const SharedAccesses a = shared_accesses(registers, memory, log2_vector);
  const std::uint32_t in_vector = (1u << log2_vector) - 1;
  for (std::uint32_t warp = 0; warp < registers.size(HardwareDim::warp); ++warp)
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t r = 0; r < registers.size(HardwareDim::reg); ++r) {
        const std::uint32_t start = a.thread_offset(lane | warp << 5) ^ a.offsets[a.positions[r] >> log2_vector];
        if ((start & in_vector) != 0) return "a vector is not aligned";
        if (memory.apply(HardwareDim::offset, start + (a.positions[r] & in_vector)) != registers(r, lane, warp))
          return "a register gets the wrong element";
      }
  return "";
}

/// All operands of all instructions, in many sizes and by many warps.
template <class F>
void for_each_operand(F&& visit) {
  for (int row = 0; row < static_cast<int>(mma_instructions().size()); ++row)
    for (int i : {0, 1})
      for (int log2_outer : {3, 4, 5, 6, 7})
        for (int log2_k : {3, 4, 5, 6})
          for (const std::vector<std::int64_t>& warps : {std::vector<std::int64_t>{1, 1}, {2, 2}, {4, 1}})
            visit(operand(row, i, log2_outer, log2_k, warps));
}

/// The order in which `moved` register bits come before `lanes` lane bits, behind `packed` bits.
std::vector<std::int64_t> moved_order(int packed, int lanes, int moved) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < packed; ++i) order.push_back(i);
  for (int i = 0; i < lanes; ++i) order.push_back(packed + moved + i);
  for (int i = 0; i < moved; ++i) order.push_back(packed + i);
  return order;
}

/// Operands in orders other than the instruction's, of the outer axis and of K.
template <class F>
void for_each_ordered_operand(F&& visit) {
  for (int row = 0; row < static_cast<int>(mma_instructions().size()); ++row)
    for (int i : {0, 1})
      for (int outer : {0, 1, 2})
        for (int k : {0, 1, 2})
          for (bool swapped : {false, true}) {
            const MatrixInstruction& instruction = mma_instructions()[static_cast<std::size_t>(row)];
            MmaOrder order{swapped, {}, {}, {}};
            if (outer > 0) (i == 0 ? order.rows : order.columns) = moved_order(0, 3, outer);
            if (k > 0)
              order.k = moved_order(std::max(5 - (bytes(instruction.factors) == 1 ? 3 : bytes(instruction.factors) == 2 ? 4 : 5), 0), 2, k);
            visit(operand(row, i, 6, 6, {2, 2}, order), outer, k, swapped, instruction);
          }
}

/// Threads that have vectors of 16 bytes along an axis, as a load of a matrix that is contiguous along it.
LinearLayout writer(const Operand& o, int along, int log2_warps) {
  const std::array order{along, 1 - along};
  int log2_vector = 0;
  while (o.bytes << log2_vector < 16) ++log2_vector;
  return blocked_layout(o.layout.log2_extents(), log2_vector, order, log2_warps);
}

/// The slices of K that mma reads, as promote_to_shared makes them: calls visit(layout in the buffer's coordinates, flat index of the
/// first).
template <class F>
void for_each_slice(const Operand& o, F&& visit) {
  std::vector<int> extents = o.layout.log2_extents();
  int& k = extents[static_cast<std::size_t>(o.k_axis)];
  const int log2_slices = std::max(k - o.log2_k, 0);
  k -= log2_slices;
  const int log2_k = k;
  const auto part = part_of_layout(o.layout, extents);
  REQUIRE(part);
  for (std::uint32_t s = 0; s < 1u << log2_slices; ++s) visit(in_buffer(*part, o.layout), s << (o.layout.axis_shift(o.k_axis) + log2_k));
}

}  // namespace

TEST_CASE("buffer_plan: ldmatrix gives each register its element, without bank conflicts") {
  int by_ldmatrix = 0, transposed = 0;
  for_each_operand([&](const Operand& o) {
    for (int along : {0, 1}) {
      const LinearLayout from = writer(o, along, o.layout.bits(HardwareDim::warp));
      const LinearLayout memory = buffer_layout(from, o.layout, o.bytes);
      CAPTURE(o.name);
      CAPTURE(along);
      CAPTURE(text(memory));
      CHECK(memory.is_injective());
      CHECK(memory.is_surjective());
      for_each_slice(o, [&](const LinearLayout& registers, std::uint32_t first) {
        const auto plan = plan_matrix_load(registers, memory, o.bytes);
        if (!plan) return;
        ++by_ldmatrix;
        transposed += plan->transposes;
        CHECK(wrong_with_ldmatrix(registers, memory, o.bytes, first, *plan) == "");
      });
    }
  });
  CHECK(by_ldmatrix > 1000);
  CHECK(transposed > 300);
}

TEST_CASE("buffer_plan: operands of 16 bits are read by ldmatrix along either axis, of 8 bits and of f32 along K") {
  for_each_operand([&](const Operand& o) {
    // Rows of a matrix have 16 bytes.
    if (o.bytes << o.layout.log2_extents()[0] < 16 || o.bytes << o.layout.log2_extents()[1] < 16 ||
        o.layout.log2_extents()[o.k_axis] < o.log2_k)
      return;
    if (o.layout.log2_extents()[1 - o.k_axis] < 3) return;
    for (int along : {0, 1}) {
      const LinearLayout memory = buffer_layout(writer(o, along, o.layout.bits(HardwareDim::warp)), o.layout, o.bytes);
      CAPTURE(o.name);
      CAPTURE(along);
      for_each_slice(o, [&](const LinearLayout& registers, std::uint32_t) {
        const auto plan = plan_matrix_load(registers, memory, o.bytes);
        const bool fits = o.bytes == 2 || (o.bytes < 8 && along == o.k_axis);
        CHECK(plan.has_value() == fits);
        if (plan) {
          const bool across = along != o.k_axis;
          CHECK(plan->transposes == across);
        }
      });
    }
  });
}

TEST_CASE("buffer_plan: in every order each register gets its element, and ldmatrix has no bank conflicts") {
  int in_pairs = 0, by_vectors = 0;
  for_each_ordered_operand([&](const Operand& o, int, int, bool, const MatrixInstruction&) {
    for (int along : {0, 1}) {
      const LinearLayout memory = buffer_layout(writer(o, along, 2), o.layout, o.bytes);
      CAPTURE(o.name);
      CAPTURE(along);
      CAPTURE(text(memory));
      REQUIRE(memory.is_injective());
      REQUIRE(memory.is_surjective());
      for_each_slice(o, [&](const LinearLayout& registers, std::uint32_t first) {
        if (const auto plan = plan_matrix_load(registers, memory, o.bytes)) {
          in_pairs += plan->pair >= 0;
          CHECK(wrong_with_ldmatrix(registers, memory, o.bytes, first, *plan) == "");
        } else {
          ++by_vectors;
          CHECK(wrong_with_vectors(registers.without_free_registers(), memory, o.bytes) == "");
        }
      });
    }
  });
  CHECK(in_pairs > 20);
  CHECK(by_vectors > 100);
}

TEST_CASE("buffer_plan: bytes are transposed in pairs, f32 and f64 are read in vectors of 16 bytes, all without bank conflicts") {
  const auto check = [](const Operand& o, int along) {
    const LinearLayout memory = buffer_layout(writer(o, along, 2), o.layout, o.bytes);
    CAPTURE(o.name);
    CAPTURE(text(memory));
    for_each_slice(o, [&](const LinearLayout& registers, std::uint32_t) {
      if (o.bytes == 1) {
        const auto plan = plan_matrix_load(registers, memory, 1);
        REQUIRE(plan);
        CHECK(plan->transposes);
        CHECK(plan->pair >= 0);
        CHECK(plan->matrices.size() == 2);
        return;
      }
      const LinearLayout stored = registers.without_free_registers();
      const int log2_vector = log2_shared_vector(stored, memory, o.bytes);
      CHECK((o.bytes << log2_vector) == 16);
      CHECK(wavefronts(stored, memory, o.bytes, log2_vector) == least_wavefronts(o.bytes, log2_vector));
    });
  };
  for_each_ordered_operand([&](const Operand& o, int outer, int k, bool, const MatrixInstruction&) {
    // The bits that make a vector of 16 bytes, or pairs of bytes, along the outer axis; f64 along K.
    const int full = o.bytes == 1 ? 1 : o.bytes == 4 ? 2 : o.bytes == 8 ? 1 : 0;
    if (full == 0) return;
    if (outer == full && (k == 0 || o.bytes == 8)) check(o, 1 - o.k_axis);
    if (k == full && outer == 0 && o.bytes == 8) check(o, o.k_axis);
  });
}

TEST_CASE("read_cost: ldmatrix, pairs with an exchange of bytes, vectors, single bytes") {
  const auto cost = [](int row, int outer, int along, bool in_place = false) {
    const Operand o = operand(row, 1, 6, 5, {1, 1}, {false, {}, outer ? moved_order(0, 3, outer) : std::vector<std::int64_t>{}, {}});
    return read_cost(o.layout, along, o.bytes, in_place);
  };
  const auto row_of = [](std::string_view name) {
    for (int i = 0;; ++i)
      if (mma_instructions()[static_cast<std::size_t>(i)].name == name) return i;
  };
  const int i8 = row_of("m16n8k32_i8"), tf32 = row_of("m16n8k8_tf32"), f16 = row_of("m16n8k16_f16");
  // 64 columns of 32 of K: 64 elements a thread.
  CHECK(cost(f16, 0, 0) == 8);
  CHECK(cost(f16, 0, 1) == 8);
  CHECK(cost(i8, 0, 0) == 4);
  CHECK(cost(i8, 1, 1) == 4 + 16);
  CHECK(cost(i8, 0, 1) > 64);
  CHECK(cost(tf32, 0, 0) == 16);
  CHECK(cost(tf32, 0, 1) == 64);
  CHECK(cost(tf32, 1, 1) == 32);
  CHECK(cost(tf32, 2, 1) == 16);
  // Words in place: the registers of b that are neighbours in the instruction are along K.
  CHECK(cost(tf32, 0, 1, true) == 64);
  CHECK(cost(tf32, 1, 1, true) == 32 + 64);
}

TEST_CASE("buffer_plan: cp.async writes vectors of 16 bytes without bank conflicts to what ldmatrix reads") {
  for_each_operand([&](const Operand& o) {
    for (int along : {0, 1}) {
      const LinearLayout from = writer(o, along, o.layout.bits(HardwareDim::warp));
      const LinearLayout memory = buffer_layout(from, o.layout, o.bytes);
      if (!plan_matrix_load(o.layout, memory, o.bytes)) continue;
      const LinearLayout stored = from.without_free_registers();
      const int log2_vector = log2_shared_vector(stored, memory, o.bytes);
      std::vector<int> bits;  // the lowest registers: neighbours in global memory
      for (int i = 0; i < stored.bits(HardwareDim::reg) &&
                      stored.bases(HardwareDim::reg)[static_cast<std::size_t>(i)] == 1u << (stored.axis_shift(along) + i);
           ++i)
        bits.push_back(i);
      CAPTURE(o.name);
      CAPTURE(along);
      CAPTURE(text(from));
      CAPTURE(text(memory));
      CHECK(log2_copy_vector(stored, memory, o.bytes, bits) == log2_vector);
      CHECK((o.bytes << log2_vector) == 16);
      CHECK(wavefronts(stored, memory, o.bytes, log2_vector) == least_wavefronts(o.bytes, log2_vector));
    }
  });
}

TEST_CASE("buffer_plan: what ldmatrix cannot read, ordinary loads do") {
  int others = 0;
  for_each_operand([&](const Operand& o) {
    for (int along : {0, 1}) {
      const LinearLayout from = writer(o, along, o.layout.bits(HardwareDim::warp));
      const LinearLayout memory = buffer_layout(from, o.layout, o.bytes);
      CAPTURE(o.name);
      CHECK(wrong_with_vectors(from.without_free_registers(), memory, o.bytes) == "");
      if (plan_matrix_load(o.layout, memory, o.bytes)) continue;
      ++others;
      CHECK(wrong_with_vectors(o.layout.without_free_registers(), memory, o.bytes) == "");
    }
  });
  CHECK(others > 300);
}
