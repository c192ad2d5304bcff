// What each function takes: read-only views, 16-bit types, options in braces, empty arrays.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// Every function of the library over read-only inputs of T, on a stream.
template <class T>
void call_all(tw::Device& device, std::int64_t rows) {
  const tw::Stream stream = device.stream();
  const kernels::Options options{.stream = stream};
  const auto in = device.upload(std::vector<T>(4096, T(0.5f)));
  using S = kernels::Accumulator<T>;
  auto out = device.allocate<T>(4096), second = device.allocate<T>(4096), third = device.allocate<T>(4096);
  auto numbers = device.allocate<S>(64), more = device.allocate<S>(64);
  const auto targets = device.upload(std::vector<std::int64_t>(64, 1));
  const auto counts = device.upload(std::vector<int>(64, 1));
  const auto x = tw::view(in, {rows, 8}), square = tw::view(in, {8, 8});
  const auto y = tw::view(out, {rows, 8});
  const auto row_numbers = tw::view(numbers, {rows});
  kernels::matmul(x, square, y, options);
  kernels::matmul(x, tw::transposed(square), y, [](auto sum, auto, auto, auto p, auto n) { return sum * n + tw::load(p).template to<S>(); },
                  in, S(2), {.stream = stream});
  kernels::matvec(x, tw::view(in, {8}), tw::view(out, {rows}), options);
  kernels::grouped_matmul(x, tw::view(in, {1, 8, 8}), tw::view(targets, {1}), y, {.stream = stream});
  kernels::gated_mlp(x, square, square, square, y, {.stream = stream});
  kernels::softmax(x, y, {.stream = stream});
  kernels::log_softmax(x, y, {.stream = stream});
  kernels::softmax_backward(x, x, y, {.stream = stream});
  kernels::layer_norm(x, tw::view(in, {8}), tw::view(in, {8}), y, 1e-5, row_numbers, {}, {.stream = stream});
  kernels::layer_norm_backward(x, tw::view(in, {8}), row_numbers, row_numbers, x, y, tw::view(second, {8}), tw::view(third, {8}),
                               {.stream = stream});
  kernels::rms_norm(x, tw::view(in, {8}), y, 1e-5, {}, {.stream = stream});
  kernels::rms_norm_backward(x, tw::view(in, {8}), row_numbers, x, y, {}, {.stream = stream});
  kernels::cross_entropy(x, tw::view(targets, {rows}), row_numbers, {}, {.stream = stream});
  kernels::cross_entropy(x, tw::view(targets, {rows}), row_numbers, tw::view(more, {rows}), -100, {.stream = stream});
  kernels::cross_entropy_backward(x, tw::view(targets, {rows}), tw::view(more, {rows}), row_numbers, y, -100, {.stream = stream});
  const auto q = tw::view(in, {1, 2, rows, 8});
  const auto o = tw::view(out, {1, 2, rows, 8});
  kernels::attention(q, q, q, o, {}, {.stream = stream});
  kernels::attention(q, q, q, o, {.causal = true, .lse = tw::view(more, {1, 2, rows})}, {.stream = stream});
  kernels::attention_backward(q, q, q, q, tw::view(more, {1, 2, rows}), q, o, tw::view(second, {1, 2, rows, 8}),
                              tw::view(third, {1, 2, rows, 8}), {.causal = true}, {.stream = stream});
  kernels::decode_attention(tw::view(in, {rows, 2, 8}), tw::view(in, {rows, 1, 4, 8}), tw::view(in, {rows, 1, 4, 8}),
                            tw::view(counts, {rows}), tw::view(out, {rows, 2, 8}), {.scale = 1.0}, {.stream = stream});
  kernels::rotary(o, tw::view(targets, {rows}), 10000, {.stream = stream});
  kernels::dropout(x, y, 0.5, 1, {.stream = stream});
  kernels::copy(x, y, {.stream = stream});
  kernels::transpose(x, tw::view(out, {8, rows}), {.stream = stream});
  kernels::random_uniform(y, 1, 0, 1, {.stream = stream});
  kernels::random_normal(y, 1, 0, 1, {.stream = stream});
  kernels::fill(y, T(3.0f), {.stream = stream});
  stream.synchronize();
  const auto result = out.download();
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * 8; ++i) CHECK(number(result[i]) == 3);
}

}  // namespace

TEST_CASE("surface: read-only views, options in braces, and no rows") {
  on_every_device([](tw::Device& device) {
    call_all<tw::bf16>(device, 3);
    call_all<tw::f16>(device, 0);
  });
  tw::Device cpu = tw::Device::open("cpu");
  call_all<double>(cpu, 3);
}
