// Includes each example in its own namespace (its main() is not called), and makes the arguments of the launches.
#include "tests/mutants/launches.h"

// All that the examples include.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "example.h"

namespace vector_add {
#include "examples/01_vector_add.cpp"
}
namespace softmax {
#include "examples/02_softmax.cpp"
}
namespace layer_norm {
#include "examples/03_layer_norm.cpp"
}
namespace matmul {
#include "examples/04_matmul_epilogue.cpp"
}
namespace attention {
#include "examples/05_attention.cpp"
}
namespace histogram {
#include "examples/06_histogram.cpp"
}
namespace embedding {
#include "examples/07_embedding.cpp"
}
namespace sampling {
#include "examples/08_topk_sampling.cpp"
}
namespace recurrence {
#include "examples/09_linear_recurrence.cpp"
}
namespace quantise {
#include "examples/10_quantise.cpp"
}
namespace dropout {
#include "examples/11_dropout.cpp"
}

namespace tilewright::test {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

void launch_vector_add(Inputs& in) {
  Kernel kernel("add", ::vector_add::add);
  for (const int n : {65, 193, 321, 449, 577, 705, 833, 961, 1025 + 512}) {
    auto &x = in.floats(n), &y = in.floats(n), &z = in.filled(n, kNone);
    kernel({.grid = cdiv(n, 1024)}, x, y, z, n, 1024);
  }
}

void launch_softmax(Inputs& in) {
  Kernel kernel("softmax", ::softmax::softmax<float>);
  for (const int columns : {781, 65, 193, 321, 449, 577, 705, 833, 961}) {
    auto &x = in.floats(2 * columns), &y = in.filled(2 * columns, kNone);
    kernel({.grid = 2}, x, y, columns, 1024);
  }
}

void launch_layer_norm(Inputs& in) {
  Kernel kernel("layer_norm", ::layer_norm::layer_norm);
  for (const int columns : {1000, 488, 2024}) {
    auto &x = in.floats(2 * columns), &w = in.floats(columns), &b = in.floats(columns), &y = in.filled(2 * columns, kNone);
    kernel({.grid = 2}, x, w, b, y, columns, 1e-5f, 1024);
  }
}

void launch_matmul(Inputs& in) {
  const auto epilogue = [](F32 x) { return silu(x); };
  Kernel kernel("matmul_silu", ::matmul::matmul<decltype(epilogue)>);
  const auto launch = [&](int M, int N, int K) {
    auto &a = in.floats(M * K), &b = in.floats(K * N), &bias = in.floats(N), &c = in.filled(M * N, kNone);
    // Tiles smaller than the example's have the same kinds of copies and take an eighth of the time.
    const ::matmul::Sizes tile{.m = 32, .n = 32, .k = 32};
    kernel({.grid = cdiv(M, tile.m) * cdiv(N, tile.n)}, a, b, bias, c, M, N, K, tile, epilogue);
  };
  launch(65, 35, 131);
  for (int k = 1; k < 96; k += 2) launch(k % 32, (k + 10) % 32, (k + 20) % 96);
}

void launch_attention(Inputs& in) {
  Kernel kernel("attention", ::attention::attention);
  const auto view_of = [](auto& buffer, int heads, int length) { return view(buffer, {heads, length, 64}); };
  const auto launch = [&](int heads, int length, int blocks) {
    const int count = heads * length * 64;
    auto &q = in.floats(count), &k = in.floats(count), &v = in.floats(count), &out = in.filled(count, kNone);
    View<const float, 3> q_view = view_of(q, heads, length), k_view = view_of(k, heads, length), v_view = view_of(v, heads, length);
    View<float, 3> out_view = view_of(out, heads, length);
    kernel({.grid = {blocks, heads}}, q_view, k_view, v_view, out_view, 0.125f, ::attention::Sizes{.causal = true});
  };
  launch(2, 150, 3);
  for (int length = 2; length < 64; length += 4) launch(1, length, 1);
  launch(1, 66, 2);
  launch(1, 130, 3);
  // No iteration. Kernels for sm_90a know which extents are 0: there this would be one of its own, whose loops are dead with all their mutants.
  if (in.device().name() != "emulator:sm_90a") launch(1, 0, 1);
}

void launch_histogram(Inputs& in) {
  Kernel kernel("histogram", ::histogram::histogram);
  for (int k = 0; k < 17; ++k) {
    const int count = k == 0 ? 10'003 : k < 9 ? 63 + 2 * k : 2095 + 2 * k;
    auto& values = in.integers<std::uint8_t>(count, 0, 255);
    auto& bins = in.filled<std::int32_t>(256, 0);
    kernel({.grid = 2}, values, bins, count, 4096);
  }
}

void launch_embedding(Inputs& in) {
  Kernel forward("look_up", ::embedding::look_up), backward("add_gradients", ::embedding::add_gradients);
  constexpr int kWidth = 256, kTokens = 8, kRows = 50;
  for (const int count : {13, 1, 3, 5, 7, 17}) {
    auto &table = in.floats(kRows * kWidth), &out = in.filled(count * kWidth, kNone), &gradients = in.floats(count * kWidth);
    auto& table_gradient = in.filled(kRows * kWidth, 0.0f);
    // In the last launch, programs have the same tokens.
    std::vector<std::int32_t> repeated(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) repeated[static_cast<std::size_t>(k)] = k % kTokens;
    auto& tokens = count == 17 ? in.upload(repeated) : in.integers<std::int32_t>(count, 0, kRows - 1);
    forward({.grid = cdiv(count, kTokens)}, tokens, table, out, count, kTokens, kWidth);
    backward({.grid = cdiv(count, kTokens)}, tokens, gradients, table_gradient, count, kTokens, kWidth);
  }
}

void launch_sampling(Inputs& in) {
  Kernel kernel("topk_sampling", ::sampling::sample);
  constexpr int kVocabulary = 1024, kRows = 2;
  auto& logits = in.floats(kRows * kVocabulary);
  auto& tokens = in.filled(kRows, -1);
  kernel({.grid = kRows}, logits, tokens, kVocabulary, 0.7f, std::uint64_t{0x0123456789abcdef}, kVocabulary, 64);
}

void launch_recurrence(Inputs& in) {
  Kernel kernel("linear_recurrence", ::recurrence::recurrence);
  for (int T = 77; T > 0; T -= T > 32 ? 46 : 2) {
    const int C = (T * 4 + 2) % 68;
    auto &a = in.floats(T * C), &b = in.floats(T * C), &h = in.filled(T * C, kNone);
    kernel({.grid = cdiv(C, 64)}, a, b, h, T, C, 32, 64);
  }
}

void launch_quantise(Inputs& in) {
  Kernel to("to_int8", ::quantise::to_int8);
  Kernel from("from_int8", ::quantise::from_int8);
  for (const int columns : {333, 65, 193, 449}) {
    auto &x = in.floats(2 * columns), &scales = in.filled(2, kNone), &back = in.filled(2 * columns, kNone);
    auto& q = in.filled<std::int8_t>(2 * columns, 99);
    to({.grid = 2}, x, q, scales, columns, 512);
    from({.grid = 2}, q, scales, back, columns, 512);
  }
  Kernel to_mx("to_mx", ::quantise::to_mx);
  Kernel product("product", ::quantise::product);
  const auto multiply = [&](int M, int N, int K) {
    auto &a = in.floats(M * K), &b = in.floats(N * K), &c = in.filled(M * N, kNone);
    auto &aq = in.filled(M * K, f8e4m3(1.0f)), &bq = in.filled(N * K, f8e4m3(1.0f));
    auto &a_scales = in.filled<std::uint8_t>(M * K / 32, 0), &b_scales = in.filled<std::uint8_t>(N * K / 32, 0);
    to_mx({.grid = M}, a, aq, a_scales, K, 128);
    to_mx({.grid = N}, b, bq, b_scales, K, 128);
    product({.grid = {cdiv(M, 64), cdiv(N, 64)}}, aq, a_scales, bq, b_scales, c, M, N, K, ::quantise::Sizes());
  };
  multiply(70, 50, 96);
  for (int m = 2; m < 64; m += 4) multiply(m, (m + 20) % 64, m % 8 == 2 ? 32 : 160);
  multiply(2, 2, 128);
}

void launch_dropout(Inputs& in) {
  Kernel kernel("dropout", ::dropout::dropout);
  for (const int n : {1025 + 512, 65, 67, 197, 199, 321, 449, 577, 579, 705, 833, 961}) {
    auto &x = in.floats(n), &y = in.filled(n, kNone);
    kernel({.grid = cdiv(n, 1024)}, x, y, n, 0.25f, std::uint64_t{0xfedcba9876543210}, 1024);
  }
}

}  // namespace

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"01_vector_add", launch_vector_add},  {"02_softmax", launch_softmax},        {"03_layer_norm", launch_layer_norm},
      {"04_matmul_epilogue", launch_matmul}, {"05_attention", launch_attention},    {"06_histogram", launch_histogram},
      {"07_embedding", launch_embedding},    {"08_topk_sampling", launch_sampling}, {"09_linear_recurrence", launch_recurrence},
      {"10_quantise", launch_quantise},      {"11_dropout", launch_dropout},
  };
  return all;
}

}  // namespace tilewright::test
