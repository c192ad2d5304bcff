// Arguments that each function accepts: read-only views, 16-bit types, options in braces, empty arrays.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// The functions over whole arrays, on `rows` rows with as many elements each.
template <class T>
void call_whole_arrays(tw::Device& device, const tw::Buffer<T>& in, std::int64_t rows, const tw::Stream& stream) {
  const auto add = [](auto a, auto b) { return a + b; };
  const auto n = static_cast<std::size_t>(rows);
  const auto index = device.upload(std::vector<int>(n, 0));
  const auto wide = device.upload(std::vector<std::int64_t>(n, 0));
  const auto ends = device.upload([&] {
    std::vector<int> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<int>(i) + 1;
    return all;
  }());
  const auto mask = device.upload(std::vector<bool>(n, true));
  auto out = device.allocate<T>(512), line = device.allocate<T>(n);
  auto counts = device.allocate<int>(4), places = device.allocate<int>(n), best = device.allocate<int>(3 * n);
  const auto x = tw::view(in, {rows, 8});
  const auto elements = tw::view(in, {rows});
  kernels::reduce(x, 0, tw::view(out, {8}), {.stream = stream});
  kernels::reduce(x, -1, line, add, T(0.0f), {.stream = stream});
  CHECK(number(kernels::reduce(elements, add, T(0.0f), {.stream = stream})) == 0.5 * static_cast<double>(rows));
  kernels::scan(elements, line, add, T(0.0f), true, {.stream = stream});
  kernels::scan(elements, line, add, T(0.0f), {.stream = stream});
  kernels::sort(line, places, true, {.stream = stream});
  kernels::sort(line, {}, false, {.stream = stream});
  kernels::histogram(index, counts, {.stream = stream});
  kernels::histogram(index, 4, {.stream = stream});
  CHECK(kernels::group_by(index, elements, add, {.stream = stream}).count() == (rows > 0 ? 1 : 0));
  CHECK(kernels::compact(elements, mask, line, {.stream = stream}) == rows);
  kernels::gather(x, index, tw::view(out, {rows, 8}), {.stream = stream});
  kernels::gather(in, tw::view(wide, {rows, 1}), tw::view(out, {rows, 1}), {.stream = stream});
  kernels::scatter_add(x, wide, tw::view(out, {5, 8}), {.stream = stream});
  kernels::scatter_add(elements, index, out, {.stream = stream});
  kernels::spmv(ends, index, elements, in, line, {.stream = stream});
  kernels::top_k(x, 3, tw::view(out, {rows, 3}), tw::view(best, {rows, 3}), {.stream = stream});
  kernels::stencil(x, tw::view(out, {rows, 8}), [](auto at) { return at(0, -1); }, 1, {.stream = stream});
  kernels::stencil(x, tw::view(out, {rows, 8}), [](auto at) { return at(0, 1); }, 1, kernels::Border::keep, {.stream = stream});
  if constexpr (tw::OneOf<T, float, double>)
    kernels::fft(tw::view(in, {rows, 4, 2}), tw::view(out, {rows, 4, 2}), true, {.stream = stream});
  stream.synchronize();
}

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
  call_whole_arrays(device, in, rows, stream);
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
