// PTX of kernels as users write them for GPUs: widths and numbers of accesses, and the instructions used.
#include <doctest/doctest.h>

#include <regex>
#include <string>

#include "runtime/ptx_lint.h"
#include "tests/bench/gpu_kernels.h"

namespace tw = tilewright;
using tilewright::rt::PtxFacts;
using Widths = PtxFacts::Widths;

namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_90a"};

struct Code {
  std::string ptx;
  PtxFacts facts;
};

template <class K, class... A>
Code code(const K& kernel, const char* target, int num_warps, const A&... arguments) {
  Code c{std::string(kernel.compile(target, {.num_warps = num_warps}, arguments...).ptx()), {}};
  c.facts = tilewright::rt::read_ptx(c.ptx);
  CHECK(c.facts.problems == std::vector<std::string>{});
  return c;
}

int count(const std::string& text, const std::string& piece) {
  int n = 0;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

int count_of(const std::string& text, const char* regex) {
  const std::regex r(regex);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), r), {}));
}

/// Stands for an argument that is a multiple of 16, and for one of any value.
const auto kAligned = tw::scalar<int>(16);
const auto kAny = tw::scalar<int>();
tw::PointerStandIn<const float> in(int alignment = 16) { return tw::pointer<const float>(alignment); }
tw::PointerStandIn<float> out(int alignment = 16) { return tw::pointer<float>(alignment); }

}  // namespace

TEST_CASE("gpu code: accesses are as wide as each of the alignments 16, 8 and 4 bytes allows") {
  const tw::Kernel add("add", bench::gpu::vector_add);
  for (const char* target : kTargets)
    for (const int bytes : {16, 8, 4}) {
      const PtxFacts f = code(add, target, 4, in(bytes), in(bytes), out(bytes), kAligned, 1024).facts;
      CHECK(f.global_loads == Widths{{bytes, 2 * 1024 * 4 / 128 / bytes}});
      CHECK(f.global_stores == Widths{{bytes, 1024 * 4 / 128 / bytes}});
    }
}

TEST_CASE("gpu code: 16-bit elements that lie on 4 bytes go in pairs") {
  const tw::Kernel copy("copy", [](tw::Ptr<const tw::bf16> x, tw::Ptr<tw::bf16> y, int block) {
    tw::store(y + tw::arange(0, block), tw::load(x + tw::arange(0, block)));
  });
  for (const int bytes : {16, 8, 4, 2}) {
    const PtxFacts f = code(copy, "sm_80", 4, tw::pointer<const tw::bf16>(bytes), tw::pointer<tw::bf16>(bytes), 1024).facts;
    CHECK(f.global_loads == Widths{{bytes, 1024 * 2 / 128 / bytes}});
  }
}

TEST_CASE("gpu code: a row of softmax is read once and written once, 16 bytes at a time") {
  const tw::Kernel softmax("softmax", bench::gpu::softmax);
  for (const char* target : kTargets)
    for (const auto& [columns, warps] : {std::pair(1024, 4), {4096, 8}, {16384, 16}}) {
      const Code c = code(softmax, target, warps, out(), in(), kAligned, kAligned, kAligned, columns);
      const int vectors = columns * 4 / (32 * warps) / 16;
      CHECK(c.facts.global_loads == Widths{{16, vectors}});
      CHECK(c.facts.global_stores == Widths{{16, vectors}});
      CHECK(count(c.ptx, "ld.global.v4.b32") == vectors);
    }
}

TEST_CASE("gpu code: a row of softmax of any length is still read once") {
  const tw::Kernel softmax("softmax", bench::gpu::softmax);
  const PtxFacts f = code(softmax, "sm_80", 4, out(), in(), kAny, kAny, kAny, 1024).facts;
  CHECK(f.global_loads.count(4) == 1);
  CHECK(f.global_loads.at(4) == 2 * 8);  // with and without a mask, in both forms
}

TEST_CASE("gpu code: exp of what is not above its maximum is a multiply-add and an ex2, and a row has one reciprocal") {
  const tw::Kernel softmax("softmax", bench::gpu::softmax);
  for (const char* target : kTargets) {
    const Code c = code(softmax, target, 4, out(), in(), kAligned, kAligned, kAligned, 1024);
    CHECK(count(c.ptx, "ex2.approx.ftz.f32") == 8);
    CHECK(count(c.ptx, "ex2") == 8);
    CHECK(count_of(c.ptx, "\\bfma\\.rn(\\.ftz)?\\.f32") == 8 + 2);  // the reciprocal's Newton step
    CHECK(count(c.ptx, "rcp") == 1);
    CHECK(count_of(c.ptx, "\\bdiv\\b") == 0);
    // Before sm_80 no maximum keeps NaN. Elsewhere there is one setp for the maximum and two for the sum, but none for each element.
    if (target != kTargets[0]) CHECK(count_of(c.ptx, "\\bsetp\\.\\w+\\.f32") <= 3);
  }
}

