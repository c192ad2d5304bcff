// The cache of requests' shapes holds the numbers of sectors and wavefronts that counting gives.
#include "runtime/emulator/cost/transactions.h"

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
    shapes.remember(key_of(first), first, bytes, cost(first));
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
    // A request of another instruction or another width.
    CHECK(shapes.find(RequestShapes::key_of(static_cast<u32>(round) + 1, is_shared, bytes, first[0]), first) == nullptr);
    CHECK(shapes.find(RequestShapes::key_of(static_cast<u32>(round), is_shared, 2 * bytes, first[0]), first) == nullptr);
  }
}

TEST_CASE("request shapes: addresses that would wrap around are never of a known shape") {
  RequestShapes shapes;
  Addresses high;
  for (u64 lane = 0; lane < kLanes; ++lane) high[lane] = ~u64{0} - 4095 + 128 * lane;
  const auto key = RequestShapes::key_of(3, 0, 4, high[0]);
  shapes.remember(key, high, 4, {32, 32});
  CHECK(shapes.find(key, high) == nullptr);
  const Addresses low = moved(high, 4096);
  shapes.remember(key, low, 4, {32, 32});
  CHECK(shapes.find(key, low) != nullptr);
  CHECK(shapes.find(key, high) == nullptr);
}

TEST_CASE("request shapes: know which lanes are at one address, and who shares whole sectors") {
  const auto shape_of = [](int bytes, auto address_of) {
    RequestShapes shapes;
    Addresses address;
    for (u64 lane = 0; lane < kLanes; ++lane) address[lane] = 1024 + static_cast<u64>(bytes) * address_of(lane);
    const auto key = RequestShapes::key_of(3, 0, bytes, address[0]);
    shapes.remember(key, address, bytes, {});
    return *shapes.find(key, address);
  };
  const auto in_order = [](u64 lane) { return lane; };
  for (const int bytes : {1, 2, 4, 8, 16, 32}) {
    CHECK(shape_of(bytes, in_order).is_apart());
    CHECK(shape_of(bytes, in_order).has_whole_sectors);
    CHECK_FALSE(shape_of(bytes, [](u64) { return 5; }).has_whole_sectors);
  }
  CHECK(shape_of(8, [](u64 lane) { return lane % 4 + lane / 4 * 12; }).has_whole_sectors);
  for (const auto& scattered :
       {shape_of(8, [](u64 lane) { return lane ^ 1; }), shape_of(8, [](u64 lane) { return 2 * lane; }),
        shape_of(8, [](u64 lane) { return lane + 1; }), shape_of(16, [](u64 lane) { return lane % 4 + lane / 4 * 5; })}) {
    CHECK(scattered.is_apart());
    CHECK_FALSE(scattered.has_whole_sectors);
  }
  const RequestShape pairs = shape_of(4, [](u64 lane) { return lane == 7 ? 40 : lane / 2; });
  CHECK_FALSE(pairs.is_apart());
  REQUIRE(pairs.addresses == 17);
  for (std::size_t k = 0; k < 17; ++k) {
    const u32 first = k < 4 ? 2 * k : k == 4 ? 7 : 2 * k - 2;
    CHECK(pairs.first_lane[k] == first);
    CHECK(pairs.only_lane[k] == (first == 6 || first == 7 ? first : kLanes));
  }
}

}  // namespace tilewright::rt::emulator
