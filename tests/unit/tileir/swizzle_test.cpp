// Swizzled tiles in shared memory: each load gets its element, without bank conflicts.
#include "tileir/layout/swizzle.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tests/unit/tileir/random_layouts.h"

namespace tilewright::ir {
namespace {

using test::RandomLayouts;

/// Bank conflicts counted as the hardware meets them: lane by lane, byte by byte.
int count_wavefronts(const std::vector<std::uint32_t>& offset_of_lane, int element_bytes, int log2_vector, std::uint32_t idle_lanes = 0) {
  const int bytes = element_bytes << log2_vector;
  const int together = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8, lanes = static_cast<int>(offset_of_lane.size());
  int wavefronts = 0;
  for (int first = 0; first < lanes; first += together) {
    std::map<std::uint32_t, std::set<std::uint32_t>> words;  // by bank
    for (int lane = first; lane < std::min(first + together, lanes); ++lane)
      for (int byte = 0; byte < bytes && (static_cast<std::uint32_t>(lane) & idle_lanes) == 0; ++byte) {
        const std::uint32_t word = (offset_of_lane[static_cast<std::size_t>(lane)] * static_cast<std::uint32_t>(element_bytes) +
                                    static_cast<std::uint32_t>(byte)) /
                                   4;
        words[word % 32].insert(word);
      }
    std::size_t most = 1;
    for (const auto& [bank, w] : words) most = std::max(most, w.size());
    wavefronts += static_cast<int>(most);
  }
  return wavefronts;
}

std::vector<std::uint32_t> lane_offsets(const SharedAccesses& a, int log2_lanes) {
  std::vector<std::uint32_t> offsets;
  for (std::uint32_t lane = 0; lane < 1u << log2_lanes; ++lane) offsets.push_back(a.thread_offset(lane));
  return offsets;
}

/// Plays a conversion through shared memory by the plan, and says what goes wrong.
std::string wrong_with(const LinearLayout& source, const LinearLayout& destination, int element_bytes) {
  const SharedPlan plan = plan_swizzle(source, destination, element_bytes);
  if (!plan.shared.is_injective() || !plan.shared.is_surjective()) return "shared memory does not hold each element once";
  const SharedAccesses store = shared_accesses(source, plan.shared, plan.log2_store_vector);
  const SharedAccesses load = shared_accesses(destination, plan.shared, plan.log2_load_vector);
  const auto check_vectors = [&](const SharedAccesses& a, std::uint32_t thread) {
    return (a.thread_offset(thread) & ((1u << a.log2_vector) - 1)) == 0;
  };
  std::vector<std::int64_t> memory(std::size_t{1} << source.log2_elements(), -1);
  const std::uint32_t idle_lanes = source.free_bits(HardwareDim::lane), idle_warps = source.free_bits(HardwareDim::warp);
  const auto element = [](const SharedAccesses& a, std::uint32_t thread, std::uint32_t r) {
    const std::uint32_t place = a.positions[r], in_vector = (1u << a.log2_vector) - 1;
    return (a.thread_offset(thread) ^ a.offsets[place >> a.log2_vector]) + (place & in_vector);
  };
  for (std::uint32_t warp = 0; warp < source.size(HardwareDim::warp); ++warp)
    for (std::uint32_t lane = 0; lane < source.size(HardwareDim::lane); ++lane) {
      if ((lane & idle_lanes) != 0 || (warp & idle_warps) != 0) continue;
      const std::uint32_t thread = warp << source.bits(HardwareDim::lane) | lane;
      if (!check_vectors(store, thread)) return "a store is out of line";
      for (std::uint32_t r = 0; r < source.size(HardwareDim::reg); ++r) memory[element(store, thread, r)] = source(r, lane, warp);
    }
  for (std::uint32_t warp = 0; warp < destination.size(HardwareDim::warp); ++warp)
    for (std::uint32_t lane = 0; lane < destination.size(HardwareDim::lane); ++lane) {
      const std::uint32_t thread = warp << destination.bits(HardwareDim::lane) | lane;
      if (!check_vectors(load, thread)) return "a load is out of line";
      for (std::uint32_t r = 0; r < destination.size(HardwareDim::reg); ++r)
        if (memory[element(load, thread, r)] != destination(r, lane, warp)) return "the wrong element arrives";
    }
  // Warps and further registers add a constant to the offsets: conflicts are those of the first access of the first warp.
  for (const bool stores : {true, false}) {
    const SharedAccesses& a = stores ? store : load;
    const int lanes = (stores ? source : destination).bits(HardwareDim::lane);
    const std::uint32_t idle = stores ? idle_lanes : 0;
    const int found = shared_wavefronts(a.warp_offset(lanes, idle), element_bytes, a.log2_vector);
    if (found != count_wavefronts(lane_offsets(a, lanes), element_bytes, a.log2_vector, idle)) return "wavefronts are counted wrongly";
    if (found != least_wavefronts(element_bytes, a.log2_vector, lanes))
      return fmt::format("{} of {} elements a lane take {} wavefronts", stores ? "stores" : "loads", 1 << a.log2_vector, found);
  }
  return "";
}

void check_pairs(std::uint32_t seed, int pairs) {
  RandomLayouts random(seed);
  for (int i = 0; i < pairs; ++i) {
    const std::vector<int> extents = random.extents(0, 13);
    const int warps = random.number(0, 3);
    const LinearLayout source = random.any(extents, warps), destination = random.any(extents, warps);
    for (const int bytes : {1, 2, 4, 8}) {
      const std::string wrong = wrong_with(source, destination, bytes);
      CAPTURE(seed);
      CAPTURE(fmt::format("extents {}", fmt::join(extents, " ")));
      CAPTURE(text(source));
      CAPTURE(text(destination));
      CAPTURE(bytes);
      REQUIRE(wrong == "");
    }
  }
}

TEST_CASE("swizzle: of 1,000 random pairs of layouts the right elements arrive without bank conflicts") { check_pairs(20, 1000); }

TEST_CASE("swizzle: of random pairs that were never tried the right elements arrive without bank conflicts") {
  check_pairs(std::random_device()(), 200);
}

LinearLayout rows(int log2_vector) { return blocked_layout({6, 6}, log2_vector, std::array{1, 0}, 2); }
LinearLayout columns(int log2_vector) { return blocked_layout({6, 6}, log2_vector, std::array{0, 1}, 2); }

TEST_CASE("swizzle: vectors are as wide as both sides allow") {
  for (const auto& [bytes, log2_vector] : {std::pair(1, 4), {2, 3}, {4, 2}, {8, 1}}) {
    const SharedPlan plan = plan_swizzle(rows(4), blocked_layout({6, 6}, 4, std::array{1, 0}, 1), bytes);
    CHECK(plan.log2_store_vector == log2_vector);
    CHECK(plan.log2_load_vector == log2_vector);
  }
}

TEST_CASE("swizzle: a transpose has wide vectors on one side") {
  const SharedPlan plan = plan_swizzle(rows(2), columns(2), 4);
  CHECK(std::min(plan.log2_store_vector, plan.log2_load_vector) == 0);
  CHECK(std::max(plan.log2_store_vector, plan.log2_load_vector) == 2);
}

TEST_CASE("swizzle: vectors are wide on one side where that takes more than units: bases of several bits, copies that do not store") {
  const auto vectors = [](int log2_elements, int bytes, std::string_view from, std::string_view to) {
    std::string error;
    const LinearLayout source = *parse_layout(from, {log2_elements}, error), destination = *parse_layout(to, {log2_elements}, error);
    CHECK(wrong_with(source, destination, bytes) == "");
    const SharedPlan plan = plan_swizzle(source, destination, bytes);
    return std::pair(plan.log2_store_vector, plan.log2_load_vector);
  };
  CHECK(vectors(6, 4, "{register = [[32]], lane = [[1], [2], [4], [8], [16]]}",
                "{register = [[5], [47], [49]], lane = [[28], [0], [18], [0], [6]]}") == std::pair(0, 2));
  CHECK(vectors(5, 8, "{register = [[31], [2]], lane = [[9], [0], [14], [15], [5]]}", "{lane = [[1], [2], [4], [8], [16]]}") ==
        std::pair(1, 0));
  CHECK(vectors(4, 4, "{register = [[3]], lane = [[4], [1], [15], [2], [0]]}", "{lane = [[1], [2], [4], [8], [0]]}") == std::pair(1, 0));
}

TEST_CASE("swizzle: where registers have nothing in common, as the two sides of 32 x 32 by lanes, words go to banks of their own") {
  LinearLayout by_row({5, 5}), by_column({5, 5});
  for (std::uint32_t i = 0; i < 5; ++i) {
    by_row.add_basis(HardwareDim::lane, 1u << i);
    by_row.add_basis(HardwareDim::reg, 32u << i);
    by_column.add_basis(HardwareDim::lane, 32u << i);
    by_column.add_basis(HardwareDim::reg, 1u << i);
  }
  CHECK(wrong_with(by_row, by_column, 4) == "");
  // Row after row, a column is one bank.
  LinearLayout plain({5, 5});
  for (std::uint32_t i = 0; i < 10; ++i) plain.add_basis(HardwareDim::offset, 1u << i);
  CHECK(shared_wavefronts(shared_accesses(by_column, plain, 0).warp_offset(5), 4, 0) == 32);
  CHECK(shared_wavefronts(shared_accesses(by_row, plain, 0).warp_offset(5), 4, 0) == 1);
}

TEST_CASE("wavefronts: what the banks make of known strides") {
  const auto stride = [](std::uint32_t elements, int bytes, int log2_vector) {
    F2Matrix m = identity_matrix(log2_vector);
    for (int i = 0; i < 5; ++i) m.columns.push_back(elements << i);
    return shared_wavefronts(m, bytes, log2_vector);
  };
  CHECK(stride(1, 4, 0) == 1);
  CHECK(stride(2, 4, 0) == 2);
  CHECK(stride(32, 4, 0) == 32);
  CHECK(stride(0, 4, 0) == 1);  // one word for all
  CHECK(stride(1, 1, 0) == 1);  // four lanes a word
  CHECK(stride(64, 2, 0) == 32);
  CHECK(stride(4, 4, 2) == 4);
  CHECK(stride(8, 4, 2) == 8);
  CHECK(stride(1, 8, 0) == 2);
  CHECK(stride(16, 8, 0) == 32);
}

TEST_CASE("wavefronts: random accesses, counted bank by bank") {
  RandomLayouts random(7);
  for (int i = 0; i < 2000; ++i) {
    const int log2_bytes = random.number(0, 3), log2_vector = random.number(0, 4 - log2_bytes);
    SharedAccesses a{log2_vector, {}, {}, {}};
    for (int lane = 0; lane < 5; ++lane)
      a.thread_offset.columns.push_back(static_cast<std::uint32_t>(random.number(0, 1023)) << log2_vector);
    CHECK(shared_wavefronts(a.warp_offset(5), 1 << log2_bytes, log2_vector) ==
          count_wavefronts(lane_offsets(a, 5), 1 << log2_bytes, log2_vector));
  }
}

}  // namespace
}  // namespace tilewright::ir
