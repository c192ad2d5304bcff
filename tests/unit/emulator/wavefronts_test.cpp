// Wavefronts of shared memory as a GPU counts them: tests/ptx/shared_wavefronts_h100.txt, request by request.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "runtime/emulator/cost/counters.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

struct Request {
  bool is_store = false;
  int bytes = 0;
  u64 wavefronts = 0;
  std::vector<s32> at;  // -1: not accessed
};

std::vector<Request> measured() {
  std::vector<Request> requests;
  std::istringstream lines(ptx_file("shared_wavefronts_h100.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    Request r;
    std::string kind;
    words >> kind >> r.bytes >> r.wavefronts;
    r.is_store = kind == "st";
    for (std::string at; words >> at;) r.at.push_back(at == "-" ? -1 : std::stoi(at));
    REQUIRE(r.at.size() == 32);
    requests.push_back(std::move(r));
  }
  return requests;
}

std::string kernel_of(const Request& r) {
  const int words = r.bytes / 4;
  std::string registers, vector = words == 1 ? "" : fmt::format(".v{}", words);
  for (int i = 0; i < words; ++i) registers += fmt::format("{}%r{}", i ? ", " : "", 10 + i);
  if (words > 1) registers = "{" + registers + "}";
  const std::string access = r.is_store ? fmt::format("@%p1 st.shared{}.b32 [%r3], {};", vector, registers)
                                        : fmt::format("@%p1 ld.shared{}.b32 {}, [%r3];", vector, registers);
  return module_of(".param .u64 p", R"(
    .shared .align 16 .b8 tile[32768];
    mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.s32 %r2, [%d3];
    setp.ge.s32 %p1, %r2, 0;
    mov.u32 %r4, tile;
    add.u32 %r3, %r2, %r4;
    )" + access);
}

}  // namespace

TEST_CASE("emulator wavefronts: as an H100 counts them, for every request measured") {
  const std::vector<Request> requests = measured();
  CHECK(requests.size() > 200);
  for (const Request& r : requests) {
    Bench bench(kernel_of(r));
    bench.launch_params.check = false;  // the loads read memory that was never written
    Array<s32> at(bench.memory, r.at);
    Params params;
    params.add(at.address());
    REQUIRE(bench.run("k", {1, 1, 1}, {32, 1, 1}, params));
    const auto category = r.is_store ? Category::store_shared : Category::load_shared;
    INFO((r.is_store ? "st " : "ld "), r.bytes, " bytes, the first two at ", r.at[0], " and ", r.at[1]);
    CHECK(bench.counters.of("k").of(category).units == r.wavefronts);
  }
}

}  // namespace tilewright::rt::emulator
