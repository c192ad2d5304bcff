// One kernel for each family of ops, on a tile of `block` elements: shows the compile time of an op and its growth with the tile.
#pragma once
#include <tilewright/tilewright.h>

namespace bench::families {

namespace tw = tilewright;

using In = tw::Ptr<const float>;
using Out = tw::Ptr<float>;

inline tw::F32 input(In x, int block) { return tw::load(x + tw::program_id(0) * block + tw::arange(0, block)); }
template <class T>
void output(Out y, const tw::Tile<T>& t, int block) {
  tw::store(y + tw::program_id(0) * block + tw::arange(0, block), t.template to<float>());
}
/// Rows of 64 elements, or fewer.
inline tw::F32 rows(const tw::F32& t, int block) { return tw::reshape(t, {block / 64, 64}); }

inline void arithmetic(In x, Out y, int block) { output(y, input(x, block) * 2.0f + 1.0f, block); }
inline void exponential(In x, Out y, int block) { output(y, tw::exp(input(x, block)), block); }
inline void trigonometry(In x, Out y, int block) { output(y, tw::sin(input(x, block)), block); }
inline void power(In x, Out y, int block) { output(y, tw::pow(input(x, block), 2.5f), block); }
inline void conversions(In x, Out y, int block) { output(y, input(x, block).to<tw::f16>().to<tw::f8e4m3>(), block); }
inline void integer_division(In x, Out y, int block) { output(y, input(x, block).to<int>() / 7 % 3, block); }
inline void strided(In x, Out y, int block) { output(y, tw::load(x + tw::arange(0, block) * 3), block); }
inline void masked(In x, Out y, int block) {
  auto i = tw::arange(0, block);
  tw::store(y + i, tw::load(x + i, i < 1000, -tw::inf), i < 999);
}
inline void transpose(In x, Out y, int block) { output(y, tw::ravel(tw::transpose(rows(input(x, block), block))), block); }
inline void flip(In x, Out y, int block) { output(y, tw::flip(input(x, block), 0), block); }
inline void reduction(In x, Out y, int block) { tw::store(y, tw::sum(input(x, block))); }
inline void row_reduction(In x, Out y, int block) {
  auto t = rows(input(x, block), block);
  output(y, tw::ravel(t - tw::column(tw::max(t, 1))), block);
}
inline void argmax(In x, Out y, int block) { tw::store(y, tw::argmax(input(x, block), 0).to<float>()); }
inline void scan(In x, Out y, int block) { output(y, tw::cumsum(input(x, block), 0), block); }
inline void sort(In x, Out y, int block) { output(y, tw::sort(input(x, block)), block); }
inline void topk(In x, Out y, int block) {
  auto [values, indices] = tw::topk(input(x, block), 8);
  tw::store(y + tw::arange(0, 8), values + indices.to<float>());
}
inline void gather(In x, Out y, int block) {
  auto t = input(x, block);
  output(y, tw::gather(t, t.to<int>(), 0), block);
}
inline void histogram(In x, Out y, int block) {
  tw::store(y + tw::arange(0, 64), tw::histogram(input(x, block).to<int>(), 64).to<float>());
}
inline void atomic(In x, Out y, int block) { tw::atomic_add(y + input(x, block).to<int>() % 64, 1.0f); }
inline void philox(In x, Out y, int block) { output(y, input(x, block) + tw::rand(7, tw::arange(0, block)), block); }
inline void loop(In x, Out y, int block) {
  auto t = input(x, block);
  for (auto i : tw::range(0, 16)) t = t * 0.5f + i.to<float>();
  output(y, t, block);
}

/// Calls visit(name, kernel) for each of them.
template <class V>
void each(V&& visit) {
#define TW_FAMILY(NAME) visit(#NAME, NAME);
  // clang-format off
  TW_FAMILY(arithmetic) TW_FAMILY(exponential) TW_FAMILY(trigonometry) TW_FAMILY(power) TW_FAMILY(conversions)
  TW_FAMILY(integer_division) TW_FAMILY(strided) TW_FAMILY(masked) TW_FAMILY(transpose) TW_FAMILY(flip) TW_FAMILY(reduction)
  TW_FAMILY(row_reduction) TW_FAMILY(argmax) TW_FAMILY(scan) TW_FAMILY(sort) TW_FAMILY(topk) TW_FAMILY(gather)
  TW_FAMILY(histogram) TW_FAMILY(atomic) TW_FAMILY(philox) TW_FAMILY(loop)
  // clang-format on
#undef TW_FAMILY
}

}  // namespace bench::families
