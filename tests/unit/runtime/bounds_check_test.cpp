// Unit tests of the registry of live buffers and of checked mode's callback.
#include "runtime/bounds_check.h"
#include "tests/messages.h"

#include <doctest/doctest.h>

#include <thread>

using namespace tilewright;

namespace {

const backend::AccessSite kLoad{{"kernel.cpp", 7, 3}, false, 4}, kStore{{"kernel.cpp", 9, 0}, true, 4},
    kAtomic{{"kernel.cpp", 11, 0}, true, 4, -1, true};
constexpr std::uint64_t kBase = std::uint64_t{1} << 40;

rt::Region floats(std::uint64_t begin, std::int64_t n) { return {begin, static_cast<std::uint64_t>(4 * n), n, 4, "float"}; }

struct Checked {
  std::vector<std::uint8_t> active;
  std::string error;
};
Checked run(std::vector<rt::Region> live, std::vector<std::uint64_t> addresses, std::vector<std::uint8_t> active, std::int32_t site = 0,
            std::vector<std::uint64_t> arguments = {}) {
  const std::vector<backend::AccessSite> sites{kLoad, kStore, kAtomic};
  rt::BoundsCheck check(std::move(live), sites);
  rt::BoundsCheck::check(&check, addresses.data(), active.data(), static_cast<std::int32_t>(addresses.size()), site);
  Checked result{std::move(active), ""};
  try {
    check.report(arguments, Here::current());
  } catch (const Error& e) {
    result.error = e.what();
  }
  return result;
}
using tilewright::test::has;

}  // namespace

TEST_CASE("memory_registry: snapshots are sorted, and removal is by number") {
  rt::MemoryRegistry registry;
  const auto high = registry.add(floats(2000, 4)), low = registry.add(floats(1000, 4)), same = registry.add(floats(1000, 2));
  auto all = registry.snapshot();
  REQUIRE(all.size() == 3);
  CHECK(all[0].begin == 1000);
  CHECK(all[2].begin == 2000);
  registry.remove(low);
  registry.remove(high);
  all = registry.snapshot();
  REQUIRE(all.size() == 1);
  CHECK(all[0].elements == 2);
  registry.remove(same);
  CHECK(registry.snapshot().empty());
}

TEST_CASE("bounds_check: good lanes stay active and nothing is reported") {
  const auto r = run({floats(kBase, 4), floats(kBase + 1000, 1)}, {kBase, kBase + 12, kBase + 1000, kBase + 4}, {1, 1, 1, 1});
  CHECK(r.active == std::vector<std::uint8_t>{1, 1, 1, 1});
  CHECK(r.error.empty());
}

TEST_CASE("bounds_check: a bad lane is turned off, a lane that is off is not looked at") {
  const auto r = run({floats(kBase, 4)}, {kBase + 16, kBase + 4000, kBase}, {1, 0, 1});
  CHECK(r.active == std::vector<std::uint8_t>{0, 0, 1});
  CHECK_MESSAGE(
      has(r.error, "kernel.cpp:7:3: error: load of 4 bytes at index 4 of a buffer of 4 float elements (the first element past its end)"),
      r.error);
  CHECK_MESSAGE(has(r.error, "bounds_check_test.cpp:"), r.error);
  CHECK_MESSAGE(has(r.error, "note: launched here"), r.error);
}

TEST_CASE("bounds_check: the message tells index, distance and side") {
  CHECK(has(run({floats(kBase, 1000)}, {kBase + 4096}, {1}).error,
            "load of 4 bytes at index 1024 of a buffer of 1000 float elements (24 elements past its end)"));
  CHECK(has(run({floats(kBase, 10)}, {kBase - 12}, {1}, 1).error,
            "kernel.cpp:9: error: store of 4 bytes at index -3 of a buffer of 10 float elements (3 elements before its beginning)"));
  CHECK(has(run({{kBase, 6, 6, 1, "uint8_t"}}, {kBase + 4}, {1}).error,
            "index 4 of a buffer of 6 uint8_t elements (its last 2 bytes past the end)"));
  CHECK(has(run({floats(kBase, 0)}, {kBase}, {1}).error, "index 0 of a buffer of 0 float elements"));
}

TEST_CASE("bounds_check: the nearest buffer is one that the launch was given") {
  const std::vector<rt::Region> live{floats(kBase, 100), floats(kBase + 800, 100)};
  CHECK(has(run(live, {kBase + 796}, {1}, 0, {kBase}).error, "index 199 of"));
  CHECK(has(run(live, {kBase + 796}, {1}, 0, {kBase, kBase + 800}).error, "index -1 of"));
}

