// Buffers where an array has one axis: whole arrays, weights and numbers of rows, indices. Results are those of views.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

constexpr std::int64_t kRows = 6, kColumns = 10;

tw::Buffer<float> random_buffer(tw::Device& device, std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& v : values) v = normal(engine);
  return device.upload(values);
}

/// Calls f with a buffer, and with a view of another one: what f writes there must be the same.
template <class F>
void check_same(tw::Device& device, std::size_t size, F f) {
  auto buffer = device.upload(std::vector<float>(size, -5)), other = device.upload(std::vector<float>(size, -5));
  f(buffer);
  f(tw::view(other, {size}));
  CHECK(buffer.download() == other.download());
  CHECK(buffer.download() != std::vector<float>(size, -5));
}

}  // namespace

TEST_CASE("buffers: elements, rows of one buffer, reductions, stencils") {
  on_every_device([](tw::Device& device) {
    const auto x = random_buffer(device, 60, 1);
    check_same(device, 60, [](auto&& y) { kernels::fill(y, 3.0f); });
    check_same(device, 60, [&](auto&& y) { kernels::copy(x, y); });
    check_same(device, 60, [](auto&& y) { kernels::random_uniform(y, 3); });
    check_same(device, 60, [](auto&& y) { kernels::random_normal(y, 3); });
    check_same(device, 60, [&](auto&& y) { kernels::dropout(x, y, 0.5, 3); });
    check_same(device, 60, [&](auto&& y) { kernels::softmax(x, y); });
    check_same(device, 60, [&](auto&& y) { kernels::log_softmax(x, y); });
    check_same(device, 60, [&](auto&& y) { kernels::softmax_backward(x, x, y); });
    check_same(device, 1, [&](auto&& y) { kernels::reduce(x, 0, y); });
    check_same(device, kRows, [&](auto&& y) { kernels::reduce(tw::view(x, {kRows, kColumns}), 1, y); });
    check_same(device, kColumns, [&](auto&& y) {
      kernels::reduce(tw::view(x, {kRows, kColumns}), 0, y, [](auto a, auto b) { return tw::maximum(a, b); }, -INFINITY);
    });
    check_same(device, 60, [&](auto&& y) { kernels::stencil(x, y, [](auto at) { return at(-1) + at(1); }, 1); });
    check_same(device, 60, [&](auto&& y) { kernels::stencil(x, y, [](auto at) { return at(-1) + at(1); }, 1, kernels::Border::wrap); });
    auto indices = device.allocate<int>(7);
    check_same(device, 7, [&](auto&& values) { kernels::top_k(x, 7, values, indices); });
  });
}

TEST_CASE("buffers: weights, and numbers of rows") {
  on_every_device([](tw::Device& device) {
    const auto memory = random_buffer(device, kRows * kColumns, 1), gradient = random_buffer(device, kRows * kColumns, 2);
    const auto gamma = random_buffer(device, kColumns, 3), beta = random_buffer(device, kColumns, 4),
               rows = random_buffer(device, kRows, 5);
    const auto x = tw::view(memory, {kRows, kColumns}), dy = tw::view(gradient, {kRows, kColumns});
    auto result = device.allocate<float>(kRows * kColumns), spare = device.allocate<float>(kRows);
    const auto y = tw::view(result, {kRows, kColumns});
    check_same(device, kRows, [&](auto&& mean) { kernels::layer_norm(x, gamma, beta, y, 1e-5, mean); });
    check_same(device, kRows, [&](auto&& rstd) { kernels::layer_norm(x, gamma, beta, y, 1e-5, {}, rstd); });
    check_same(device, kRows, [&](auto&& rstd) { kernels::rms_norm(x, gamma, y, 1e-5, rstd); });
    check_same(device, kColumns, [&](auto&& dgamma) { kernels::layer_norm_backward(x, gamma, rows, rows, dy, y, dgamma, {}); });
    check_same(device, kColumns, [&](auto&& dbeta) { kernels::layer_norm_backward(x, gamma, rows, rows, dy, y, {}, dbeta); });
    check_same(device, kColumns, [&](auto&& dgamma) { kernels::rms_norm_backward(x, gamma, rows, dy, y, dgamma); });
    const auto targets = device.upload(std::vector<int>(kRows, 2));
    check_same(device, kRows, [&](auto&& losses) { kernels::cross_entropy(x, targets, losses); });
    check_same(device, kRows, [&](auto&& lse) { kernels::cross_entropy(x, targets, spare, lse); });
    check_same(device, kRows * kColumns, [&](auto&& to) {
      kernels::cross_entropy_backward(x, targets, rows, rows, y);
      kernels::copy(tw::view(std::as_const(result), {kRows * kColumns}), to);
    });
    // A row alone, with one number.
    check_same(device, kColumns, [&](auto&& z) { kernels::rms_norm(beta, gamma, z, 1e-5); });
    check_same(device, 1, [&](auto&& rstd) { kernels::rms_norm(beta, gamma, tw::view(result, {kColumns}), 1e-5, rstd); });
  });
}

