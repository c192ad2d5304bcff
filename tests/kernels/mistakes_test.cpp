// Mistakes of launches: each names the function, the argument, what came and what fits, at the caller's line.
#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

constexpr auto kAdd = [](auto x, auto y) { return x + y; };
template <class X, class Y>
concept Scannable = requires(X& x, Y& y) { kernels::scan(x, y, kAdd, 0); };
static_assert(Scannable<tw::View<float, 2>, tw::View<float, 2>> && Scannable<tw::Buffer<float>, tw::View<float, 1>>);
static_assert(!Scannable<tw::View<float, 2>, tw::View<float, 1>>, "an array of other axes is refused by the declaration");

constexpr int kLineOfGather = __LINE__ + 9;

/// Adds rows or columns in reverse order, in a loop.
template <int Axis>
struct Turned {
  auto operator()(auto sum, auto, auto) const {
    const tw::I32 last = 15 - tw::arange(0, 16);
    const auto back = tw::broadcast_to(Axis == 0 ? tw::column(last) : tw::row(last), {16, 16});
    auto all = sum;
    for (auto i : tw::range(0, 2)) all = all + tw::gather(sum, back, Axis) * i.template to<float>();
    return all;
  }
};

}  // namespace

// A mistake and its check stand on one line:
// clang-format off

TEST_CASE("mistakes: shapes of products") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), result = device.allocate<float>(10000);
  const auto a = tw::view(buffer, {8, 6}), b = tw::view(other, {6, 4}), c = tw::view(result, {8, 4});
  CHECK_MISTAKE("error: matmul: 'b' is [5, 4]; the extent of its axis 0 must be K = 6 of 'a', which is [8, 6]", kernels::matmul(a, tw::view(other, {5, 4}), c));
  CHECK_MISTAKE("matmul: 'c' is [7, 4]; the extent of its axis 0 must be M = 8 of 'a', which is [8, 6]", kernels::matmul(a, b, tw::view(result, {7, 4})));
  CHECK_MISTAKE("matmul: 'c' is [8, 5]; the extent of its axis 1 must be N = 4 of 'b', which is [6, 4]", kernels::matmul(a, b, tw::view(result, {8, 5})));
  CHECK_MISTAKE("matmul: 'b' is [3, 6, 4]; the extent of its axis 0, of the batch, must be 1 or 2 as of 'a', which is [2, 8, 6]", kernels::matmul(tw::view(buffer, {2, 8, 6}), tw::view(other, {3, 6, 4}), tw::view(result, {2, 8, 4})));
  CHECK_MISTAKE("matmul: 'c' is [1, 8, 4]; the extent of its axis 0 must be batch = 2 of 'a', which is [2, 8, 6]", kernels::matmul(tw::view(buffer, {2, 8, 6}), tw::view(other, {1, 6, 4}), tw::view(result, {1, 8, 4})));
  CHECK_MISTAKE("matmul: 'c', a result, shares memory with 'a'; it needs memory of its own", kernels::matmul(a, b, tw::view(buffer, {8, 4})));
  CHECK_MISTAKE("matmul: elements of 'c' share memory: extents {8, 4} with strides {0, 1}", kernels::matmul(a, b, tw::view(result, {8, 4}, {0, 1})));
  CHECK_MISTAKE("matmul: 'a' is empty: a view comes from tw::view()", kernels::matmul(tw::View<float, 2>(), b, c));
  CHECK_MISTAKE("matmul: bm = 48 of the configuration; it must be a power of two", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.bm = 48}}));
  CHECK_MISTAKE("matmul: splits = 0 of the configuration; it must be 1 to 65536", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.splits = 0}}));
  CHECK_MISTAKE("launch of 'matmul': num_warps", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.num_warps = 3}}));
  tw::Device second = tw::Device::open("emulator:sm_80");
  auto far = second.allocate<float>(100);
  CHECK_MISTAKE("matmul: 'b' is on device 'emulator:sm_80', but 'a' is on device 'cpu'; all arguments must be on one device", kernels::matmul(a, tw::view(far, {6, 4}), c));
  CHECK_MISTAKE("matmul: the stream is on device 'emulator:sm_80', but 'a' is on device 'cpu'", kernels::matmul(a, b, c, {.stream = second.stream()}));
  CHECK_MISTAKE("sort: the stream is on device 'emulator:sm_80', but 'keys' is on device 'cpu'", kernels::sort(buffer, {}, false, {.stream = second.stream()}));
  CHECK_MISTAKE("note: the launch of 'matmul' is here", kernels::matmul(a, b, c, {.configuration = kernels::Configuration{.bm = 4096, .bn = 4096}}));
  CHECK_MISTAKE("transposed: the view is empty", tw::transposed(tw::View<float, 2>()));
}