TEST_CASE("gpu code: a layer norm whose row fits into a tile reads each element of it once") {
  const tw::Kernel norm("norm", [](tw::Ptr<const float> x, tw::Ptr<const float> w, tw::Ptr<const float> b, tw::Ptr<float> y, tw::I32 n,
                                   tw::F32 eps, int block) {
    auto row = tw::program_id(0) * n;
    auto col = tw::arange(0, block);
    auto live = col < n;
    auto v = tw::load(x + row + col, live);
    auto count = n.to<float>();
    auto from_mean = tw::where(live, v - tw::sum(v, 0) / count, 0.0f);
    auto scale = tw::rsqrt(tw::sum(from_mean * from_mean, 0) / count + eps);
    tw::store(y + row + col, from_mean * scale * tw::load(w + col, live) + tw::load(b + col, live), live);
  });
  for (const char* target : kTargets) {
    const PtxFacts f = code(norm, target, 4, in(), in(), in(), out(), kAligned, 1e-5f, 1024).facts;
    CHECK(f.global_loads == Widths{{16, 3 * 2}});  // the row, weights and biases: 1024 elements on 128 threads
    CHECK(f.global_stores == Widths{{16, 2}});
  }
}

TEST_CASE("gpu code: a transposition reads and writes whole lines, and goes through shared memory once") {
  const tw::Kernel transpose("transpose", bench::gpu::transpose);
  for (const char* target : kTargets) {
    const PtxFacts f = code(transpose, target, 4, in(), out(), kAligned, kAligned, kAligned, kAligned, 64, 64).facts;
    CHECK(f.global_loads == Widths{{16, 8}});
    CHECK(f.global_stores == Widths{{16, 8}});
    CHECK(f.shared_stores == Widths{{4, 32}});
    CHECK(f.shared_loads == Widths{{16, 8}});
    CHECK(f.barriers == 1);
    CHECK(f.shuffles == 0);
  }
}

TEST_CASE("gpu code: masks are not packed into vectors of 16 bits, on any target") {
  const tw::Kernel transpose("transpose", bench::gpu::transpose);
  int instructions[2], i = 0;
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Code c = code(transpose, target, 4, in(), out(), kAny, kAny, kAny, kAny, 64, 64);
    CHECK(count_of(c.ptx, "\\.(b|u|s)16") == 0);
    instructions[i++] = c.facts.instructions;
  }
  CHECK(instructions[0] == instructions[1]);
}

TEST_CASE("gpu code: masked loads whose fill nobody sees leave registers as they are") {
  const tw::Kernel add("add", bench::gpu::vector_add);
  const std::string ptx = code(add, "sm_80", 4, in(), in(), out(), kAligned, 1024).ptx;
  CHECK(count_of(ptx, "\\bmov\\.(b32|f32)\\s+%f") == 0);
  CHECK(count(ptx, "0f00000000") == 0);
  // The fill of a sum is seen.
  const tw::Kernel sum("sum", bench::gpu::row_sum);
  CHECK(count(code(sum, "sm_80", 4, in(), out(), kAligned, kAligned, 1024).ptx, "0f00000000") > 0);
}

TEST_CASE("gpu code: offsets of 64 bits, which do not overflow at 2^31 elements, cost a vector add few instructions") {
  const tw::Kernel narrow("narrow", bench::gpu::vector_add);
  const tw::Kernel wide("wide", [](tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> out, tw::I64 n, int block) {
    auto at = tw::program_id(0).to<std::int64_t>() * block + tw::arange(0, block);
    auto live = at < n;
    tw::store(out + at, tw::load(x + at, live) + tw::load(y + at, live), live);
  });
  const PtxFacts f32 = code(narrow, "sm_80", 4, in(), in(), out(), kAligned, 1024).facts;
  const PtxFacts f64 = code(wide, "sm_80", 4, in(), in(), out(), tw::scalar<std::int64_t>(16), 1024).facts;
  CHECK(f64.global_loads == f32.global_loads);
  CHECK(f64.instructions <= f32.instructions + 7);
}

TEST_CASE("gpu code: rows that lie apart by a stride take a sum and an address each") {
  const tw::Kernel transpose("transpose", bench::gpu::transpose);
  const Code c = code(transpose, "sm_80", 4, in(), out(), kAny, kAny, kAny, kAny, 64, 64);
  CHECK(c.facts.global_loads == Widths{{4, 2 * 32}});  // one path with a mask and one without
  CHECK(count_of(c.ptx, "\\b(mul|mad)\\.lo") <= 8);    // none for a row of its own
  CHECK(count(c.ptx, "mul.wide.s32") <= 2 * (2 * 32 + 4));
  CHECK(count_of(c.ptx, "\\b(cvt\\.s64|shl\\.b64)") == 0);
}

