// What is remembered of requests' shapes is what counting their sectors and wavefronts gives.
#include "runtime/emulator/transactions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace tilewright::rt::emulator {
namespace {

constexpr Mask kAll = ~Mask{0};
using Addresses = std::array<u64, kLanes>;

/// As kernels do, and as they do not: rows, strides, broadcasts, swizzles, anything.
Addresses draw(std::mt19937& random, u64 base, int bytes) {
  Addresses address;
  const u64 unit = static_cast<u64>(bytes), stride = random() % 40, group = 1 + random() % 8, pattern = random() % 5, flip = random() % 32;
  for (u64 lane = 0; lane < kLanes; ++lane) {
    const u64 by_pattern[] = {lane, lane * stride, lane / group * stride, lane ^ flip, random() % 512};
    address[lane] = base + unit * by_pattern[pattern];
  }
  return address;
}

Addresses moved(Addresses address, u64 by) {
  for (u64& a : address) a += by;
  return address;
}

}  // namespace

TEST_CASE("request shapes: what differs by whole rows of banks costs the same, all else is another shape") {
  std::mt19937 random(5);
  RequestShapes shapes;
  for (int round = 0; round < 3000; ++round) {
    const int bytes = 4 << random() % 3;
    const bool is_shared = random() % 2 != 0, is_load = random() % 2 != 0;
    const auto cost = [&](const Addresses& address) {
      return is_shared ? wavefronts_of(address, kAll, bytes, is_load) : sectors_of(address, kAll, bytes);
    };
    const Addresses first = draw(random, 1'000'000 + 16 * (random() % 64), bytes);
    const auto key_of = [&](const Addresses& address) {
      return RequestShapes::key_of(static_cast<u32>(round), is_shared, bytes, address[0]);
    };
    shapes.remember(key_of(first), first, cost(first));
    const Addresses again = moved(first, RequestShape::kPeriod * (random() % 4096));
    const RequestShape* shape = shapes.find(key_of(again), again);
    REQUIRE(shape != nullptr);
    REQUIRE(shape->transactions.units == cost(again).units);
    REQUIRE(shape->transactions.ideal == cost(again).ideal);
    const auto [lowest, highest] = std::minmax_element(again.begin(), again.end());
    REQUIRE(again[0] + static_cast<u64>(shape->lowest) == *lowest);
    REQUIRE(again[0] + static_cast<u64>(shape->highest) == *highest);

    Addresses other = again;
    other[1 + random() % 31] += static_cast<u64>(bytes);
    CHECK(shapes.find(key_of(other), other) == nullptr);
    const Addresses shifted = moved(first, static_cast<u64>(bytes));
    CHECK(shapes.find(key_of(shifted), shifted) == nullptr);
    // Of another instruction, or width.
    CHECK(shapes.find(RequestShapes::key_of(static_cast<u32>(round) + 1, is_shared, bytes, first[0]), first) == nullptr);
    CHECK(shapes.find(RequestShapes::key_of(static_cast<u32>(round), is_shared, 2 * bytes, first[0]), first) == nullptr);
  }
}

TEST_CASE("request shapes: addresses that would wrap around are never of a known shape") {
  RequestShapes shapes;
  Addresses high;
  for (u64 lane = 0; lane < kLanes; ++lane) high[lane] = ~u64{0} - 4095 + 128 * lane;
  const auto key = RequestShapes::key_of(3, 0, 4, high[0]);
  shapes.remember(key, high, {32, 32});
  CHECK(shapes.find(key, high) == nullptr);
  const Addresses low = moved(high, 4096);
  shapes.remember(key, low, {32, 32});
  CHECK(shapes.find(key, low) != nullptr);
  CHECK(shapes.find(key, high) == nullptr);
}

}  // namespace tilewright::rt::emulator