TEST_CASE("mistakes: epilogues and what is passed on to them") {
  tw::Device device = tw::Device::open("cpu"), second = tw::Device::open("emulator:sm_80");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), result = device.allocate<float>(10000), far = second.allocate<float>(4);
  const auto a = tw::view(buffer, {8, 6}), b = tw::view(other, {6, 4}), c = tw::view(result, {8, 4});
  const auto add = [](auto sum, auto, auto, auto, auto) { return sum; };
  tw::Buffer<float> none;
  CHECK_MISTAKE("matmul: the buffer of extra argument 2 of the epilogue is empty: it was never allocated", kernels::matmul(a, b, c, add, 1.0f, none));
  CHECK_MISTAKE("matmul: extra argument 1 of the epilogue is empty: a view comes from tw::view()", kernels::matmul(a, b, c, add, tw::View<float, 1>(), 1.0f));
  CHECK_MISTAKE("matmul: extra argument 2 of the epilogue, which is [4], is on device 'emulator:sm_80', but 'a' is on device 'cpu'", kernels::matmul(a, b, c, add, buffer, far));
  CHECK_MISTAKE("matmul: extra argument 1 of the epilogue, which is [2, 2], is on device 'emulator:sm_80'", kernels::matmul(a, b, c, add, tw::view(far, {2, 2}), 1));
  CHECK_MISTAKE("matmul: the epilogue returned [16, 1]; it must return [16, 16], the shape of the sum", kernels::matmul(a, b, c, [](auto sum, auto, auto) { return tw::sum(sum, 1, true); }, {.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16}}));
  CHECK_MISTAKE("matmul: the epilogue returned a scalar; it must return [16, 16], the shape of the sum", kernels::matmul(a, b, c, [](auto, auto, auto, auto x) { return x; }, 2.0f, {.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16}}));
  CHECK_MISTAKE("matmul: precision = 5; it must be an enumerator of Precision, 0 to 4", kernels::matmul(a, b, c, {.precision = static_cast<tw::Precision>(5)}));
  CHECK_MISTAKE("stencil: border = 7; it must be an enumerator of Border, 0 to 3", kernels::stencil(c, tw::view(other, {8, 4}), [](auto at) { return at(0, 0); }, 1, static_cast<kernels::Border>(7)));
  CHECK_MISTAKE("stencil: the function returned [8, 1]; it must return [8, 4], the shape of the elements near", kernels::stencil(c, tw::view(other, {8, 4}), [](auto at) { return tw::max(at(0, 0), 1, true); }, 1, {.configuration = kernels::Configuration{.bm = 8, .bn = 4}}));
}

TEST_CASE("mistakes: tiles that do not fit shared memory are those of the product that the user has written") {
  tw::Device device = tw::Device::open("emulator:sm_80");
  const auto one = [&]<class T>(T, int bk, const std::string& tile) {
    auto a = device.allocate<T>(16 * bk), b = device.allocate<T>(16 * bk);
    auto c = device.allocate<float>(256);
    const std::string text = message_of([&] { kernels::matmul(tw::view(a, {16, bk}), tw::view(b, {bk, 16}), tw::view(c, {16, 16}), {.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = bk}}); });
    CHECK_MESSAGE(has(text, "dot: operand '"), text);
    CHECK_MESSAGE(has(text, tile), text);
    CHECK_MESSAGE(has(text, "a program of sm_80 has at most 166912: use smaller tiles"), text);
    for (const char* internal : {"alloc_buffer", "convert_layout", "buffer_"}) CHECK_MESSAGE(!has(text, internal), text);
  };
  one(float(), 4096, "f32[");
  one(tw::f16(), 8192, "f16[");
}

TEST_CASE("mistakes: an epilogue that takes elements past the end inside of a loop") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), result = device.allocate<float>(10000);
  const auto a = tw::view(buffer, {8, 6}), b = tw::view(other, {6, 4}), c = tw::view(result, {8, 4});
  const kernels::Options options{.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16}};
  const auto text_of = [&](auto turned) { return message_of([&] { kernels::matmul(a, b, c, turned, options); }); };
  // The line is that of the gather.
  for (const std::string& text : {text_of(Turned<0>()), text_of(Turned<1>())}) {
    CHECK_MESSAGE(text.starts_with(std::string(__FILE__) + ":" + std::to_string(kLineOfGather) + ":"), text);
    CHECK_MESSAGE(has(text, "gather: takes elements of the tile's rows or columns inside of a loop or branch; do it outside of it"), text);
  }
}

