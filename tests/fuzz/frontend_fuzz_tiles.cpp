// Calls that compute tiles from tiles. Each call is on one line, which its errors must name.
#include <cmath>
#include <tuple>
#include <utility>

#include "tests/fuzz/frontend_fuzz.h"

namespace tilewright::fuzz {

namespace {
template <class H>
using ElementOf = typename std::remove_cvref_t<H>::element_type;
}  // namespace

void Caller::create() {
  switch (r_.below(9)) {
    case 0: return attempt([&] { put(program_id(axis())); });
    case 1: return attempt([&] { put(num_programs(axis())); });
    case 2: {
      const std::int64_t lo = r_.chance(90) ? 0 : r_.between(-5, 5), hi = extent();
      return attempt([&] { put(arange(lo, lo + hi)); });
    }
    case 3: return attempt([&] { put(full<float>(shape(), r_.chance(80) ? 1.5 : 1e300)); });
    case 4: return attempt([&] { put(full<std::int8_t>(shape(), r_.between(-140, 140))); });
    case 5: return attempt([&] { put(zeros<f16>(shape())); });
    case 6: return attempt([&] { put(ones<std::uint32_t>(shape())); });
    case 7: return attempt([&] { put(full<bool>(shape(), true)); });
    default: return attempt([&] { put(full<f8e4m3>(shape(), r_.chance(70) ? 2.0 : INFINITY)); });
  }
}

void Caller::reshape() {
  std::visit(
      [&](auto& t) {
        const auto u = of<std::remove_cvref_t<decltype(t)>>();
        switch (r_.below(14)) {
          case 0: return attempt([&] { put(column(t)); });
          case 1: return attempt([&] { put(row(t)); });
          case 2: return attempt([&] { put(transpose(t)); });
          case 3: return attempt([&] { put(ravel(t)); });
          case 4: return attempt([&] { put(expand_dims(t, axis())); });
          case 5: return attempt([&] { put(squeeze(t, axis())); });
          case 6: return attempt([&] { put(broadcast_to(t, shape())); });
          case 7: return attempt([&] { put(tilewright::reshape(t, shape())); });
          case 8: {
            Shape axes;
            for (std::size_t n = r_.below(4); n > 0; --n) axes.push_back(axis());
            return attempt([&] { put(permute(t, axes)); });
          }
          case 9: return attempt([&] { put(flip(t, axis())); });
          case 10: return attempt([&] { put(join(t, u)); });
          case 11: return attempt([&] { put(split(t).second); });
          case 12: return attempt([&] { put(interleave(t, u)); });
          default: return attempt([&] { put(cat(t, u, axis())); });
        }
      },
      any());
}

void Caller::unary() {
  std::visit(
      [&](auto& t) {
        using T = ElementOf<decltype(t)>;
        if constexpr (FloatElement<T>) {
          switch (r_.below(16)) {
            case 11: return attempt([&] { put(atan2(t, 1)); });
            case 12: return attempt([&] { put(cbrt(t)); });
            case 13: return attempt([&] { put(log1p(t)); });
            case 14: return attempt([&] { put(roll(t, r_.between(-9, 9), axis())); });
            case 0: return attempt([&] { put(exp(t)); });
            case 1: return attempt([&] { put(log2(t)); });
            case 2: return attempt([&] { put(sin(t)); });
            case 3: return attempt([&] { put(erf(t)); });
            case 4: return attempt([&] { put(rsqrt(t)); });
            case 5: return attempt([&] { put(isnan(t)); });
            case 6: return attempt([&] { put(fast::tanh(t)); });
            case 7: return attempt([&] { put(softmax(t, axis())); });
            case 8: return attempt([&] { put(gelu(t)); });
            case 9: return attempt([&] { put(sigmoid(t)); });
            case 10: return attempt([&] { put(log_softmax(t, axis())); });
            default: return attempt([&] { put(round(t)); });
          }
        }
        if constexpr (IntegerElement<T>) {
          if (r_.chance(50)) return attempt([&] { put(popcount(t)); });
          return attempt([&] { put(~t); });
        }
        if constexpr (NumberElement<T>) return attempt([&] { put(-t); });
        if constexpr (BoolElement<T>) return attempt([&] { put(!t); });
        return attempt([&] { put(t); });
      },
      any());
}

void Caller::binary() {
  std::visit(
      [&](auto& t) {
        using T = ElementOf<decltype(t)>;
        const auto u = of<std::remove_cvref_t<decltype(t)>>();
        if constexpr (PointerElement<T>) {
          if (r_.chance(50)) return attempt([&] { put(t + of<I32>()); });
          if (r_.chance(50)) return attempt([&] { put(t - r_.between(-4, 4)); });
          return attempt([&] { put(where(of<Bool>(), t, u)); });
        }
        if constexpr (IntegerElement<T>) {
          switch (r_.below(4)) {
            case 0: return attempt([&] { put(t % u); });
            case 1: return attempt([&] { put(t << r_.between(-2, 70)); });
            case 2: return attempt([&] { put(t & u); });
            default: break;
          }
        }
        if constexpr (FloatElement<T>) {
          switch (r_.below(5)) {
            case 0: return attempt([&] { put(fma(t, u, 1e5)); });
            case 1: return attempt([&] { put(pow(t, u)); });
            case 2: return attempt([&] { put(div_rn(t, 3.0)); });
            case 3: return attempt([&] { put(fast::div(t, u)); });
            default: break;
          }
        }
        if constexpr (NumberElement<T>) {
          switch (r_.below(8)) {
            case 0: return attempt([&] { put(t + u); });
            case 1: return attempt([&] { put(t * u); });
            case 2: return attempt([&] { put(t / u); });
            case 3: return attempt([&] { put(t - r_.between(-300, 300)); });
            case 4: return attempt([&] { put(t < u); });
            case 5: return attempt([&] { put(maximum(t, u)); });
            case 6: return attempt([&] { put(clamp(t, 0, u)); });
            default: return attempt([&] { t += u; });
          }
        }
        if constexpr (BoolElement<T>) return attempt([&] { put(t && u); });
        return attempt([&] { put(where(of<Bool>(), t, u)); });
      },
      any());
}

void Caller::convert() {
  std::visit(
      [&](auto& t) {
        using T = ElementOf<decltype(t)>;
        if constexpr (ValueElement<T>) {
          switch (r_.below(7)) {
            case 0: return attempt([&] { put(cast<float>(t)); });
            case 1: return attempt([&] { put(cast<std::int8_t>(t)); });
            case 2: return attempt([&] { put(cast<bool>(t)); });
            case 3: return attempt([&] { put(cast<f16>(t)); });
            case 4: return attempt([&] { put(cast<f8e4m3>(t)); });
            case 5:
              if constexpr (sizeof(T) == 4) return attempt([&] { put(t.template bitcast<std::uint32_t>()); });
              break;
            default: return attempt([&] { put(cast<std::int32_t>(t)); });
          }
        }
        if (r_.chance(50)) return attempt([&] { put(I32(static_cast<int>(t.rank()))); });
        return attempt([&] { put(I32(t.extent(axis()))); });
      },
      any());
}

void Caller::combine() {
  std::visit(
      [&](auto& t) {
        using H = std::remove_cvref_t<decltype(t)>;
        using T = ElementOf<H>;
        if constexpr (NumberElement<T>) {
          const auto add = [](H a, H b) { return a + b; };
          switch (r_.below(14)) {
            case 0: return attempt([&] { put(sum(t, axis(), r_.chance(30))); });
            case 1: return attempt([&] { put(max(t)); });
            case 2: return attempt([&] { put(argmin(t, axis())); });
            case 3: return attempt([&] { put(prod(t, axis())); });
            case 4: return attempt([&] { put(cumsum(t, axis(), r_.chance(50))); });
            case 5: return attempt([&] { put(cummax(t, axis())); });
            case 6: return attempt([&] { put(reduce(t, axis(), add)); });
            case 7: return attempt([&] { put(scan(t, axis(), add, r_.chance(50))); });
            case 8: return attempt([&] { put(sort(t, r_.chance(50))); });
            case 9: return attempt([&] { put(sort(t, of<F32>()).second); });
            case 10: return attempt([&] { put(argsort(t)); });
            case 11: return attempt([&] { put(topk(t, extent()).second); });
            case 12: {
              // It uses a tile from outside, or assigns to one: the error leaves it early, and so ends the trace.
              const auto wrong = [&](H a, H b) { return r_.chance(50) ? a + t : (t = b); };
              return attempt_region([&] { put(reduce(t, axis(), wrong)); });
            }
            default: {
              const auto both = [](std::tuple<H, I32> a, std::tuple<H, I32> b) { return std::tuple(std::get<0>(a), std::get<1>(b)); };
              return attempt([&] { put(std::get<1>(reduce(std::tuple(t, of<I32>()), axis(), both))); });
            }
          }
        }
        if constexpr (BoolElement<T>) return attempt([&] { put(r_.chance(50) ? tilewright::any(t, axis()) : all(t)); });
        return attempt([&] { put(gather(t, of<I32>(), axis())); });
      },
      any());
}

void Caller::choose() {
  std::visit(
      [&](auto& t) {
        using T = ElementOf<decltype(t)>;
        if constexpr (IntegerElement<T>) return attempt([&] { put(histogram(t, extent(), of<Bool>())); });
        return attempt([&] { put(gather(t, of<I64>(), axis())); });
      },
      any());
}

}  // namespace tilewright::fuzz
