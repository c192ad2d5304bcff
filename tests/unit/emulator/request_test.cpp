// Race checks of a whole warp's request at once give the same reports as checks lane by lane.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>
#include <sstream>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u32 kThreads = 64, kBlocks = 2, kBytes = 2048;

/// One step that all warps do in turn, and the byte of memory that each thread accesses.
struct Step {
  std::string opcode;
  int bytes = 4;
  bool is_load = true, is_strong = false;
  std::string after;
  std::vector<u32> offsets;
};

Step draw(std::mt19937& random, const std::string& space, bool shares, bool is_first) {
  const auto one_of = [&](auto... options) { return std::array{options...}[random() % sizeof...(options)]; };
  Step step;
  step.bytes = one_of(4, 8, 16);
  step.is_load = random() % 2 != 0;
  const char* const vector = step.bytes == 4 ? "" : step.bytes == 8 ? ".v2" : ".v4";
  // Many strong loads look like polling, which makes other warps' turns come sooner.
  const std::string order = step.is_load && !is_first ? "" : one_of("", "", ".relaxed.cta", ".relaxed.gpu");
  step.is_strong = !order.empty();
  step.opcode = fmt::format("{}{}.{}{}.u32", step.is_load ? "ld" : "st", order, space, vector);
  const u32 units = kBytes / static_cast<u32>(step.bytes);
  // Lanes that write the same word would show the order of the lanes.
  const u32 pattern = random() % (step.is_load && shares ? 7 : 4);
  for (u32 warp = 0; warp < kBlocks * kThreads / kLanes; ++warp) {
    const u32 first = random() % 3 != 0 ? 32 * (random() % 2 + warp % 2) : random() % units;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 by_pattern[] = {lane, lane / 4 * 8 + lane % 4, 2 * lane, lane ^ 1, lane / 2, lane / 8, 0};
      step.offsets.push_back((first + by_pattern[pattern]) % units * static_cast<u32>(step.bytes));
    }
  }
  step.after = one_of("", "", "", "bar.warp.sync -1;", "bar.sync 0;");
  return step;
}

using Found = std::map<std::pair<int, DiagnosticKind>, u64>;

/// The number of reports of each kind (races, reads of unwritten memory) for each step. A step is 1, 2 or 32 requests of a warp: one of
/// all lanes, one of the even lanes and one of the odd ones, or one of each lane.
Found found_in(const std::vector<Step>& steps, u32 requests) {
  std::string body = fmt::format(R"(
    .shared .align 128 .b8 tile[2048];
    ld.param.u64 %d0, [offsets];
    ld.param.u64 %d1, [p];
    mov.u64 %d2, tile;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r1, %r1, 64, %r0;
    mul.wide.u32 %d3, %r1, 4;
    add.u64 %d0, %d0, %d3;
    and.b32 %r2, %r0, {};
  )",
                                 requests - 1);
  std::vector<u32> offsets;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const Step& step = steps[k];
    const std::string values = step.bytes == 4 ? "%r4" : step.bytes == 8 ? "{%r4, %r5}" : "{%r4, %r5, %r6, %r7}";
    const std::string access =
        step.opcode + (step.is_load ? fmt::format(" {}, [%d4]; // {}\n", values, k) : fmt::format(" [%d4], {}; // {}\n", values, k));
    body += fmt::format("ld.global.u32 %r3, [%d0+{}];\ncvt.u64.u32 %d4, %r3;\n", offsets.size() * 4);
    body += fmt::format("add.u64 %d4, %d4, {};\n", step.opcode.find("shared") != std::string::npos ? "%d2" : "%d1");
    // Writing the same value again would not be a race.
    for (int r = 4; r < 8; ++r) body += fmt::format("mad.lo.u32 %r{}, %r1, 100000, {};\n", r, 10 * k + static_cast<std::size_t>(r));
    for (u32 request = 0; request < requests; ++request) body += fmt::format("setp.eq.u32 %p1, %r2, {};\n@%p1 {}", request, access);
    body += step.after + "\n";
    offsets.insert(offsets.end(), step.offsets.begin(), step.offsets.end());
  }
  const std::string text = module_of(".param .u64 offsets, .param .u64 p", body);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);

  Bench bench(text);
  const Array<u32> table(bench.memory, offsets);
  const Array<u32> memory(bench.memory, kBytes / 4, 0);
  Params params;
  bench.run("k", {kBlocks, 1, 1}, {kThreads, 1, 1}, params.add(table.address()).add(memory.address()));
  Found found;
  for (const Diagnostic& diagnostic : bench.diagnostics.list()) {
    REQUIRE((diagnostic.kind == DiagnosticKind::race || diagnostic.kind == DiagnosticKind::uninitialized));
    const std::string& line = lines.at(static_cast<std::size_t>(diagnostic.ptx_line - 1));
    found[{std::stoi(line.substr(line.find("//") + 2)), diagnostic.kind}] += diagnostic.count;
  }
  return found;
}

}  // namespace

TEST_CASE("emulator requests: whole warps find what their lanes find one after the other") {
  std::mt19937 random(11);
  int with = 0, without = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string space = round % 2 == 0 ? "global" : "shared";
    // If lanes read one granule of shared memory in one request, at most two of them report.
    const bool shares = round % 4 != 3;
    std::vector<Step> steps;
    for (u32 k = 0; k < 2 + random() % 6; ++k) steps.push_back(draw(random, space, shares, k == 0));
    // Polls of all lanes, one after the other, would change the order of warps.
    const bool polls = steps[0].is_load && steps[0].is_strong;
    Found found = found_in(steps, 1), by_halves = found_in(steps, 2), by_lanes = found_in(steps, polls ? 2 : 32);
    if (space == "shared" && shares)
      for (Found* const each : {&found, &by_halves, &by_lanes})
        for (auto& [step, count] : *each) count = 1;
    INFO("round ", round);
    CHECK(found == by_halves);
    CHECK(found == by_lanes);
    ++(found.empty() ? without : with);
  }
  CHECK(with > 50);
  CHECK(without > 20);
}

}  // namespace tilewright::rt::emulator
