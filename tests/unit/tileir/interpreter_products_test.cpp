// The interpreter on asynchronous products: right programs give the products, wrong ones an Error at the op that is wrong.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

/// Factors of ones and twos in buffers: each sum of their product is 32.
constexpr const char* kSetup = R"(
  %c0 = constant {value = 0} : i32
  %c1 = constant {value = 1} : i32
  %ones = constant {value = 1.0} : f16[64, 16]
  %twos = constant {value = 2.0} : f16[16, 16]
  %none = constant {value = 0.0} : f32[64, 16]
  %a = alloc_buffer : buffer<1, f16>[64, 16]
  %b = alloc_buffer {ordered} : buffer<1, f16>[16, 16]
  buffer_store %a, %ones
  buffer_store %b, %twos
  barrier
)";

constexpr const char* kStore = R"(
  %i = arange {lo = 0, hi = 1024} : i32[1024]
  %yb = broadcast %y : ptr<f32>[1024]
  %yp = add_ptr %yb, %i : ptr<f32>[1024]
  %sums = reshape %r : f32[1024]
  store %yp, %sums
)";

std::string kernel(const std::string& body) { return "kernel @k(%y: ptr<f32>, %n: i32) {" + std::string(kSetup) + body + "}\n"; }
std::string product(const char* to, const char* acc, const char* a = "%a") {
  return fmt::format("  %{} = mma_async {}, %b, {} {{instruction = m64k16_f16, warps = [4, 1]}} : f32[64, 16]\n", to, a, acc);
}

std::vector<float> run(const std::string& text, int n = 0) {
  const Module m = parse(text, "t.tile");
  std::vector<float> y(1024, -1);
  const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(y.data()), static_cast<std::uint32_t>(n)};
  interpret(m.functions.at(0), arguments, {});
  return y;
}

bool all_are(const std::vector<float>& y, float expected) {
  return std::ranges::all_of(y, [&](float v) { return v == expected; });
}

/// Whether the program fails with this message at the line that ends in "// wrong".
void check_wrong(const std::string& body, const std::string& message, int n = 0) {
  const std::string text = kernel(body);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("// wrong")), '\n');
  CAPTURE(body);
  std::string seen = "no error";
  try {
    run(text, n);
  } catch (const Error& e) {
    seen = e.what();
  }
  CHECK_MESSAGE(seen.starts_with(fmt::format("t.tile:{}:", line)), seen);
  CHECK_MESSAGE(seen.find("error: " + message) != std::string::npos, seen);
}

}  // namespace

TEST_CASE("interpreter of asynchronous products: factors from shared memory and from registers") {
  const std::string fenced = "  proxy_fence\n";
  CHECK(all_are(run(kernel(fenced + product("d", "%none") + "  %r = mma_wait %d {pending = 0} : f32[64, 16]\n" + kStore)), 32));
  CHECK(all_are(run(kernel(fenced + product("d", "%none", "%ones") +
                           "  %r, %kept = mma_wait %d, %ones {pending = 0} : f32[64, 16], f16[64, 16]\n" + kStore)),
                32));
}

TEST_CASE("interpreter of asynchronous products: a loop carries accumulators in flight") {
  const std::string text = kernel("  proxy_fence\n  %acc = for %c0, %n, %c1, %none : f32[64, 16] (%k: i32, %s: f32[64, 16]) {\n" +
                                  product("d", "%s") + "    %w = mma_wait %d {pending = 1} : f32[64, 16]\n    yield %w\n  }\n" +
                                  "  %r = mma_wait %acc {pending = 0} : f32[64, 16]\n" + kStore);
  for (int n : {0, 1, 2, 5}) CHECK(all_are(run(text, n), 32.0f * static_cast<float>(n)));
}

TEST_CASE("interpreter of asynchronous products: writes that no fence orders before the product") {
  check_wrong(
      product("d", "%none").insert(product("d", "%none").size() - 1, " // wrong") + "  %r = mma_wait %d {pending = 0} : f32[64, 16]\n",
      "mma_async: no proxy_fence is between this and the write of an element");
  // The fence comes before the write.
  check_wrong(
      "  proxy_fence\n  buffer_store %b, %twos\n  barrier\n" + product("d", "%none").insert(product("d", "%none").size() - 1, " // wrong"),
      "mma_async: no proxy_fence is between this and the write of an element");
  // Other threads may not have written the ordered buffer.
  check_wrong("  buffer_store %b, %twos\n  proxy_fence\n" + product("d", "%none").insert(product("d", "%none").size() - 1, " // wrong"),
              "mma_async: another thread may not have written this element; a barrier or async_wait is missing");
}

TEST_CASE("interpreter of asynchronous products: accumulators in flight are not used") {
  check_wrong(
      "  proxy_fence\n" + product("d", "%none") + "  %r = mma_wait %d {pending = 1} : f32[64, 16]\n  %z = neg %r : f32[64, 16] // wrong\n",
      "neg: 'x' is an accumulator in flight; an mma_wait is missing");
  check_wrong("  proxy_fence\n" + product("d", "%none") + product("e", "%none") +
                  "  %r, %q = mma_wait %d, %e {pending = 1} : f32[64, 16], f32[64, 16]\n  %y0 = neg %r : f32[64, 16]\n  %z = neg %q : "
                  "f32[64, 16] // wrong\n",
              "neg: 'x' is an accumulator in flight; an mma_wait is missing");
}

TEST_CASE("interpreter of asynchronous products: buffers are not overwritten before the wait, and a barrier after it") {
  const std::string start = "  proxy_fence\n" + product("d", "%none"), wait = "  %r = mma_wait %d {pending = 0} : f32[64, 16]\n";
  check_wrong(start + "  buffer_store %a, %ones // wrong\n" + wait,
              "buffer_store: a product may still read this element; an mma_wait is missing");
  check_wrong(start + "  barrier\n  buffer_store %a, %ones // wrong\n" + wait,
              "buffer_store: a product may still read this element; an mma_wait is missing");
  check_wrong(start + wait + "  buffer_store %b, %twos // wrong\n",
              "buffer_store: another thread may still read this element; a barrier or async_wait is missing");
  CHECK(all_are(run(kernel(start + wait + "  barrier\n  buffer_store %b, %twos\n" + kStore)), 32));
}
