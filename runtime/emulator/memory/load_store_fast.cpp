// Loads and stores of elements that have the width of their registers, one register of all lanes at a time.
#include "runtime/emulator/memory/load_store_fast.h"

#include "runtime/emulator/simd/host_atomics.h"

namespace tilewright::rt::emulator {
namespace {

/// Calls f.operator()<T>() for the type of an element of `bytes` bytes.
template <class F>
void with_element(int width, F f) {
  switch (width) {
    case 1: return f.template operator()<u8>();
    case 2: return f.template operator()<u16>();
    case 4: return f.template operator()<u32>();
    case 8: return f.template operator()<u64>();
    default: return f.template operator()<Word128>();
  }
}

/// Calls f(lane) for the lanes of a mask.
template <class F>
[[gnu::always_inline]] inline void each_lane(Mask mask, F f) {
  if (mask == kAllLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) f(lane);
  else
    for (; mask != 0; mask &= mask - 1) f(static_cast<std::size_t>(__builtin_ctz(mask)));
}

template <class T>
void load_atomics(std::byte* to, const Request& request, std::size_t offset, std::memory_order order) {
  each_lane(request.mask, [&](std::size_t lane) {
    const T value = load_atomic<T>(request.at[lane] + offset, order);
    std::memcpy(to + lane * sizeof(T), &value, sizeof value);
  });
}

template <class T>
void load_register(std::byte* to, const Request& request, std::size_t offset, std::memory_order order) {
  if (request.space == Space::global && order == std::memory_order_relaxed)
    return load_atomics<T>(to, request, offset, std::memory_order_relaxed);
  if (request.space == Space::global) return load_atomics<T>(to, request, offset, order);
  each_lane(request.mask, [&](std::size_t lane) { std::memcpy(to + lane * sizeof(T), request.at[lane] + offset, sizeof(T)); });
}

// Four consecutive words: of four lanes, or of four registers.
using Quad = u32 __attribute__((vector_size(16)));

Quad read_quad(const std::byte* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof quad);
  return quad;
}

/// Calls f(k, column) for the four columns of the rows at these addresses.
template <class F>
void transpose(const std::byte* a, const std::byte* b, const std::byte* c, const std::byte* d, F f) {
  const Quad row0 = read_quad(a), row1 = read_quad(b), row2 = read_quad(c), row3 = read_quad(d);
  const Quad low01 = __builtin_shufflevector(row0, row1, 0, 4, 1, 5), high01 = __builtin_shufflevector(row0, row1, 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(row2, row3, 0, 4, 1, 5), high23 = __builtin_shufflevector(row2, row3, 2, 6, 3, 7);
  f(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  f(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  f(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  f(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/// Whether each lane accesses a vector of four words.
bool is_quads(const Instruction& i, Mask mask) { return i.width == 4 && i.count == 4 && mask == kAllLanes; }

void load_quads(Warp& warp, const s32* slots, const Request& request) {
  for (std::size_t lane = 0; lane < kLanes; lane += 4) {
    const auto* const at = request.at.data() + lane;
    transpose(at[0], at[1], at[2], at[3], [&](int k, Quad column) {
      if (slots[k] >= 0) std::memcpy(warp.registers + slots[k] + lane * 4, &column, sizeof column);
    });
  }
}

using StoredBytes = std::array<std::byte, kLanes * 32>;

/// Collects the bytes that each lane stores, lane by lane.
void take_values(StoredBytes& bytes, const Warp& warp, const Instruction& i, const s32* slots, Mask mask) {
  if (is_quads(i, mask)) {
    for (std::size_t lane = 0; lane < kLanes; lane += 4) {
      const std::byte* const at = warp.registers + lane * 4;
      transpose(at + slots[0], at + slots[1], at + slots[2], at + slots[3],
                [&](int k, Quad column) { std::memcpy(bytes.data() + (lane + static_cast<std::size_t>(k)) * 16, &column, sizeof column); });
    }
    return;
  }
  if (i.count == 1 && i.width == 4 && i.value_bytes == 4) {
    std::memcpy(bytes.data(), warp.registers + slots[0], kLanes * 4);
    return;
  }
  for (u32 k = 0; k < i.count; ++k)
    with_element(i.width, [&]<class T>() {
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        std::memcpy(bytes.data() + (lane * i.count + k) * sizeof(T), warp.registers + slots[k] + lane * i.value_bytes, sizeof(T));
    });
}

template <std::size_t kSize>
void write_bytes(const Request& request, const StoredBytes& bytes) {
  each_lane(request.mask, [&](std::size_t lane) { std::memcpy(request.at[lane], bytes.data() + lane * kSize, kSize); });
}

void write_values(const Request& request, const StoredBytes& bytes, std::size_t size, std::memory_order order) {
  if (request.space != Space::global && size == 4) return write_bytes<4>(request, bytes);
  if (request.space != Space::global && size == 8) return write_bytes<8>(request, bytes);
  if (request.space != Space::global && size == 16) return write_bytes<16>(request, bytes);
  each_element(size, [&]<class T>(std::size_t offset) {
    each_lane(request.mask, [&](std::size_t lane) {
      T element;
      std::memcpy(&element, bytes.data() + lane * size + offset, sizeof element);
      store_atomic(request.at[lane] + offset, element, order);
    });
  });
}

}  // namespace

bool load_fast(Warp& warp, const Instruction& i, const Request& request, const s32* slots) {
  if (i.width != i.value_bytes) return false;
  // A transpose reads whole rows, so it must not read memory that other threads of the host may write at the same time.
  if (is_quads(i, request.mask) && request.space != Space::global) {
    load_quads(warp, slots, request);
    return true;
  }
  for (u32 k = 0; k < i.count; ++k)
    if (slots[k] >= 0)
      with_element(i.width,
                   [&]<class T>() { load_register<T>(warp.registers + slots[k], request, std::size_t{k} * sizeof(T), load_order(i)); });
  return true;
}

bool store_fast(Warp& warp, const Instruction& i, const Request& request, const s32* slots, RequestCheck& check) {
  alignas(64) StoredBytes bytes;
  const int size = i.width * i.count;
  take_values(bytes, warp, i, slots, request.mask);
  if (!check.write_apart(size, bytes.data())) return false;
  write_values(request, bytes, static_cast<std::size_t>(size), store_order(i));
  return true;
}

}  // namespace tilewright::rt::emulator
