// Atomic operations and reductions on global and shared memory. They are also atomic operations of the host, because blocks of a launch run
// on several threads.
#include <atomic>
#include <type_traits>

#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/atomic_update.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/simd/host_atomics.h"
#include "runtime/emulator/simd/small_float.h"

namespace tilewright::rt::emulator {
namespace {

/// Computes the new value of memory; only cas uses c.
using Update = u64 (*)(u64 old, u64 b, u64 c);

template <class T>
u64 bits_of(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<u32>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<u64>(value);
  else
    return static_cast<u64>(value);
}
template <class T>
T value_of(u64 bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<u32>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(bits);
}

u64 exchange(u64, u64 b, u64) { return b; }
u64 compare_and_swap(u64 old, u64 b, u64 c) { return old == b ? c : old; }
u64 bit_and(u64 old, u64 b, u64) { return old & b; }
u64 bit_or(u64 old, u64 b, u64) { return old | b; }
u64 bit_xor(u64 old, u64 b, u64) { return old ^ b; }
u64 increment(u64 old, u64 b, u64) { return static_cast<u32>(old) >= static_cast<u32>(b) ? 0 : old + 1; }
u64 decrement(u64 old, u64 b, u64) { return old == 0 || static_cast<u32>(old) > static_cast<u32>(b) ? b : old - 1; }
template <class T>
u64 add(u64 old, u64 b, u64) {
  return bits_of<T>(static_cast<T>(value_of<T>(old) + value_of<T>(b)));
}
template <class T>
u64 minimum(u64 old, u64 b, u64) {
  return value_of<T>(b) < value_of<T>(old) ? b : old;
}
template <class T>
u64 maximum(u64 old, u64 b, u64) {
  return value_of<T>(old) < value_of<T>(b) ? b : old;
}
u64 add_f32(u64 old, u64 b, u64) { return bits_of(canonical(value_of<float>(old) + value_of<float>(b))); }
// In global memory, sums of f32 flush subnormal numbers to zero.
u64 add_f32_flushed(u64 old, u64 b, u64) { return bits_of(canonical(flush(flush(value_of<float>(old)) + flush(value_of<float>(b))))); }

enum class HalfOp { add, min, max };
template <bool Bf16, HalfOp op>
u16 half(u16 a, u16 b) {
  const auto widened = [](u16 x) { return Bf16 ? bf16_to_f32(x) : f16_to_f32(x); };
  const float x = widened(a), y = widened(b);
  if constexpr (op == HalfOp::add) return Bf16 ? f32_to_bf16(x + y) : f32_to_f16(x + y);
  if (x != x || y != y) return x != x && y != y ? u16{0x7fff} : x != x ? b : a;
  if (x == y) return (op == HalfOp::min) == ((a & 0x8000) != 0) ? a : b;
  return (x < y) == (op == HalfOp::min) ? a : b;
}
template <bool Bf16, HalfOp op>
u64 halves(u64 old, u64 b, u64) {
  const u32 low = half<Bf16, op>(static_cast<u16>(old), static_cast<u16>(b));
  const u32 high = half<Bf16, op>(static_cast<u16>(old >> 16), static_cast<u16>(b >> 16));
  return high << 16 | low;
}

/// An operation and the element types on which it is defined.
struct UpdateRow {
  AtomicOp op;
  Update update;
  std::array<Type, 10> types;  // unused entries are Type::pred
};
constexpr UpdateRow kUpdates[] = {
    {AtomicOp::add, add<u32>, {Type::u32, Type::s32}},
    {AtomicOp::add, add<u64>, {Type::u64, Type::s64}},
    {AtomicOp::add, add_f32, {Type::f32}},
    {AtomicOp::add, add_f32_flushed, {Type::f32}},  // for global memory: see in_global_memory()
    {AtomicOp::add, add<double>, {Type::f64}},
    {AtomicOp::add, halves<false, HalfOp::add>, {Type::f16, Type::f16x2}},
    {AtomicOp::add, halves<true, HalfOp::add>, {Type::bf16, Type::bf16x2}},
    {AtomicOp::min, minimum<u32>, {Type::u32}},
    {AtomicOp::min, minimum<s32>, {Type::s32}},
    {AtomicOp::min, minimum<u64>, {Type::u64}},
    {AtomicOp::min, minimum<s64>, {Type::s64}},
    {AtomicOp::min, halves<false, HalfOp::min>, {Type::f16, Type::f16x2}},
    {AtomicOp::min, halves<true, HalfOp::min>, {Type::bf16, Type::bf16x2}},
    {AtomicOp::max, maximum<u32>, {Type::u32}},
    {AtomicOp::max, maximum<s32>, {Type::s32}},
    {AtomicOp::max, maximum<u64>, {Type::u64}},
    {AtomicOp::max, maximum<s64>, {Type::s64}},
    {AtomicOp::max, halves<false, HalfOp::max>, {Type::f16, Type::f16x2}},
    {AtomicOp::max, halves<true, HalfOp::max>, {Type::bf16, Type::bf16x2}},
    {AtomicOp::bit_and, bit_and, {Type::b32, Type::b64}},
    {AtomicOp::bit_or, bit_or, {Type::b32, Type::b64}},
    {AtomicOp::bit_xor, bit_xor, {Type::b32, Type::b64}},
    {AtomicOp::exchange, exchange, {Type::b32, Type::b64, Type::b128}},
    {AtomicOp::compare_and_swap,
     compare_and_swap,
     {Type::b16, Type::b32, Type::b64, Type::b128, Type::u32, Type::s32, Type::u64, Type::s64, Type::u16x2, Type::s16x2}},
    {AtomicOp::increment, increment, {Type::u32}},
    {AtomicOp::decrement, decrement, {Type::u32}},
};

template <class T>
u64 update_memory(std::byte* address, Update update, u64 b, u64 c, bool& changed) {
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(address));
  T old = memory.load();
  while (!memory.compare_exchange_weak(old, static_cast<T>(update(old, b, c)))) {
  }
  changed |= static_cast<T>(update(old, b, c)) != old;
  return old;
}

}  // namespace

