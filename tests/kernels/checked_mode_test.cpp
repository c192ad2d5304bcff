// Checked mode of the library: indices that lead out of an array. TILEWRIGHT_CHECK turns it on for a whole process, so these cases run in
// their own process, the test `kernels_checked`.
#include <cstdlib>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {
bool is_off() { return !std::getenv("TILEWRIGHT_CHECK"); }
}  // namespace

TEST_CASE("checked: indices out of range" * doctest::skip(is_off())) {
  on_every_device([](tw::Device& device) {
    const auto x = device.upload(std::vector<float>(12, 1)), values = device.upload(std::vector<float>(3, 1));
    auto y = device.upload(std::vector<float>(12, 0)), few = device.allocate<float>(3);
    const auto rows = tw::view(x, {4, 3});
    const auto to = tw::view(y, {4, 3});
    const auto ends = device.upload(std::vector<int>{1, 2, 3});
    for (const int wrong : {-1, 12, 1 << 30}) {
      const auto index = device.upload(std::vector<int>{0, wrong, 1});
      const auto wide = device.upload(std::vector<std::int64_t>{0, wrong, 1});
      // clang-format off
      CHECK_MISTAKE("an index is out of range", { kernels::gather(x, index, few); device.synchronize(); });
      CHECK_MISTAKE("an index is out of range", { kernels::gather(rows, wide, tw::view(y, {3, 3})); device.synchronize(); });
      CHECK_MISTAKE("an index is out of range", { kernels::scatter_add(values, index, y); device.synchronize(); });
      CHECK_MISTAKE("an index is out of range", { kernels::scatter_add(tw::view(x, {3, 3}), wide, to); device.synchronize(); });
      CHECK_MISTAKE("a column is out of range", { kernels::spmv(ends, index, values, x, few); device.synchronize(); });
      CHECK_MISTAKE("a column is out of range", { kernels::spmv(ends, wide, values, x, few); device.synchronize(); });
      // The user's line comes first, and the index that was out is named.
      const std::string text = message_of([&] { kernels::gather(x, index, few); device.synchronize(); });
      // clang-format on
      CHECK_MESSAGE(text.starts_with(std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2) + ":"), text);
      CHECK_MESSAGE(has(text, "an index is out of range: " + std::to_string(wrong) + " "), text);
      CHECK_MESSAGE(has(text, "gather.h:"), text);
    }
  });
}

TEST_CASE("checked: a page outside of the cache" * doctest::skip(is_off())) {
  on_every_device([](tw::Device& device) {
    const auto q = device.upload(std::vector<float>(2 * 16, 1)), cache = device.upload(std::vector<float>(3 * 8 * 16, 1));
    auto out = device.allocate<float>(2 * 16);
    const auto lengths = device.upload(std::vector<int>{9, 3});
    for (const int wrong : {-1, 3, 1 << 30}) {
      const auto pages = device.upload(std::vector<int>{0, wrong, 1, wrong});  // the last one is read by no sequence
      const auto decode = [&] {
        kernels::decode_attention(tw::view(q, {2, 1, 16}), tw::view(cache, {3, 1, 8, 16}), tw::view(cache, {3, 1, 8, 16}), lengths,
                                  tw::view(out, {2, 1, 16}), {.pages = tw::view(pages, {2, 2})});
        device.synchronize();
      };
      const std::string text = message_of(decode);
      CHECK_MESSAGE(text.starts_with(std::string(__FILE__) + ":" + std::to_string(__LINE__ - 5) + ":"), text);
      CHECK_MESSAGE(has(text, "out of range: " + std::to_string(wrong) + " "), text);
    }
  });
}

TEST_CASE("checked: indices of a graph that lead out of a tensor" * doctest::skip(is_off())) {
  on_every_device([](tw::Device& device) {
    for (const int wrong : {-1, 4, -(1 << 30), 1 << 30}) {
      tw::Graph g;
      const auto table = g.input<float>("table", {4, 3});
      const auto index = g.input<int>("index", {g.dim("n")});
      g.output("rows", tw::exp(tw::gather(table, index)));
      const tw::Plan plan = g.compile(device);
      const auto t = device.upload(std::vector<float>(12, 1));
      const auto good = device.upload(std::vector<int>{0, 3, 1}), bad = device.upload(std::vector<int>{0, wrong, 1});
      auto out = device.allocate<float>(9);
      plan.run({{"table", t}, {"index", good}, {"rows", out}});
      device.synchronize();
      const std::string text = message_of([&] {
        plan.run({{"table", t}, {"index", bad}, {"rows", out}});
        device.synchronize();
      });
      CHECK_MESSAGE(text.starts_with(std::string(__FILE__) + ":"), text);
      CHECK_MESSAGE(has(text, "gather: an index is outside of 0 to 3: " + std::to_string(wrong) + " "), text);
    }
  });
}

TEST_CASE("checked: right calls are not mistakes" * doctest::skip(is_off())) {
  on_every_device([](tw::Device& device) {
    const auto x = device.upload(std::vector<float>(256, 1));
    const auto index = device.upload(std::vector<int>{0, 3, 2});
    const auto values = device.upload(std::vector<float>(3, 1));
    auto y = device.upload(std::vector<float>(256, 0)), few = device.allocate<float>(3);
    kernels::gather(x, index, few);
    kernels::scatter_add(few, index, y);
    kernels::spmv(device.upload(std::vector<int>{1, 2, 3}), index, values, x, few);
    for (const int n : {1, 4, 128}) kernels::fft(tw::view(x, {n, 2}), tw::view(y, {n, 2}));
    kernels::stencil(tw::view(x, {16, 16}), tw::view(y, {16, 16}), [](auto at) { return at(-3, 0) + at(0, 3); }, 3);
    kernels::sort(y);
    CHECK(message_of([&] { device.synchronize(); }) == "");
  });
}

TEST_CASE("checked: assertions of an epilogue hold for elements of the result" * doctest::skip(is_off())) {
  on_every_device([](tw::Device& device) {
    const auto ones = device.upload(std::vector<float>(10 * 6, 1));
    auto out = device.allocate<float>(10 * 10);
    const auto positive = [](auto sum, auto, auto) {
      tw::device_assert(sum > 0.5f, "positive");
      return sum;
    };
    const auto small = [](auto sum, auto row, auto) {
      tw::device_assert(tw::broadcast_to(row, {sum.extent(0), sum.extent(1)}) < 9, "not the last row");
      return sum;
    };
    const auto a = tw::view(ones, {10, 6}), b = tw::view(ones, {6, 10});
    CHECK_NOTHROW(kernels::matmul(a, b, tw::view(out, {10, 10}), positive));
    device.synchronize();
    CHECK_MISTAKE("not the last row", {
      kernels::matmul(a, b, tw::view(out, {10, 10}), small);
      device.synchronize();
    });
  });
}
