// Kernels of many operations, unrolled in C++: what compiling costs as the code grows.
#pragma once
#include <tilewright/tilewright.h>

#include <vector>

namespace bench::large {

namespace tw = tilewright;

using In = tw::Ptr<const float>;
using Out = tw::Ptr<float>;

/// Cholesky factors of 256 matrices [n, n], one a lane: n^3 / 6 multiply-adds, and strided accesses.
inline void cholesky(In a, Out factors, int n) {
  auto matrix = (tw::program_id(0) * 256 + tw::arange(0, 256)) * (n * n);
  std::vector<std::vector<tw::F32>> m(static_cast<std::size_t>(n), std::vector<tw::F32>(static_cast<std::size_t>(n)));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) m[i][j] = tw::load(a + matrix + (i * n + j));
  for (int k = 0; k < n; ++k) {
    m[k][k] = tw::sqrt(m[k][k]);
    for (int i = k + 1; i < n; ++i) m[i][k] = m[i][k] / m[k][k];
    for (int j = k + 1; j < n; ++j)
      for (int i = j; i < n; ++i) m[i][j] = m[i][j] - m[i][k] * m[j][k];
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) tw::store(factors + matrix + (i * n + j), m[i][j]);
}

/// A chain of multiply-adds by numbers that are all different.
inline void polynomial(In x, Out y, int degree) {
  auto at = tw::program_id(0) * 256 + tw::arange(0, 256);
  auto v = tw::load(x + at);
  auto sum = tw::zeros<float>({256});
  for (int i = 0; i < degree; ++i) sum = sum * (v + 1e-6f * static_cast<float>(i)) + 0.5f * static_cast<float>(i);
  tw::store(y + at, sum);
}

/// Stores that keep their order, and so a loop nest for each.
inline void stores(In x, Out y, int count) {
  auto at = tw::program_id(0) * 256 + tw::arange(0, 256);
  for (int i = 0; i < count; ++i) tw::store(y + at + i * 4096, tw::load(x + at + i * 4096) * 2.0f);
}

}  // namespace bench::large