u32 in_global_memory(u32 number) { return kUpdates[number].update == add_f32 ? number + 1 : number; }

u64 atomic_update(u32 number, int bytes, std::byte* address, u64 b, u64 c, bool& changed) {
  const Update update = kUpdates[number].update;
  if (bytes == 2) return update_memory<u16>(address, update, b, c, changed);
  if (bytes == 4) return update_memory<u32>(address, update, b, c, changed);
  return update_memory<u64>(address, update, b, c, changed);
}

namespace {

u64 fetch(const Warp& warp, s32 slot, int bytes, int lane) {
  u64 bits = 0;
  if (slot >= 0) std::memcpy(&bits, warp.registers + slot + lane * bytes, static_cast<std::size_t>(bytes));
  return bits;
}

/// The clocks that each lane of the request releases. They are collected before the first lane's operation, so that no lane releases clocks
/// that it acquires from another lane of the same request.
ReleaseClocks released_before(Warp& warp, const Instruction& i, Mask lanes) {
  return warp.worker->launch->check ? released_by(warp, i, lanes) : ReleaseClocks{};
}
void release_at(Warp& warp, const ReleaseClocks& released, const Request& request, int lane) {
  if (warp.worker->launch->check) release_through(warp, released, request, lane, false);
}
void acquire_at(Warp& warp, const Instruction& i, const Request& request, int lane) {
  if (warp.worker->launch->check) acquire_through(warp, i, request, lane);
}

struct AtomicOptions {
  u32 update = 0;  // a number for atomic_update()
};

/// Calls f(lane, memory, update, changed) for the operation of each lane, one after another.
template <class F>
void update_lanes(Warp& warp, const Instruction& i, Mask mask, F f) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  const int bytes = i.width * i.count;
  locate(warp, i, mask, address, i.space, bytes, [&](const Request& request) {
    if (request.space != Space::global && request.space != Space::shared) {
      report(warp, i, DiagnosticKind::wrong_space, __builtin_ctz(request.mask),
             [] { return std::string("atomics are for global and shared memory"); });
      return;
    }
    const u32 shared_update = i.options<AtomicOptions>().update;
    const u32 update = request.space == Space::global ? in_global_memory(shared_update) : shared_update;
    bool changed = false;
    check_written(warp, i, request, bytes, Access::update);
    const ReleaseClocks released = released_before(warp, i, request.mask);
    const Accessor by = accessor_of(warp, i);
    for (const int lane : lanes_of(request.mask)) {
      release_at(warp, released, request, lane);
      check_read(by, request, lane, bytes);
      check_write(by, request, lane, bytes, nullptr);
      f(lane, request.at[lane], update, changed);
      acquire_at(warp, i, request, lane);
    }
    if (!changed) poll(warp, i, request, bytes);
  });
}

// Slots in Kernel::extra: `count` destinations, then `count` sources, then for cas `count` second sources.