TEST_CASE("mistakes: rows") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), third = device.allocate<float>(10000);
  auto targets = device.allocate<int>(100);
  const auto x = tw::view(buffer, {8, 6}), y = tw::view(other, {8, 6});
  const auto weights = tw::view(third, {6});
  CHECK_MISTAKE("softmax: 'y' is [8, 5]; it must be [8, 6] as 'x' is [8, 6]", kernels::softmax(x, tw::view(other, {8, 5})));
  CHECK_MISTAKE("softmax: 'y', a result, shares memory with 'x'", kernels::softmax(x, x));
  tw::Buffer<float> none;
  CHECK_MISTAKE("this buffer is empty: it was never allocated, or has been moved from", kernels::softmax(none, other));
  CHECK_MISTAKE("log_softmax: 'x' is empty", kernels::log_softmax(tw::View<float, 2>(), y));
  CHECK_MISTAKE("softmax_backward: 'dy' is [7, 6]; it must be [8, 6]", kernels::softmax_backward(x, tw::view(other, {7, 6}), y));
  CHECK_MISTAKE("layer_norm: 'gamma' is [5]; the extent of its axis 0 must be N = 6 of 'x', which is [8, 6]", kernels::layer_norm(x, tw::view(third, {5}), weights, y, 1e-5));
  CHECK_MISTAKE("layer_norm: eps must not be negative, nor NaN", kernels::layer_norm(x, weights, weights, y, -1));
  CHECK_MISTAKE("layer_norm: 'mean' is [6]; it must be [8] as 'x' is [8, 6]", kernels::layer_norm(x, weights, weights, y, 1e-5, tw::view(third, {6})));
  CHECK_MISTAKE("rms_norm_backward: 'rstd' is empty", kernels::rms_norm_backward(x, weights, {}, x, y, {}));
  CHECK_MISTAKE("cross_entropy: 'targets' is [7]; it must be [8] as 'logits' is [8, 6]", kernels::cross_entropy(x, tw::view(targets, {7}), tw::view(other, {8})));
  CHECK_MISTAKE("cross_entropy: 'losses' is [9]; it must be [8]", kernels::cross_entropy(x, tw::view(targets, {8}), tw::view(other, {9})));
}

TEST_CASE("mistakes: attention") {
  tw::Device device = tw::Device::open("cpu");
  auto qs = device.allocate<float>(100000), ks = device.allocate<float>(100000), vs = device.allocate<float>(100000), os = device.allocate<float>(100000);
  auto numbers = device.allocate<double>(1000);
  auto lengths = device.allocate<int>(10);
  const auto q = tw::view(qs, {2, 6, 10, 16}), k = tw::view(ks, {2, 3, 20, 16}), v = tw::view(vs, {2, 3, 20, 16}), out = tw::view(os, {2, 6, 10, 16});
  CHECK_MISTAKE("attention: 'k' is [2, 3, 20, 8]; the extent of its axis 3 must be d = 16 of 'q'", kernels::attention(q, tw::view(ks, {2, 3, 20, 8}), v, out));
  CHECK_MISTAKE("attention: 'q' is [2, 6, 10, 16]; its 6 heads must be a multiple of the 4 heads of 'k'", kernels::attention(q, tw::view(ks, {2, 4, 20, 16}), tw::view(vs, {2, 4, 20, 16}), out));
  CHECK_MISTAKE("attention: 'v' is [2, 3, 19, 16]; the extent of its axis 2 must be N = 20 of 'k'", kernels::attention(q, k, tw::view(vs, {2, 3, 19, 16}), out));
  CHECK_MISTAKE("attention: 'out' is [2, 6, 9, 16]; it must be [2, 6, 10, 16]", kernels::attention(q, k, v, tw::view(os, {2, 6, 9, 16})));
  CHECK_MISTAKE("attention: 'q' is [1, 1, 2, 300]; the extent of its axis 3 must be at most 256", kernels::attention(tw::view(qs, {1, 1, 2, 300}), tw::view(ks, {1, 1, 2, 300}), tw::view(vs, {1, 1, 2, 16}), tw::view(os, {1, 1, 2, 16})));
  CHECK_MISTAKE("attention: window = -1; it must not be negative", kernels::attention(q, k, v, out, {.window = -1}));
  CHECK_MISTAKE("attention: 'lse' holds double; it must be float, the type of the sums", kernels::attention(q, k, v, out, {.lse = tw::view(numbers, {2, 6, 10})}));
  CHECK_MISTAKE("attention: scale = nan; it must be finite", kernels::attention(q, k, v, out, {.scale = NAN}));
  CHECK_MISTAKE("attention: scale = -inf; it must be finite", kernels::attention(q, k, v, out, {.scale = -INFINITY}));
  CHECK_MISTAKE("decode_attention: scale = nan; it must be finite", kernels::decode_attention(tw::view(qs, {2, 6, 16}), k, v, tw::view(lengths, {2}), tw::view(os, {2, 6, 16}), {.scale = NAN}));
  CHECK_MISTAKE("attention: the score function returned [16, 1]; it must return [16, 16], the shape of the scores that it got", kernels::attention(q, k, v, out, {.score = [](auto x, auto, auto, auto) { return tw::max(x, 1, true); }}, {.configuration = kernels::Configuration{.bm = 16, .bn = 16}}));
  CHECK_MISTAKE("decode_attention: 'lengths' is [3]; the extent of its axis 0 must be batch = 2 of 'q'", kernels::decode_attention(tw::view(qs, {2, 6, 16}), k, v, tw::view(lengths, {3}), tw::view(os, {2, 6, 16})));
}

