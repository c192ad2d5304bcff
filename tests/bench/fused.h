// Fused kernels by hand, as a person writes them who knows the algebra: what derived kernels are measured against.
#pragma once
#include <tilewright/tilewright.h>

namespace bench {

namespace tw = tilewright;

/// y = rms_norm(x, gamma) w: the norm is applied behind the loop.
inline void norm_product(tw::Ptr<const float> x, tw::Ptr<const float> gamma, tw::Ptr<const float> w, tw::Ptr<float> y, tw::I32 M, tw::I32 N,
                         tw::I32 K, int block, int step) {
  auto i = tw::column(tw::program_id(0) * block + tw::arange(0, block)), j = tw::row(tw::program_id(1) * block + tw::arange(0, block));
  auto sum = tw::zeros<float>({block, block});
  auto squares = tw::zeros<float>({block});
  for (auto at : tw::range(0, K, step)) {
    auto k = at + tw::arange(0, step);
    auto rows = tw::load(x + i * K + tw::row(k), i < M && tw::row(k) < K);
    auto gains = tw::load(gamma + k, k < K);
    auto columns = tw::load(w + tw::column(k) * N + j, tw::column(k) < K && j < N);
    squares = squares + tw::sum(rows * rows, 1);
    sum = tw::dot(rows * tw::row(gains), columns, sum);
  }
  auto scale = tw::rsqrt(squares / K.to<float>() + 1e-6f);
  tw::store(y + i * N + j, sum * tw::column(scale), i < M && j < N);
}

/// loss = logsumexp(x w^T) - (x w^T)[target] of each row; depth 128.
inline void cross_entropy(tw::Ptr<const float> x, tw::Ptr<const float> w, tw::Ptr<const std::int32_t> targets, tw::Ptr<float> loss,
                          tw::I32 rows, tw::I32 vocabulary, int block, int step) {
  constexpr int kDepth = 128;
  auto i = tw::program_id(0) * block + tw::arange(0, block);
  auto d = tw::arange(0, kDepth);
  auto left = tw::load(x + tw::column(i) * kDepth + tw::row(d), tw::column(i) < rows);
  auto target = tw::load(targets + i, i < rows);
  auto biggest = tw::full<float>({block}, -tw::inf);
  auto total = tw::zeros<float>({block}), picked = tw::zeros<float>({block});
  for (auto at : tw::range(0, vocabulary, step)) {
    auto j = at + tw::arange(0, step);
    auto right = tw::load(w + tw::column(j) * kDepth + tw::row(d), tw::column(j) < vocabulary);
    auto product = tw::dot(left, tw::transpose(right));
    auto logits = tw::where(tw::row(j) < vocabulary, product, -tw::inf);
    auto bigger = tw::maximum(biggest, tw::max(logits, 1));
    total = total * tw::exp(biggest - bigger) + tw::sum(tw::exp(logits - tw::column(bigger)), 1);
    picked = picked + tw::sum(tw::where(tw::row(j) == tw::column(target), product, 0.0f), 1);
    biggest = bigger;
  }
  tw::store(loss + i, biggest + tw::log(total) - picked, i < rows);
}

/// c = silu(a b + bias).
inline void product_silu(tw::Ptr<const float> a, tw::Ptr<const float> b, tw::Ptr<const float> bias, tw::Ptr<float> c, tw::I32 M, tw::I32 N,
                         tw::I32 K, int block, int step) {
  auto i = tw::column(tw::program_id(0) * block + tw::arange(0, block)), j = tw::row(tw::program_id(1) * block + tw::arange(0, block));
  auto sum = tw::zeros<float>({block, block});
  for (auto at : tw::range(0, K, step)) {
    auto k = at + tw::arange(0, step);
    sum = tw::dot(tw::load(a + i * K + tw::row(k), i < M && tw::row(k) < K),
                  tw::load(b + tw::column(k) * N + j, tw::column(k) < K && j < N), sum);
  }
  tw::store(c + i * N + j, tw::silu(sum + tw::load(bias + j, j < N)), i < M && j < N);
}

}  // namespace bench
