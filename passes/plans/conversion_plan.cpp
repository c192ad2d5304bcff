// Finds routes within a warp by linear algebra, and compares their cost with that of shared memory.
//
//  1. source_in_warp: for each register of the destination, the lane and register that hold its element.
//  2. rounds_that_keep_lanes, rounds_that_ask_once: two assignments of elements to rounds such that each lane sends one element in a round.
//  3. route: the selects before and after the rounds that follow from the assignment.
//  4. plan_conversion: the cheaper route, or shared memory.
#include "passes/plans/conversion_plan.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::passes {

using ir::F2Matrix;
using ir::F2Span;
using ir::HardwareDim;
using ir::LinearLayout;

namespace {

/// The register that holds the receiver's element is register(r) ^ register(thread) ^ constant; the lane has the same form.
struct Source {
  F2Matrix register_by_register, register_by_thread, lane_by_register, lane_by_thread;
  std::uint32_t register_constant = 0, lane_constant = 0;
  int lanes = 0;  // log2
};

/// The source coordinate of a flat index, without warp bits if possible, and without lane bits if possible.
std::uint32_t nearest(const LinearLayout& l, std::uint32_t flat) {
  for (const int dims : {1, 2, 3}) {
    F2Matrix m;
    for (int d = 0; d < dims; ++d) {
      const auto& bases = l.bases(HardwareDim(d));
      m.columns.insert(m.columns.end(), bases.begin(), bases.end());
    }
    if (const auto x = m.solve(flat)) return *x;
  }
  TW_UNREACHABLE("the source of a conversion holds every element");
}

/// None if an element comes from another warp.
std::optional<Source> source_in_warp(const LinearLayout& from, const LinearLayout& to, std::uint32_t flip) {
  const int registers = from.bits(HardwareDim::reg), lanes = from.bits(HardwareDim::lane), warps = to.bits(HardwareDim::warp);
  TW_CHECK(lanes == to.bits(HardwareDim::lane) && warps == from.bits(HardwareDim::warp), "both layouts are of one program's threads");
  const F2Matrix m = ir::nearest_conversion(from, to);
  const std::uint32_t register_mask = (1u << registers) - 1, lane_mask = (1u << lanes) - 1, constant = nearest(from, flip);
  Source s;
  s.lanes = lanes;
  if (constant >> (registers + lanes) != 0) return std::nullopt;
  s.register_constant = constant & register_mask;
  s.lane_constant = constant >> registers & lane_mask;
  for (int i = 0; i < m.width(); ++i) {
    const std::uint32_t column = m.columns[static_cast<std::size_t>(i)];
    const int thread_bit = i - to.bits(HardwareDim::reg);
    const std::uint32_t own_warp = thread_bit >= lanes ? 1u << (thread_bit - lanes) : 0;
    if (column >> (registers + lanes) != own_warp) return std::nullopt;
    (thread_bit < 0 ? s.register_by_register : s.register_by_thread).columns.push_back(column & register_mask);
    (thread_bit < 0 ? s.lane_by_register : s.lane_by_thread).columns.push_back(column >> registers & lane_mask);
  }
  return s;
}

F2Matrix sum(const F2Matrix& a, const F2Matrix& b) {
  F2Matrix m = a;
  for (std::size_t i = 0; i < std::min(a.columns.size(), b.columns.size()); ++i) m.columns[i] ^= b.columns[i];
  return m;
}

/// The columns of a matrix that belong to lane bits.
F2Matrix of_lanes(const Source& s, const F2Matrix& by_thread) { return {{by_thread.columns.begin(), by_thread.columns.begin() + s.lanes}}; }

/// The round in which a lane receives register 0, as a map of its number, such that no round permutes lanes differently; none if
/// impossible.
std::optional<F2Matrix> rounds_that_keep_lanes(const Source& s) {
  F2Matrix missing = of_lanes(s, s.lane_by_thread);
  for (int i = 0; i < s.lanes; ++i) missing.columns[static_cast<std::size_t>(i)] ^= 1u << i;
  return s.lane_by_register.solve(missing);
}

/// As above, but each lane sends only one element in a round. Several lanes may receive the same element.
std::optional<F2Matrix> rounds_that_ask_once(const Source& s) {
  const F2Matrix by_lane = of_lanes(s, s.lane_by_thread), registers = of_lanes(s, s.register_by_thread);
  F2Matrix after{std::vector<std::uint32_t>(static_cast<std::size_t>(s.lanes))};
  F2Span asked;  // an input is the set of receiving lanes
  std::vector<int> again;
  for (int i = 0; i < s.lanes; ++i)
    if (!asked.insert(by_lane.columns[static_cast<std::size_t>(i)], 1u << i)) again.push_back(i);
  for (const int i : again) {
    const auto at = static_cast<std::size_t>(i);
    const std::uint32_t others = asked.reduce(by_lane.columns[at]).inputs, askers = others | 1u << i;
    const std::uint32_t differ = registers(askers) ^ s.register_by_register(after(askers));
    if (differ == 0) continue;
    bool found = false;
    for (int r = 0; r < s.lane_by_register.width() && !found; ++r) {
      if (!asked.insert(by_lane.columns[at] ^ s.lane_by_register.columns[static_cast<std::size_t>(r)], 1u << i)) continue;
      after.columns[at] = 1u << r;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  return after;
}

/// The route for an assignment of elements to rounds.
WarpRoute route(const Source& s, const F2Matrix& after) {
  WarpRoute result;
  result.after = after;
  result.lane = sum(s.lane_by_thread, ir::compose(s.lane_by_register, after));
  const F2Matrix by_lane = of_lanes(s, result.lane), asked = sum(s.register_by_thread, ir::compose(s.register_by_register, after));
  result.keeps_lanes =
      by_lane == ir::identity_matrix(s.lanes) &&
      std::all_of(result.lane.columns.begin() + s.lanes, result.lane.columns.end(), [](std::uint32_t c) { return c == 0; });
  // The map from a sending lane to a lane that receives from it: a right inverse on the sending lanes, extended to a linear map.
  F2Span span;
  for (int i = 0; i < s.lanes; ++i) span.insert(by_lane.columns[static_cast<std::size_t>(i)], 1u << i);
  F2Matrix asker;
  for (int i = 0; i < s.lanes; ++i) {
    const F2Span::Remainder r = span.reduce(1u << i);
    // A lane that sends nothing maps to 0; it joins the span so that the map stays linear.
    if (r.value != 0) span.insert(1u << i, 0);
    asker.columns.push_back(span.reduce(1u << i).inputs);
  }
  const F2Matrix register_of_asked = ir::compose(of_lanes(s, asked), asker);
  result.before = register_of_asked;
  for (std::size_t i = static_cast<std::size_t>(s.lanes); i < asked.columns.size(); ++i)
    result.before.columns.push_back(asked.columns[i] ^ register_of_asked(result.lane.columns[i]));
  for (std::uint32_t j = 0; j < 1u << s.register_by_register.width(); ++j) {
    const std::uint32_t lane = s.lane_by_register(j) ^ s.lane_constant;
    result.rounds.push_back({s.register_by_register(j) ^ s.register_constant ^ register_of_asked(lane), lane});
  }
  return result;
}

// Costs: a shuffle and an access of shared memory each move one word for each lane in a cycle; a select takes half a cycle.

int cost(const WarpRoute& result, int source_registers, int element_bytes) {
  std::vector<std::uint32_t> lanes;
  for (const WarpRoute::Round& r : result.rounds)
    if (!result.keeps_lanes || r.source_lane != 0) lanes.push_back(r.source_lane);
  std::sort(lanes.begin(), lanes.end());
  int shuffles = 0;
  for (std::size_t first = 0, end; first < lanes.size(); first = end) {
    for (end = first; end < lanes.size() && lanes[end] == lanes[first];) ++end;
    shuffles += std::max(static_cast<int>(end - first) * element_bytes / 4, 1);
  }
  const int words = std::max(element_bytes / 4, 1);
  const int selects = (source_registers * result.before.rank() + static_cast<int>(result.rounds.size()) * result.after.rank()) * words;
  return shuffles + selects / 2;
}

int shared_cost(int source_registers, int registers, int element_bytes) {
  constexpr int kLatency = 12;  // the latency of barrier, store and load, in shuffles that could be issued in that time
  return kLatency + std::max(source_registers * element_bytes / 4, 1) + std::max(registers * element_bytes / 4, 1);
}

}  // namespace

bool WarpRoute::is_renaming() const {
  return keeps_lanes && before.rank() == 0 && after.rank() == 0 &&
         std::all_of(rounds.begin(), rounds.end(), [](const Round& r) { return r.source_lane == 0; });
}

Conversion plan_conversion(const LinearLayout& from, const LinearLayout& to, int element_bytes, std::uint32_t flip) {
  const std::optional<Source> source = source_in_warp(from, to, flip);
  Conversion plan;
  // If several warps hold copies, only one of them stores.
  plan.crosses_warps = !source || from.free_bits(HardwareDim::warp) != 0;
  if (!source) return plan;
  const int source_registers = static_cast<int>(from.size(HardwareDim::reg)), registers = static_cast<int>(to.size(HardwareDim::reg));
  int least = 0;
  for (const auto& after : {rounds_that_keep_lanes(*source), rounds_that_ask_once(*source)}) {
    if (!after) continue;
    WarpRoute result = route(*source, *after);
    const int c = cost(result, source_registers, element_bytes);
    if (plan.route && c >= least) continue;
    least = c;
    plan.route = std::move(result);
  }
  if (plan.route && least > shared_cost(source_registers, registers, element_bytes)) plan.route.reset();
  return plan;
}

}  // namespace tilewright::passes