TEST_CASE("mistakes: other products and elements") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(10000), other = device.allocate<float>(10000), result = device.allocate<float>(10000);
  auto bytes = device.allocate<std::int8_t>(1000), more_bytes = device.allocate<std::int8_t>(1000);
  auto numbers = device.allocate<int>(100);
  const auto a = tw::view(buffer, {8, 6}), c = tw::view(result, {8, 4});
  CHECK_MISTAKE("matvec: 'x' is [5]; the extent of its axis 0 must be K = 6 of 'a', which is [8, 6]", kernels::matvec(a, tw::view(other, {5}), tw::view(result, {8})));
  CHECK_MISTAKE("matmul_scaled: 'a_scale' is [7]; the extent of its axis 0 must be M = 8 of 'a'", kernels::matmul_scaled(tw::view(bytes, {8, 6}), tw::view(buffer, {7}), tw::view(more_bytes, {6, 4}), tw::view(other, {4}), c));
  CHECK_MISTAKE("grouped_matmul: 'group_ends' is [2]; the extent of its axis 0 must be G = 3 of 'b', which is [3, 6, 4]", kernels::grouped_matmul(a, tw::view(other, {3, 6, 4}), tw::view(numbers, {2}), c));
  CHECK_MISTAKE("gated_mlp: 'wu' is [6, 4]; it must be [6, 5] as 'wg' is [6, 5]", kernels::gated_mlp(a, tw::view(other, {6, 5}), tw::view(other, {6, 4}), tw::view(other, {5, 4}), c));
  CHECK_MISTAKE("rotary: the last extent of 'x' is 5; it must be even", kernels::rotary(tw::view(buffer, {8, 5}), tw::view(numbers, {8})));
  CHECK_MISTAKE("rotary: 'positions' is [7]; the extent of its axis 0 must be length = 8 of 'x'", kernels::rotary(c, tw::view(numbers, {7})));
  CHECK_MISTAKE("dropout: p = 1.500000; it must be 0 to 1", kernels::dropout(a, tw::view(other, {8, 6}), 1.5, 1));
  CHECK_MISTAKE("copy: 'y' is [8, 4]; it must be [8, 6] as 'x' is [8, 6]", kernels::copy(a, c));
  CHECK_MISTAKE("transpose: 'y' is [8, 4]; the extent of its axis 0 must be columns = 6 of 'x', which is [8, 6]", kernels::transpose(a, c));
  CHECK_MISTAKE("fill: 'y' is empty", kernels::fill(tw::View<float, 1>(), 1.0f));
  CHECK_MISTAKE("fill: value: constant 300 does not fit i8 (-128 to 127)", kernels::fill(bytes, 300));
  auto halves = device.allocate<tw::f16>(10);
  CHECK_MISTAKE("fill: value: constant 100000 overflows f16, whose greatest value is 65504", kernels::fill(halves, 1e5));
  CHECK_MISTAKE("reduce: identity: constant 2049 is not exact in f16: write it as a float to have it rounded", kernels::reduce(halves, [](auto x, auto y) { return x + y; }, 2049));
  CHECK_MISTAKE("random_uniform: low = 3.000000, high = 2.000000; they must be finite, and low not greater than high", kernels::random_uniform(a, 1, 3, 2));
  CHECK_MISTAKE("random_normal: mean = 0.000000, deviation = nan; they must be finite, and the deviation not negative", kernels::random_normal(a, 1, 0, NAN));
  CHECK_MISTAKE("random_normal: mean = 0.000000, deviation = -1.000000; they must", kernels::random_normal(a, 1, 0, -1));
  CHECK_MISTAKE("random_normal: elements of 'y' share memory", kernels::random_normal(tw::view(result, {4, 4}, {1, 1}), 1));
}

