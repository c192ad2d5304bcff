// Mistakes of launches: each names the function, the argument, what came and what fits, at the caller's line.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

// A mistake and its check stand on one line:
// clang-format off
#define CHECK_MISTAKE(TEXT, ...)                                                                       \
  do {                                                                                                 \
    const std::string text = message_of([&] { __VA_ARGS__; });                                         \
    CHECK_MESSAGE(has(text, "mistakes_test.cpp:" + std::to_string(__LINE__) + ":"), text);             \
    CHECK_MESSAGE(has(text, TEXT), text);                                                              \
  } while (false)

TEST_CASE("mistakes: shapes of products") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), result = device.allocate<float>(10000);
  const auto a = tw::view(buffer, {8, 6}), b = tw::view(other, {6, 4}), c = tw::view(result, {8, 4});
  CHECK_MISTAKE("error: matmul: 'b' is [5, 4]; its extent 0 must be K = 6 of 'a', which is [8, 6]", kernels::matmul(a, tw::view(other, {5, 4}), c));
  CHECK_MISTAKE("matmul: 'c' is [7, 4]; its extent 0 must be M = 8 of 'a', which is [8, 6]", kernels::matmul(a, b, tw::view(result, {7, 4})));
  CHECK_MISTAKE("matmul: 'c' is [8, 5]; its extent 1 must be N = 4 of 'b', which is [6, 4]", kernels::matmul(a, b, tw::view(result, {8, 5})));
  CHECK_MISTAKE("matmul: 'b' is [3, 6, 4]; its extent 0, of the batch, must be 1 or 2 as of 'a', which is [2, 8, 6]", kernels::matmul(tw::view(buffer, {2, 8, 6}), tw::view(other, {3, 6, 4}), tw::view(result, {2, 8, 4})));
  CHECK_MISTAKE("matmul: 'c' is [1, 8, 4]; its extent 0 must be batch = 2 of 'a', which is [2, 8, 6]", kernels::matmul(tw::view(buffer, {2, 8, 6}), tw::view(other, {1, 6, 4}), tw::view(result, {1, 8, 4})));
  CHECK_MISTAKE("matmul: 'c', a result, shares memory with 'a'; it needs memory of its own", kernels::matmul(a, b, tw::view(buffer, {8, 4})));
  CHECK_MISTAKE("matmul: elements of 'c' share memory: extents {8, 4} with strides {0, 1}", kernels::matmul(a, b, tw::view(result, {8, 4}, {0, 1})));
  CHECK_MISTAKE("matmul: 'a' is empty: a view comes from tw::view()", kernels::matmul(tw::View<float, 2>(), b, c));
  CHECK_MISTAKE("matmul: bm = 48 of the configuration; it must be a power of two", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.bm = 48}}));
  CHECK_MISTAKE("matmul: splits = 0 of the configuration; it must be 1 to 65536", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.splits = 0}}));
  CHECK_MISTAKE("launch of 'matmul': num_warps", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.num_warps = 3}}));
  tw::Device second = tw::Device::open("emulator:sm_80");
  auto far = second.allocate<float>(100);
  CHECK_MISTAKE("matmul: 'b' is on device 'emulator:sm_80', but 'a' is on device 'cpu'; all arguments must be on one device", kernels::matmul(a, tw::view(far, {6, 4}), c));
  CHECK_MISTAKE("launch of 'matmul': the buffers are on device 'cpu', but the stream is 'emulator:sm_80'", kernels::matmul(a, b, c, {.stream = second.stream()}));
  CHECK_MISTAKE("transposed: the view is empty", tw::transposed(tw::View<float, 2>()));
}
// clang-format on

TEST_CASE("mistakes: views that interleave share no memory") {
  tw::Device device = tw::Device::open("cpu");
  std::vector<float> memory(200, 1.0f);
  auto left = device.wrap(memory.data(), 99), right = device.wrap(memory.data() + 5, 95), next = device.allocate<float>(100);
  // Columns 0 to 4 and 5 to 9 of rows of ten.
  const auto a = tw::view(left, {5, 5}, {10, 1}), b = tw::view(next, {5, 5});
  CHECK(message_of([&] { kernels::matmul(a, b, tw::view(right, {5, 5}, {10, 1})); }) == "");
  CHECK(has(message_of([&] { kernels::matmul(a, b, tw::view(right, {5, 5}, {11, 1})); }), "shares memory"));
  using kernels::host::share_memory;
  CHECK(!share_memory({0, 4, {100}, {8}}, {4, 4, {100}, {8}}));
  CHECK(share_memory({0, 4, {100}, {8}}, {2, 4, {100}, {8}}));
  CHECK(share_memory({0, 4, {100}, {8}}, {792, 4, {100}, {-8}}));
  CHECK(!share_memory({0, 4, {100}, {8}}, {796, 4, {100}, {-8}}));
  CHECK(!share_memory({0, 4, {0}, {8}}, {0, 4, {100}, {8}}));
  CHECK(share_memory({0, 4, {3, 4}, {40, 4}}, {44, 4, {2}, {4}}));
  CHECK(!share_memory({0, 4, {3, 4}, {40, 4}}, {56, 4, {3, 2}, {40, 4}}));
}