TEST_CASE("gpu code: a wide load is one line of inline PTX under the line that the user wrote it in") {
  constexpr int kLine = __LINE__ + 2;
  const tw::Kernel copy("copy", [](tw::Ptr<const float> x, tw::Ptr<float> y, int block) {
    auto t = tw::load(x + tw::arange(0, block));
    tw::store(y + tw::arange(0, block), t);
  });
  const std::string ptx = code(copy, "sm_80", 4, in(), out(), 512).ptx;
  CHECK(count_of(ptx, "// begin inline asm\\n[^\\n]*ld\\.global\\.v4[^\\n]*\\n\\s*// end inline asm") == 1);
  std::smatch m;
  REQUIRE(std::regex_search(ptx, m, std::regex("([\\s\\S]*)ld\\.global\\.v4")));
  const std::string before = m[1].str();
  const std::size_t loc = before.rfind(".loc");
  REQUIRE(loc != before.npos);
  CHECK(before.substr(loc).find(" " + std::to_string(kLine) + " ") != std::string::npos);
}

TEST_CASE("gpu code: a product of f32 reads its operands from shared memory, 16 bytes at a time") {
  const tw::Kernel matmul("matmul", bench::gpu::matmul);
  for (const int k : {16, 64}) {
    const Code c = code(matmul, "sm_80", 4, in(), in(), out(), kAligned, kAligned, kAligned, kAligned, kAligned, kAligned, 64, 64, k);
    CHECK(count(c.ptx, "fma.rn.f32") == 32 * k);  // 32 elements a thread
    // 4 of K of 8 rows and of 4 columns; and what is the same for all K.
    CHECK(c.facts.shared_loads == Widths{{16, 3 * k + 20}});
    CHECK(count(c.ptx, "cp.async.commit_group") > 0);
  }
}

TEST_CASE("gpu code: a kernel that wants more registers than there are says how many programs an SM holds, or ptxas falls to 32") {
  const tw::Kernel softmax("softmax", bench::gpu::softmax);
  const std::string large = code(softmax, "sm_80", 4, out(), in(), kAligned, kAligned, kAligned, 32768).ptx;
  CHECK(count(large, ".minnctapersm 2\n") == 1);  // for 128 threads, with the greatest number of registers of a thread
  const std::string small = code(softmax, "sm_80", 4, out(), in(), kAligned, kAligned, kAligned, 1024).ptx;
  CHECK(count(small, ".minnctapersm") == 0);
}

TEST_CASE("gpu code: masks of a loop's last tiles are in a branch, and no pass before them selects or compares element by element") {
  const tw::Kernel running("running", [](tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, int block) {
    auto biggest = tw::full<float>({block}, -tw::inf);
    for (auto at : tw::range(0, n, block)) {
      auto col = at + tw::arange(0, block);
      auto v = tw::load(x + col, col < n);
      biggest = tw::maximum(biggest, tw::where(col * 2 < n, tw::sqrt(v) * v, -tw::inf));
      biggest = tw::maximum(biggest, tw::where(col < n, v + biggest, -tw::inf));
    }
    tw::store(y + tw::arange(0, block), biggest);
  });
  const std::string ptx = code(running, "sm_80", 4, in(), out(), kAny, 1024).ptx;
  // 8 elements a thread: what is compared with 2 col stays, what is compared with col is a selection in the form with masks alone.
  std::smatch m;
  REQUIRE(std::regex_search(ptx, m, std::regex("ld\\.global\\.v4[\\s\\S]*?\\n\\$L")));
  CHECK(count_of(m[0].str(), "\\bselp\\.f32") == 0);
  CHECK(count_of(ptx, "\\bselp\\.f32") == 8 + 8);
}

// Each step uses its value twice.
void products_of_indices(tw::Ptr<float> y, int steps) {
  auto i = tw::column(tw::arange(0, 16)), j = tw::row(tw::arange(0, 16));
  auto x = (i * j).to<float>();
  for (int k = 0; k < steps; ++k) x = x * x + x;
  tw::store(y + i * 16 + j, tw::dot(x, tw::load(y + i * 16 + j)));
}

TEST_CASE("GPU code: a factor of a product that is computed in many steps, each from two uses of the one before") {
  constexpr int kSteps = 60;
  tw::Kernel("products_of_indices", products_of_indices).compile("sm_80", {}, tw::pointer<float>(), kSteps);
}
