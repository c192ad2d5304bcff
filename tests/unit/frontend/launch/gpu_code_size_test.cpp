// Limits the code size of row kernels for GPUs: at the first launch, the driver's assembler takes 0.1 ms for each instruction.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ptx_lint.h"
#include "runtime/ptxas.h"
#include "tests/bench/gpu_kernels.h"

namespace tw = tilewright;
namespace gpu = bench::gpu;

namespace {

/// Instructions of a kernel in a cubin: bytes of its section by 16. The assembler fills up to a multiple of 8 of them.
int machine_instructions(const std::string& cubin, const std::string& entry) {
  const auto at = [&]<class T>(std::uint64_t offset, T value) {
    REQUIRE(offset + sizeof value <= cubin.size());
    std::memcpy(&value, cubin.data() + offset, sizeof value);
    return value;
  };
  // ELF-64: the file header, then section headers of 64 bytes (name, ..., offset at 24, size at 32).
  const auto sections = at(40, std::uint64_t{});
  const int count = at(60, std::uint16_t{}), names = at(62, std::uint16_t{});
  const std::uint64_t text = at(sections + 64 * names + 24, std::uint64_t{});
  for (int i = 0; i < count; ++i) {
    const std::uint64_t header = sections + 64 * i;
    if (cubin.c_str() + text + at(header, std::uint32_t{}) == ".text." + entry)
      return static_cast<int>(at(header + 32, std::uint64_t{}) / 16);
  }
  FAIL("no code of " << entry);
  return 0;
}

/// At most so many instructions, of PTX and of a GPU.
struct Size {
  int ptx, sm_80, sm_90a;
};

template <class K, class... A>
void check_size(const std::string& name, K* function, int num_warps, Size most, const A&... arguments) {
  const tw::Kernel kernel(name, function);
  const std::optional<std::string> ptxas = tw::rt::find_ptxas();
  if (!ptxas) MESSAGE("no ptxas: machine code is not counted");
  for (const auto& [target, machine] : {std::pair<std::string, int>("sm_80", most.sm_80), {"sm_90a", most.sm_90a}}) {
    CAPTURE(name);
    CAPTURE(target);
    const std::string ptx(kernel.compile(target, {.num_warps = num_warps}, arguments...).ptx());
    CHECK(tw::rt::read_ptx(ptx).instructions <= most.ptx);
    if (ptxas) CHECK(machine_instructions(tw::rt::assemble(*ptxas, ptx, target).cubin, name) <= machine + 8);
  }
}

}  // namespace

// Machine code: what Triton 3.9.0 makes of the kernels (tests/bench/peers). PTX: what there was on 2026-11-22, and a twentieth.
TEST_CASE("gpu code: an assembler has few instructions to go through, row by row") {
  const auto n = tw::scalar<int>(16);
  const auto in = tw::pointer<const float>(16);
  const auto out = tw::pointer<float>(16);
  check_size("add", gpu::vector_add, 4, {33, 38, 41}, in, in, out, n, 1024);
  check_size("softmax", gpu::softmax, 4, {146, 124, 129}, out, in, n, n, n, 1024);
  check_size("softmax_4096", gpu::softmax, 8, {215, 277, 282}, out, in, n, n, n, 4096);
  check_size("layer_norm", gpu::layer_norm, 4, {236, 421, 434}, in, out, in, in, out, out, n, n, 1e-5f, 1024);
  check_size("transpose", gpu::transpose, 4, {278, 251, 259}, in, out, n, n, n, n, 64, 64);
}

TEST_CASE("gpu code: addresses of elements that lie apart are computed where they are used, and take no registers across a branch") {
  const std::optional<std::string> ptxas = tw::rt::find_ptxas();
  if (!ptxas) {
    MESSAGE("no ptxas: registers are not counted");
    return;
  }
  const tw::Kernel transpose("transpose", gpu::transpose);
  const auto n = tw::scalar<int>();
  for (const char* target : {"sm_80", "sm_90a"}) {
    CAPTURE(target);
    const auto made = transpose.compile(target, {.num_warps = 4}, tw::pointer<const float>(16), tw::pointer<float>(16), n, n, n, n, 64, 64);
    // Triton 3.9.0: 56 for sm_80. Elements take 32 of them.
    CHECK(tw::rt::assemble(*ptxas, std::string(made.ptx()), target).kernels.at(0).registers <= 56);
  }
}