TEST_CASE("bounds_check: an address is measured from the buffer that it was computed from, however near another one is") {
  const std::vector<rt::Region> live{floats(kBase, 100), floats(kBase + 800, 100), floats(kBase + 1600, 100)};
  const std::vector<std::uint64_t> arguments{7, kBase + 400, kBase + 1600};
  const auto text = [&](int parameter) { return rt::describe_bad_access(kBase + 1204, {{}, false, 4, parameter}, live, arguments); };
  CHECK(has(text(1), "index 301 of"));
  CHECK(has(text(2), "index -99 of"));
  CHECK(has(text(-1), "index -99 of"));  // the buffer between them is nearer, but not the launch's
  const std::vector<std::uint64_t> null{0};
  CHECK(has(rt::describe_bad_access(kBase + 1204, {{}, false, 4, 0}, live, null), "bytes from a null pointer"));
}

TEST_CASE("bounds_check: null pointers and devices without buffers") {
  CHECK(has(run({floats(kBase, 4)}, {16}, {1}).error, "load of 4 bytes at address 0x10, 16 bytes from a null pointer"));
  CHECK(has(run({}, {kBase}, {1}).error, "there is no buffer on this device"));
}

TEST_CASE("bounds_check: atomics are told as such, and need the alignment that loads and stores do not") {
  CHECK(run({floats(kBase, 4)}, {kBase + 2}, {1}).error.empty());
  const auto r = run({floats(kBase, 4)}, {kBase, kBase + 6, kBase + 16}, {1, 1, 1}, 2);
  CHECK(r.active == std::vector<std::uint8_t>{1, 0, 0});
  CHECK_MESSAGE(has(r.error, "kernel.cpp:11: error: atomic access of 4 bytes at address 0x10000000006, which is not a multiple of 4"),
                r.error);
  CHECK_MESSAGE(has(r.error, "2 accesses in all were outside of every buffer or misaligned"), r.error);
  CHECK(has(run({floats(kBase, 4)}, {kBase + 16}, {1}, 2).error, "atomic access of 4 bytes at index 4 of a buffer of 4 float elements"));
}

TEST_CASE("bounds_check: a device is told where it may go, to its arguments' buffers first, and tells where it went") {
  const std::vector<backend::AccessSite> sites{kLoad, {{"kernel.cpp", 8, 0}, false, 4, -1, false, true}};
  rt::BoundsCheck check({floats(kBase, 4), floats(kBase + 8, 4), floats(kBase + 100, 4), floats(kBase + 200, 0)}, sites);
  const std::vector<std::uint64_t> arguments{3, kBase + 104};
  const auto intervals = check.intervals(arguments);
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0].begin == kBase + 100);
  CHECK(intervals[1].begin == kBase);
  CHECK(intervals[1].end == kBase + 24);
  check.add(1, kBase + 2, 5);
  CHECK_THROWS_WITH(check.report(arguments, Here()), doctest::Contains("which is not a multiple of 4"));
  CHECK_THROWS_WITH(check.report(arguments, Here()), doctest::Contains("5 accesses in all were outside of every buffer or misaligned"));
  check.add(0, kBase + 116, 1);
  CHECK_THROWS_WITH(check.report(arguments, Here()), doctest::Contains("index 4 of a buffer of 4 float elements"));
  CHECK_THROWS_WITH(check.report(arguments, Here()), doctest::Contains("6 accesses in all"));
}

TEST_CASE("bounds_check: overlapping regions are one, touching ones are two") {
  CHECK(run({floats(kBase, 4), floats(kBase + 8, 4)}, {kBase + 14}, {1}).error.empty());
  CHECK_FALSE(run({floats(kBase, 4), floats(kBase + 16, 4)}, {kBase + 14}, {1}).error.empty());
}

TEST_CASE("bounds_check: the lowest failure is reported, however many threads find one") {
  const std::vector<backend::AccessSite> sites{kLoad, kStore};
  rt::BoundsCheck check({floats(kBase, 4)}, sites);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&check, t] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t address = kBase + 16 + 4 * (i + 100 * t);
        std::uint8_t active = 1;
        rt::BoundsCheck::check(&check, &address, &active, 1, t % 2);
      }
    });
  for (auto& t : threads) t.join();
  try {
    check.report({}, Here::current());
    FAIL("nothing reported");
  } catch (const Error& e) {
    CHECK(has(e.what(), "load of 4 bytes at index 4 of"));
    CHECK(has(e.what(), "400 accesses in all"));
  }
}