TEST_CASE("buffers: vectors, scales, ends of groups, lengths and positions") {
  on_every_device([](tw::Device& device) {
    const auto memory = random_buffer(device, 100, 1), vector = random_buffer(device, 10, 2);
    const auto a = tw::view(memory, {10, 10});
    auto result = device.allocate<float>(100);
    check_same(device, 10, [&](auto&& y) { kernels::matvec(a, vector, y); });
    const auto bytes = device.upload(std::vector<std::int8_t>(100, 2));
    kernels::matmul_scaled(tw::view(bytes, {10, 10}), vector, tw::view(bytes, {10, 10}), vector, tw::view(result, {10, 10}));
    CHECK(result.download()[3] == doctest::Approx(40 * vector.download()[0] * vector.download()[3]));
    const auto ends = device.upload(std::vector<std::int64_t>{10});
    kernels::grouped_matmul(a, tw::view(memory, {1, 10, 10}), ends, tw::view(result, {10, 10}), {.precision = tw::Precision::ieee});
    const auto grouped = result.download();
    kernels::matmul(a, a, tw::view(result, {10, 10}), {.precision = tw::Precision::ieee});
    CHECK(grouped[77] == doctest::Approx(result.download()[77]));
    const auto lengths = device.upload(std::vector<int>{1});
    kernels::decode_attention(tw::view(vector, {1, 1, 10}), tw::view(memory, {1, 1, 10, 10}), tw::view(memory, {1, 1, 10, 10}), lengths,
                              tw::view(result, {1, 1, 10}));
    for (std::size_t i = 0; i < 10; ++i) CHECK(result.download()[i] == doctest::Approx(memory.download()[i]).epsilon(1e-3));
    const auto positions = device.upload(std::vector<int>(10, 0));
    kernels::copy(a, tw::view(result, {10, 10}));
    kernels::rotary(tw::view(result, {10, 10}), positions);
    CHECK(result.download() == memory.download());
  });
}

TEST_CASE("buffers: a view from a buffer") {
  tw::Device device = tw::Device::open("cpu");
  auto buffer = device.upload(std::vector<float>{1, 2, 3});
  const tw::View<float, 1> all = buffer;
  const tw::View<const float, 1> read_only = std::as_const(buffer);
  kernels::scan(read_only, all, [](auto a, auto b) { return a + b; }, 0.0f);
  CHECK(buffer.download() == std::vector<float>{1, 3, 6});
  const auto empty = message_of([] {
    tw::Buffer<float> none;
    const tw::View<float, 1> v = none;
  });
  CHECK_MESSAGE(has(empty, std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2) + ":"), empty);
  CHECK_MESSAGE(has(empty, "this buffer is empty"), empty);
}
