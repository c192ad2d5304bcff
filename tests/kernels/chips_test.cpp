// Products and attention of every type on GPUs of each size: the configurations that are chosen fit the shared memory of the chip.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

// 99 KiB of shared memory a program, native products of fp8, and code of sm_90; 227 KiB, and the same code.
constexpr const char* kChips[] = {"emulator:sm_120", "emulator:sm_100"};

/// Compares the last array of `compute` on the device with the result on the cpu.
template <class F>
void compare(const char* device, double tolerance, F compute) {
  tw::Device gpu = tw::Device::open(device), cpu = tw::Device::open("cpu");
  INFO("on ", device);
  const std::vector<double> got = compute(gpu), want = compute(cpu);
  CHECK(norm(want) > 0);
  CHECK(error(got, want) < tolerance);
}

template <class T, class C>
void check_product(const char* device, double tolerance, std::int64_t n) {
  compare(device, tolerance, [&](tw::Device& on) {
    Array<T, 2> a(on, {n, 256}, 1), b(on, {256, n}, 2);
    Array<C, 2> c(on, {n, n}, 3);
    kernels::matmul(a.view(), b.view(), c.view());
    return c.values();
  });
}

template <class T>
void check_attention(const char* device, double tolerance, std::int64_t n, std::int64_t depth) {
  INFO("depth ", depth);
  using S = kernels::Accumulator<T>;
  compare(device, tolerance, [&](tw::Device& on) {
    Array<T, 4> q(on, {1, 1, n, depth}, 1), k(on, {1, 1, n, depth}, 2), v(on, {1, 1, n, depth}, 3), out(on, {1, 1, n, depth}, 4);
    Array<T, 4> dout(on, {1, 1, n, depth}, 5), dq(on, {1, 1, n, depth}, 6), dk(on, {1, 1, n, depth}, 7), dv(on, {1, 1, n, depth}, 8);
    Array<S, 3> lse(on, {1, 1, n}, 9);
    kernels::attention(q.view(), k.view(), v.view(), out.view(), {.causal = true, .lse = lse.view()});
    kernels::attention_backward(q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dq.view(), dk.view(), dv.view(),
                                {.causal = true});
    std::vector<double> all = out.values();
    for (const auto* gradient : {&dq, &dk, &dv}) {
      const std::vector<double> more = gradient->values();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  });
}

}  // namespace

TEST_CASE("chips: products of every type fit") {
  for (const char* device : kChips) {
    check_product<tw::f16, tw::f16>(device, 4 * epsilon<tw::f16>(), 256);
    check_product<float, float>(device, 3e-3, 128);
    check_product<double, double>(device, 1e-13, 64);
    check_product<tw::f8e4m3, float>(device, 1e-3, 128);
  }
  check_product<tw::bf16, tw::bf16>(kChips[0], 4 * epsilon<tw::bf16>(), 128);
  check_product<std::int8_t, std::int32_t>(kChips[0], 1e-12, 128);
  check_product<tw::f8e5m2, tw::f16>(kChips[0], 4 * epsilon<tw::f16>(), 128);
}

TEST_CASE("chips: attention of every type fits, forwards and backwards") {
  for (const char* device : kChips) check_attention<tw::f16>(device, 1e-2, 128, 128);
  check_attention<tw::f16>(kChips[0], 1e-2, 64, 256);
  check_attention<tw::bf16>(kChips[0], 6e-2, 64, 64);
  check_attention<float>(kChips[0], 1e-2, 64, 256);
  check_attention<double>(kChips[0], 1e-12, 64, 64);
}