TEST_CASE("mistakes: reductions and scans") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(100), other = device.allocate<float>(100), empty = tw::Buffer<float>();
  const auto x = tw::view(buffer, {8, 6}), y = tw::view(other, {8, 6});
  const auto sum = [](auto a, auto b) { return a + b; };
  CHECK_MISTAKE("error: this buffer is empty", kernels::reduce(empty, sum, 0.0f));
  CHECK_MISTAKE("reduce: 'x' is empty: a view comes from tw::view()", kernels::reduce(tw::View<float, 2>(), sum, 0.0f));
  CHECK_MISTAKE("reduce: axis = 2; it must be -2 to 1", kernels::reduce(x, 2, tw::view(other, {8})));
  CHECK_MISTAKE("reduce: axis = -3; it must be -2 to 1", kernels::reduce(x, -3, tw::view(other, {8}), sum, 0.0f));
  CHECK_MISTAKE("reduce: 'y' is [8]; the extent of its axis 0 must be 6 as that of axis 1 of 'x', which is [8, 6]", kernels::reduce(x, 0, tw::view(other, {8})));
  CHECK_MISTAKE("reduce: 'y' is [8, 6]; the extent of its axis 1 must be the reduced extent = 1", kernels::reduce(x, 1, y));
  CHECK_MISTAKE("reduce: 'y', a result, shares memory with 'x'", kernels::reduce(x, 1, tw::view(buffer, {8})));
  CHECK_MISTAKE("scan: 'y' is [6, 8]; it must be [8, 6] as 'x' is [8, 6]", kernels::scan(x, tw::view(other, {6, 8}), sum, 0.0f));
  CHECK_MISTAKE("scan: 'y', a result, shares memory with 'x'", kernels::scan(tw::view(buffer, {50}), tw::view(buffer, {50}, {2}), sum, 0.0f));
  CHECK_MISTAKE("scan: bn = 3 of the configuration", kernels::scan(x, y, sum, 0.0f, {.configuration = kernels::Configuration{.bn = 3}}));
}

TEST_CASE("mistakes: histograms and compaction") {
  tw::Device device = tw::Device::open("cpu");
  auto numbers = device.upload(std::vector<int>(10, 1)), others = device.allocate<int>(10), results = device.upload(std::vector<int>(10, 5));
  CHECK_MISTAKE("histogram: bins = 0; it must be 1 to 2147483647", kernels::histogram(numbers, 0));
  CHECK_MISTAKE("histogram: 'bins' is [0]; there must be at least 1", kernels::histogram(numbers, tw::view(others, {0})));
  CHECK_MISTAKE("histogram: 'bins', a result, shares memory with 'x'", kernels::histogram(numbers, numbers));
  CHECK_MISTAKE("histogram: 'x' is empty", kernels::histogram(tw::View<int, 1>(), 5));
  CHECK_MISTAKE("compact: 'mask' is [9]; it must be [10] as 'x' is [10]", kernels::compact(numbers, tw::view(others, {9}), results));
  CHECK_MISTAKE("compact: 'y', a result, shares memory with 'x'", kernels::compact(numbers, others, numbers));
  CHECK_MISTAKE("compact: 'y' is [9]; it must have room for the 10 elements that are kept", kernels::compact(numbers, numbers, tw::view(results, {9})));
  CHECK(results.download() == std::vector<int>(10, 5));
}

TEST_CASE("mistakes: the largest of rows") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.allocate<float>(100), other = device.allocate<float>(100);
  auto numbers = device.allocate<int>(100);
  const auto x = tw::view(buffer, {8, 6}), v = tw::view(other, {8, 3});
  const auto i = tw::view(numbers, {8, 3});
  CHECK_MISTAKE("top_k: k = 0; it must be 1 to 6, the elements of a row of 'x'", kernels::top_k(x, 0, v, i));
  CHECK_MISTAKE("top_k: k = 7; it must be 1 to 6, the elements of a row of 'x'", kernels::top_k(x, 7, v, i));
  CHECK_MISTAKE("top_k: 'values' is [8, 3]; the extent of its axis 1 must be k = 2", kernels::top_k(x, 2, v, i));
  CHECK_MISTAKE("top_k: 'indices' is [8, 2]; it must be [8, 3] as 'values' is [8, 3]", kernels::top_k(x, 3, v, tw::view(numbers, {8, 2})));
  CHECK_MISTAKE("top_k: 'values', a result, shares memory with 'x'", kernels::top_k(x, 3, tw::view(buffer, {8, 3}), i));
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
