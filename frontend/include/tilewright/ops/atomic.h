// Atomics through tiles of pointers.
#pragma once
#include "tilewright/ops/memory.h"

namespace tilewright {

/// What an atomic orders: acquire orders what follows it in its program, release what precedes it, acq_rel both.
enum class Order { relaxed, acquire, release, acq_rel };
/// Which threads see the atomic as one step: those of its program, of the device, or of the host and other devices too.
enum class Scope { block, device, system };
/// The order and the scope of an atomic.
struct AtomicOptions {
  Order order = Order::acq_rel;
  Scope scope = Scope::device;
};

namespace detail {

template <class P>
concept AtomicNumber = Writable<P> && NumberElement<Pointee<P>>;
template <class P>
concept AtomicInteger = Writable<P> && IntegerElement<Pointee<P>>;

enum class Atomic : std::uint8_t { add, max, min, bit_and, bit_or, bit_xor, exchange };

Made atomic(Atomic, const Handle& pointer, const Maybe& value, const Maybe& mask, const AtomicOptions&, const Here&);
Made atomic_cas(const Handle& pointer, const Maybe& expected, const Maybe& desired, const Maybe& mask, const AtomicOptions&, const Here&);

}  // namespace detail

#define TW_ATOMIC(name, kind, operation)                                                                                          \
  template <detail::kind P>                                                                                                       \
  Tile<detail::Pointee<P>> name(const Tile<P>& p, detail::Fixed<detail::Value<detail::Pointee<P>>> value, detail::Mask mask = {}, \
                                AtomicOptions options = {}, Here at = Here::current()) {                                          \
    return Tile<detail::Pointee<P>>(detail::atomic(detail::Atomic::operation, p, value, mask, options, at));                      \
  }
/// Adds value; works for f16 and bf16 too. Integers wrap; float sums depend on the order of the programs.
///
/// For all atomics: elements are 32- and 64-bit integers, f32 and f64. The result is the old value of the element; where the mask is false,
/// the element is not accessed and the result is 0. Lanes with the same address take effect one after the other; each returns the value
/// that the lane before it wrote. The order of these lanes is not specified and may differ between runs: the cpu uses row-major order, a
/// GPU does not. For example, after 256 atomic_exchange(p, i) at one address, the value of any lane may remain.
///
/// value and mask broadcast to the shape of p, never the reverse; with a scalar p, the atomic happens once per program. An address must be
/// a multiple of the element's size. Checked mode reports others; otherwise an x86 cpu is very slow if an element crosses a cache line, and
/// a GPU fails.
///
/// Programs start in the order of their numbers (axis 0 fastest), so a program may wait for a program with a lower number: for example, the
/// other program sets a flag with Order::release, and this one reads it with Order::acquire by adding 0. A program that waits for a higher
/// number may wait forever.
TW_ATOMIC(atomic_add, AtomicNumber, add)
/// The greater value, as by maximum: NaN wins, +0 is above -0.
TW_ATOMIC(atomic_max, AtomicNumber, max)
/// The lesser value, as by minimum: NaN wins, -0 is below +0.
TW_ATOMIC(atomic_min, AtomicNumber, min)
/// old & value.
TW_ATOMIC(atomic_and, AtomicInteger, bit_and)
/// old | value.
TW_ATOMIC(atomic_or, AtomicInteger, bit_or)
/// old ^ value.
TW_ATOMIC(atomic_xor, AtomicInteger, bit_xor)
/// value itself.
TW_ATOMIC(atomic_exchange, AtomicNumber, exchange)
#undef TW_ATOMIC

/// Writes `desired` if the element has the bits of `expected` (so -0 differs from +0, and a NaN equals itself). Returns the old value,
/// which shows whether it was written.
template <detail::AtomicNumber P>
Tile<detail::Pointee<P>> atomic_cas(const Tile<P>& p, detail::Fixed<detail::Value<detail::Pointee<P>>> expected,
                                    detail::Fixed<detail::Value<detail::Pointee<P>>> desired, AtomicOptions options = {},
                                    Here at = Here::current()) {
  return Tile<detail::Pointee<P>>(detail::atomic_cas(p, expected, desired, {}, options, at));
}
/// Compares and exchanges where the mask is true; elsewhere it accesses nothing, and the result is 0.
template <detail::AtomicNumber P, std::convertible_to<detail::Mask> M>
Tile<detail::Pointee<P>> atomic_cas(const Tile<P>& p, detail::Fixed<detail::Value<detail::Pointee<P>>> expected,
                                    detail::Fixed<detail::Value<detail::Pointee<P>>> desired, const M& mask, Here at = Here::current()) {
  return Tile<detail::Pointee<P>>(detail::atomic_cas(p, expected, desired, detail::Mask(mask), {}, at));
}
/// With options, and a mask or `{}` for no mask.
template <detail::AtomicNumber P>
Tile<detail::Pointee<P>> atomic_cas(const Tile<P>& p, detail::Fixed<detail::Value<detail::Pointee<P>>> expected,
                                    detail::Fixed<detail::Value<detail::Pointee<P>>> desired, detail::Mask mask, AtomicOptions options,
                                    Here at = Here::current()) {
  return Tile<detail::Pointee<P>>(detail::atomic_cas(p, expected, desired, mask, options, at));
}

}  // namespace tilewright
