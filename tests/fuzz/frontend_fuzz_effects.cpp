// Calls of loads, stores, atomics, dot, prints and control flow. Each call is on one line, which its errors must name.
#include <utility>

#include "tests/fuzz/frontend_fuzz.h"

namespace tilewright::fuzz {

void Caller::memory() {
  const auto p = of<Ptr<float>>();
  switch (r_.below(6)) {
    case 0: return attempt([&] { put(load(p)); });
    case 1: return attempt([&] { put(load(p, of<Bool>())); });
    case 2: return attempt([&] { put(load(p, of<Bool>(), of<F32>(), {.cache = Cache::streaming})); });
    case 3: return attempt([&] { put(load(of<Ptr<const std::int32_t>>(), true, 3)); });
    case 4: return attempt([&] { store(p, of<F32>(), of<Bool>()); });
    default: return attempt([&] { store(p, 1.0); });
  }
}

void Caller::atomics() {
  const auto p = of<Ptr<float>>();
  switch (r_.below(4)) {
    case 0: return attempt([&] { put(atomic_add(p, of<F32>(), of<Bool>())); });
    case 1: return attempt([&] { put(atomic_max(p, 2)); });
    case 2: return attempt([&] { put(atomic_cas(p, of<F32>(), 0, of<Bool>())); });
    default: return attempt([&] { put(atomic_exchange(p, of<F32>(), false, {.order = Order::release})); });
  }
}

void Caller::products() {
  switch (r_.below(5)) {
    case 0: return attempt([&] { put(dot(of<F32>(), of<F32>())); });
    case 1: return attempt([&] { put(dot(of<F16>(), of<F16>(), of<F32>())); });
    case 2: return attempt([&] { put(dot(of<I8>(), of<I8>())); });
    case 3: return attempt([&] { put(dot(of<F64>(), of<F64>(), of<F64>(), Precision::ieee)); });
    default: {
      const auto fp8 = of<Tile<f8e4m3>>();
      return attempt([&] { put(dot(fp8, of<Tile<f8e4m3>>())); });
    }
  }
}

void Caller::speak() {
  switch (r_.below(8)) {
    case 0: return attempt([&] { device_print("x = {}", of<F32>()); });
    case 1: return attempt([&] { device_print(r_.chance(50) ? "x = {} {}" : "{:.3f", of<F32>()); });
    case 2: return attempt([&] { device_assert(of<Bool>(), "holds", of<Bool>()); });
    case 3: return attempt([&] { put(assume(of<Bool>())); });
    case 4: return attempt([&] { put(multiple_of(of<I32>(), r_.between(-1, 8))); });
    case 5: return attempt([&] { put(max_contiguous(of<Ptr<float>>(), r_.between(0, 8))); });
    case 6:
      return attempt([&] { put(inline_ptx<float>("mov.f32 $0, $1;", r_.chance(80) ? "=f,f" : "=", of<F32>(), [](F32 x) { return x; })); });
    default: return attempt([&] { put(inline_ptx<float>("mov.f32 $0, $1;", "=f,f", of<F32>())); });
  }
}

void Caller::draw() {
  switch (r_.below(3)) {
    case 0: return attempt([&] { put(rand(r_.next(), of<I32>())); });
    case 1: return attempt([&] { put(philox(of<I64>(), of<I32>(), 2)[3]); });
    default: return attempt([&] { put(randn(of<U32>(), of<U32>())); });
  }
}

void Caller::forget() { put(r_.chance(50) ? AnyTile(F32()) : AnyTile(I32())); }

void Caller::loop() {
  if (depth_ >= 2) return create();
  ++depth_;
  const auto lo = r_.between(-2, 2), hi = r_.between(-2, 9), step = r_.chance(95) ? r_.between(-2, 2) : 0;
  const RangeOptions options{.num_stages = {}, .unroll = static_cast<int>(r_.between(-1, 20))};
  const bool wide = r_.chance(30);
  switch (r_.below(3)) {
    case 0: {
      const I32 bound = of<I32>();  // may be a tile, and then no bound
      attempt_region([&] {
        for (I32 i : range(0, bound, static_cast<int>(step))) {
          put(i);
          some_steps(3);
        }
      });
      break;
    }
    case 1:
      attempt_region([&] {
        for (auto i : range(lo, wide ? I64(hi) : I64(3), 1, r_.chance(20) ? options : RangeOptions{})) {
          put(i);
          some_steps(3);
        }
      });
      break;
    default: {
      I32 i = 0;
      attempt_region([&] {
        loop_while([&] { return i < 3; },
                   [&] {
                     i += 1;
                     some_steps(2);
                   });
      });
      break;
    }
  }
  --depth_;
}

void Caller::branch() {
  if (depth_ >= 2) return create();
  ++depth_;
  Bool condition;
  if (r_.chance(70)) attempt([&] { condition = of<I32>() < 3; });
  if (r_.chance(30)) condition = of<Bool>();
  attempt_region([&] { when(condition, [&] { some_steps(3); }, [&] { some_steps(2); }); });
  --depth_;
}

}  // namespace tilewright::fuzz
