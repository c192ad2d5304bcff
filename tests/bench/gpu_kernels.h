// Row kernels and a product as they are written for GPUs: those of frontend/cli/bench/peers/triton_kernels.py, line by line.
#pragma once
#include <tilewright/tilewright.h>

namespace bench::gpu {

namespace tw = tilewright;

using In = tw::Ptr<const float>;
using Out = tw::Ptr<float>;

inline void vector_add(In x, In y, Out out, tw::I32 n, int block) {
  auto at = tw::program_id(0) * block + tw::arange(0, block);
  auto live = at < n;
  tw::store(out + at, tw::load(x + at, live) + tw::load(y + at, live), live);
}

inline void softmax(Out out, In x, tw::I32 ld_out, tw::I32 ld_x, tw::I32 n, int block) {
  auto row = tw::program_id(0);
  auto col = tw::arange(0, block);
  auto live = col < n;
  auto v = tw::load(x + row * ld_x + col, live, -tw::inf);
  auto e = tw::exp(v - tw::max(v, 0));
  tw::store(out + row * ld_out + col, e / tw::sum(e, 0), live);
}

/// Sums in one sweep over the row, the result in a second.
inline void layer_norm(In x, Out out, In weight, In bias, Out means, Out scales, tw::I32 ld, tw::I32 n, tw::F32 eps, int block) {
  auto row = tw::program_id(0);
  auto src = x + row * ld;
  auto dst = out + row * ld;
  auto s = tw::zeros<float>({block}), q = tw::zeros<float>({block});
  for (auto at : tw::range(0, n, block)) {
    auto col = at + tw::arange(0, block);
    auto v = tw::load(src + col, col < n);
    s += v;
    q += v * v;
  }
  auto count = n.to<float>();
  auto mean = tw::sum(s, 0) / count;
  auto scale = 1.0f / tw::sqrt(tw::sum(q, 0) / count - mean * mean + eps);
  tw::store(means + row, mean);
  tw::store(scales + row, scale);
  for (auto at : tw::range(0, n, block)) {
    auto col = at + tw::arange(0, block);
    auto live = col < n;
    auto v = tw::load(src + col, live);
    tw::store(dst + col, (v - mean) * scale * tw::load(weight + col, live) + tw::load(bias + col, live), live);
  }
}

inline void transpose(In x, Out out, tw::I32 ld_x, tw::I32 ld_out, tw::I32 M, tw::I32 N, int bm, int bn) {
  auto i = tw::program_id(0) * bm + tw::arange(0, bm);
  auto j = tw::program_id(1) * bn + tw::arange(0, bn);
  auto t = tw::load(x + tw::column(i) * ld_x + tw::row(j), tw::column(i) < M && tw::row(j) < N);
  tw::store(out + tw::column(j) * ld_out + tw::row(i), tw::transpose(t), tw::column(j) < N && tw::row(i) < M);
}

inline void row_sum(In x, Out out, tw::I32 ld, tw::I32 n, int block) {
  auto row = tw::program_id(0);
  auto col = tw::arange(0, block);
  tw::store(out + row, tw::sum(tw::load(x + row * ld + col, col < n), 0));
}

/// In f32 throughout.
inline void matmul(In a, In b, Out c, tw::I32 M, tw::I32 N, tw::I32 K, tw::I32 lda, tw::I32 ldb, tw::I32 ldc, int bm, int bn, int bk) {
  auto i = tw::column(tw::program_id(0) * bm + tw::arange(0, bm));
  auto j = tw::row(tw::program_id(1) * bn + tw::arange(0, bn));
  auto k = tw::arange(0, bk);
  auto sum = tw::zeros<float>({bm, bn});
  for (auto at : tw::range(0, K, bk)) {
    auto ka = tw::row(at + k), kb = tw::column(at + k);
    auto ta = tw::load(a + i * lda + ka, i < M && ka < K);
    auto tb = tw::load(b + kb * ldb + j, kb < K && j < N);
    sum = tw::dot(ta, tb, sum, tw::Precision::ieee);
  }
  tw::store(c + i * ldc + j, sum, i < M && j < N);
}

/// The sum over K of one tile of a product by matrix instructions. B is [K, N] or, transposed, [N, K].
template <class T, class S, bool kTransposed>
tw::Tile<S> product_tile(tw::Ptr<const T> a, tw::Ptr<const T> b, const tw::I32& i, const tw::I32& j, const tw::I32& M, const tw::I32& N,
                         const tw::I32& K, const tw::I32& lda, const tw::I32& ldb, int bm, int bn, int bk) {
  auto k = tw::arange(0, bk);
  auto sum = tw::zeros<S>({bm, bn});
  for (auto at : tw::range(0, K, bk)) {
    auto ka = tw::row(at + k), kb = tw::column(at + k);
    auto ta = tw::load(a + i * lda + ka, i < M && ka < K);
    auto tb = kTransposed ? tw::load(b + j * ldb + kb, kb < K && j < N) : tw::load(b + kb * ldb + j, kb < K && j < N);
    sum = tw::dot(ta, tb, sum);
  }
  return sum;
}

template <class T, class S, bool kTransposed>
void product(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<S> c, tw::I32 M, tw::I32 N, tw::I32 K, tw::I32 lda, tw::I32 ldb, tw::I32 ldc,
             int bm, int bn, int bk) {
  auto i = tw::column(tw::program_id(0) * bm + tw::arange(0, bm));
  auto j = tw::row(tw::program_id(1) * bn + tw::arange(0, bn));
  auto sum = product_tile<T, S, kTransposed>(a, b, i, j, M, N, K, lda, ldb, bm, bn, bk);
  tw::store(c + i * ldc + j, sum, i < M && j < N);
}

/// A product on a grid of one axis: programs that run at the same time share rows of A and columns of B, which L2 then holds. The result is
/// of type C: as narrow as the factors, as libraries have it.
template <class T, class S, class C, bool kTransposed>
void product_grouped(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<C> c, tw::I32 M, tw::I32 N, tw::I32 K, tw::I32 lda, tw::I32 ldb,
                     tw::I32 ldc, int bm, int bn, int bk, int group) {
  auto [tile_m, tile_n] = tw::grouped_order(tw::program_id(0), tw::cdiv(M, bm), tw::cdiv(N, bn), group);
  auto i = tw::column(tile_m * bm + tw::arange(0, bm)), j = tw::row(tile_n * bn + tw::arange(0, bn));
  auto sum = product_tile<T, S, kTransposed>(a, b, i, j, M, N, K, lda, ldb, bm, bn, bk);
  tw::store(c + i * ldc + j, tw::cast<C>(sum), i < M && j < N);
}

/// One head a program along axis 1; heads are [length, depth].
inline void attention(tw::Ptr<const tw::f16> q, tw::Ptr<const tw::f16> k, tw::Ptr<const tw::f16> v, tw::Ptr<tw::f16> out, tw::I32 length,
                      tw::F32 scale, int bm, int bn, int depth) {
  auto head = tw::program_id(1) * length * depth;
  auto rows = tw::column(tw::program_id(0) * bm + tw::arange(0, bm));
  auto d = tw::arange(0, depth);
  auto tq = tw::load(q + head + rows * depth + tw::row(d), rows < length);
  auto biggest = tw::full<float>({bm}, -tw::inf);
  auto total = tw::zeros<float>({bm});
  auto sum = tw::zeros<float>({bm, depth});
  for (auto at : tw::range(0, length, bn)) {
    auto n = at + tw::arange(0, bn);
    auto tk = tw::load(k + head + tw::row(n) * depth + tw::column(d), tw::row(n) < length);
    auto scores = tw::where(tw::row(n) < length, tw::dot(tq, tk) * scale, -tw::inf);
    auto bigger = tw::maximum(biggest, tw::max(scores, 1));
    auto weights = tw::exp(scores - tw::column(bigger)), rescale = tw::exp(tw::column(biggest - bigger));
    total = total * tw::reshape(rescale, {bm}) + tw::sum(weights, 1);
    auto tv = tw::load(v + head + tw::column(n) * depth + tw::row(d), tw::column(n) < length);
    sum = tw::dot(weights.to<tw::f16>(), tv, sum * rescale);
    biggest = bigger;
  }
  tw::store(out + head + rows * depth + tw::row(d), (sum / tw::column(total)).to<tw::f16>(), rows < length);
}

}  // namespace bench::gpu