void atomic(Warp& warp, const Instruction& i, Mask mask) {
  const s32* slots = warp.kernel->extra.data() + i.first;
  update_lanes(warp, i, mask, [&](int lane, std::byte* memory, u32 update, bool& changed) {
    for (u32 k = 0; k < i.count; ++k) {
      const u64 b = fetch(warp, slots[i.count + k], i.value_bytes, lane), c = fetch(warp, slots[2 * i.count + k], i.value_bytes, lane);
      const u64 old = atomic_update(update, i.width, memory + std::size_t{k} * i.width, b, c, changed);
      if (slots[k] >= 0) std::memcpy(warp.registers + slots[k] + lane * i.value_bytes, &old, i.value_bytes);
    }
  });
}

/// exch and cas on b128.
void atomic_128(Warp& warp, const Instruction& i, Mask mask) {
  const s32* slots = warp.kernel->extra.data() + i.first;
  update_lanes(warp, i, mask, [&](int lane, std::byte* memory, u32 update, bool& changed) {
    Word128 old, b, c{};
    std::memcpy(&b, warp.registers + slots[1] + lane * 16, 16);
    if (slots[2] >= 0) std::memcpy(&c, warp.registers + slots[2] + lane * 16, 16);
    {
      const std::lock_guard lock(warp.worker->launch->atomics);
      old = load_atomic<Word128>(memory);
      const Word128 next = kUpdates[update].op == AtomicOp::exchange ? b : old == b ? c : old;
      store_atomic(memory, next);
      changed |= next != old;
    }
    if (slots[0] >= 0) std::memcpy(warp.registers + slots[0] + lane * 16, &old, 16);
  });
}

}  // namespace

std::optional<u32> find_update(AtomicOp op, Type type) {
  const auto* row = std::ranges::find_if(kUpdates, [&](const UpdateRow& row) {
    return row.op == op && type != Type::pred && std::ranges::find(row.types, type) != row.types.end();
  });
  return row != std::end(kUpdates) ? std::optional(static_cast<u32>(row - kUpdates)) : std::nullopt;
}

void decode_atomic(Decoder& d) {
  d.out.category = Category::atomic;
  const bool returns = d.base() == "atom";
  const int order = d.take_one({"relaxed", "acquire", "release", "acq_rel"});
  d.out.is_strong = true;
  d.out.acquires = order == 1 || order == 3;
  d.out.releases = order == 2 || order == 3;
  d.out.whole_gpu = d.take_one({"gpu", "sys", "cluster"}) >= 0 || !d.take("cta");
  constexpr Space kSpaces[] = {Space::global, Space::shared, Space::shared, Space::shared};
  const int space = d.take_one({"global", "shared", "shared::cta", "shared::cluster"});
  d.out.in_cluster = space == 3;
  d.out.space = space < 0 ? Space::generic : kSpaces[space];
  const bool has_hint = d.take("L2::cache_hint");
  d.take("noftz");
  const int vector = d.take_one({"v2", "v4", "v8"});
  const u32 count = vector < 0 ? 1 : 2u << vector;
  const int op = d.take_one({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}, "an operation is missing");
  const Type type = d.take_type();
  const auto update = find_update(static_cast<AtomicOp>(op), type);
  if (!update) d.fail("no instruction of this type");
  d.options<AtomicOptions>().update = *update;
  d.out.width = static_cast<u8>(bytes_of(type));
  d.out.count = static_cast<u8>(count);
  d.out.value_bytes = d.out.width;
  d.out.execute = d.out.width == 16 ? atomic_128 : atomic;

  const std::size_t first = returns ? 1 : 0, sources = op == 7 ? 2 : 1;
  d.expect_operands(first + 1 + sources + (has_hint ? 1 : 0));
  const auto each = [&](const Operand& operand, auto f) {
    if (count == 1) return f(operand);
    if (operand.kind != OperandKind::vector || operand.parts.size() != count) d.fail("a vector is missing");
    for (const Operand& part : operand.parts) f(part);
  };
  const Operand sink;
  if (returns)
    each(d.operand(0), [&](const Operand& operand) { d.extra_destination(operand, d.out.width); });
  else
    for (u32 k = 0; k < count; ++k) d.extra_destination(sink, d.out.width);
  d.address(0, d.operand(first));
  for (std::size_t k = 0; k < 2; ++k) {
    if (k < sources)
      each(d.operand(first + 1 + k), [&](const Operand& operand) { d.extra_source(operand, d.out.width, type); });
    else
      for (u32 n = 0; n < count; ++n) d.extra_destination(sink, d.out.width);
  }
}

}  // namespace tilewright::rt::emulator
