// The interpreter on roles that hand slots of a buffer to each other: right hand-overs give the values whatever the order of turns, wrong
// ones an Error at the op that is wrong.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

/// Role 0 writes n tiles of x to two slots, role 1 copies them to y.
constexpr const char* kHandOver = R"(kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %yes = constant {value = true} : i1
  %b = alloc_buffer : buffer<2, i32>[4]
  %full = alloc_mbarriers {arrivals = 1} : mbarrier<2>
  %empty = alloc_mbarriers {arrivals = 1} : mbarrier<2>
  roles {warps = [4, 1]} {
    %i = arange {lo = 0, hi = 4} : i32[4]
    %by4 = constant {value = 4} : i32[4]
    %xb = broadcast %x : ptr<const i32>[4]
    for %zero, %n, %one (%k: i32) {
      %w = rem %k, %two : i32
      %q = div %k, %two : i32
      %p = bit_and %q, %one : i32
      %other = bit_xor %p, %one : i32
      %e = mbarrier_slot %empty, %w : mbarrier<1>
      %f = mbarrier_slot %full, %w : mbarrier<1>
      %s = buffer_slot %b, %w : buffer<1, i32>[4]
      %kb = broadcast %k : i32[4]
      %o = mul %kb, %by4 : i32[4]
      %oi = add %o, %i : i32[4]
      %px = add_ptr %xb, %oi : ptr<const i32>[4]
      mbarrier_wait %e, %other  // empty
      %v = load %px : i32[4]
      buffer_store %s, %v  // write
      mbarrier_arrive %f  // filled
      yield
    }
    yield
  } {
    %i = arange {lo = 0, hi = 4} : i32[4]
    %by4 = constant {value = 4} : i32[4]
    %yb = broadcast %y : ptr<i32>[4]
    for %zero, %n, %one (%k: i32) {
      %w = rem %k, %two : i32
      %q = div %k, %two : i32
      %p = bit_and %q, %one : i32
      %e = mbarrier_slot %empty, %w : mbarrier<1>
      %f = mbarrier_slot %full, %w : mbarrier<1>
      %s = buffer_slot %b, %w : buffer<1, i32>[4]
      %kb = broadcast %k : i32[4]
      %o = mul %kb, %by4 : i32[4]
      %oi = add %o, %i : i32[4]
      %py = add_ptr %yb, %oi : ptr<i32>[4]
      mbarrier_wait %f, %p  // full
      %v = buffer_load %s : i32[4]  // read
      mbarrier_arrive %e  // freed
      store %py, %v
      yield
    }
    yield
  }
}
)";

/// Two instances of role 1 take turns at the tiles of one slot, so that each waits for every second phase of %full: that the other ones are
/// over it learns from %turn.
constexpr const char* kTurns = R"(kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %b = alloc_buffer : buffer<1, i32>[4]
  %full = alloc_mbarriers {arrivals = 1} : mbarrier<1>
  %empty = alloc_mbarriers {arrivals = 1} : mbarrier<1>
  %turn = alloc_mbarriers {arrivals = 1} : mbarrier<2>
  roles {warps = [4, 1], instances = [1, 2]} {
    %i = arange {lo = 0, hi = 4} : i32[4]
    %by4 = constant {value = 4} : i32[4]
    %xb = broadcast %x : ptr<const i32>[4]
    for %zero, %n, %one (%k: i32) {
      %p = bit_and %k, %one : i32
      %other = bit_xor %p, %one : i32
      %kb = broadcast %k : i32[4]
      %o = mul %kb, %by4 : i32[4]
      %oi = add %o, %i : i32[4]
      %px = add_ptr %xb, %oi : ptr<const i32>[4]
      mbarrier_wait %empty, %other
      %v = load %px : i32[4]
      buffer_store %b, %v
      mbarrier_arrive %full
      yield
    }
    yield
  } {
    %j = role_instance : i32
    %i = arange {lo = 0, hi = 4} : i32[4]
    %by4 = constant {value = 4} : i32[4]
    %yb = broadcast %y : ptr<i32>[4]
    %jo = bit_xor %j, %one : i32
    %mine = mbarrier_slot %turn, %j : mbarrier<1>
    %his = mbarrier_slot %turn, %jo : mbarrier<1>
    for %j, %n, %two (%k: i32) {
      %p = bit_and %k, %one : i32
      %h = div %k, %two : i32
      %hx = add %h, %j : i32
      %hy = add %hx, %one : i32
      %kb = broadcast %k : i32[4]
      %o = mul %kb, %by4 : i32[4]
      %oi = add %o, %i : i32[4]
      %py = add_ptr %yb, %oi : ptr<i32>[4]
      mbarrier_wait %mine, %hy
      mbarrier_wait %full, %p  // full
      %v = buffer_load %b : i32[4]  // read
      mbarrier_arrive %his
      mbarrier_arrive %empty
      store %py, %v
      yield
    }
    yield
  }
}
)";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// x is 10, 11, ...; the result is y, which is -1 where no op writes.
std::vector<std::int32_t> run(const std::string& text, int n, std::uint64_t seed) {
  const Module m = parse(text, "t.tile");
  std::vector<std::int32_t> x(64), y(64, -1);
  std::iota(x.begin(), x.end(), 10);
  const std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(x.data()), reinterpret_cast<std::uint64_t>(y.data()),
                                     static_cast<std::uint32_t>(n)};
  InterpretOptions options;
  options.role_seed = seed;
  options.max_ops = 100000;
  interpret(m.functions.at(0), arguments, options);
  return y;
}

constexpr std::uint64_t kSeeds = 24;

void check_right(const std::string& text) {
  for (int n = 0; n <= 7; ++n)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(n);
      CAPTURE(seed);
      const std::vector<std::int32_t> y = run(text, n, seed);
      for (int i = 0; i < 64; ++i) REQUIRE(y[static_cast<std::size_t>(i)] == (i < 4 * n ? 10 + i : -1));
    }
}

/// Every order of turns fails; one of them with this message, at the line that ends in the mark.
void check_wrong(const std::string& text, const std::string& mark, const std::string& message) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("// " + mark)), '\n');
  const std::string expected = fmt::format("t.tile:{}:", line);
  std::string all;
  bool found = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::string seen = "no error";
    try {
      run(text, 7, seed);
    } catch (const Error& e) {
      seen = e.what();
    }
    CHECK_MESSAGE(seen != "no error", "seed ", seed);
    found = found || (seen.starts_with(expected) && seen.find("error: " + message) != std::string::npos);
    all += seen + "\n";
  }
  CHECK_MESSAGE(found, expected, " ", message, "\n", all);
}

/// The first role copies instead.
std::string with_copies() {
  return changed(changed(changed(kHandOver, "%v = load %px : i32[4]\n", "\n"), "buffer_store %s, %v", "copy_async %px, %s, %yes"),
                 "mbarrier_arrive %f", "async_commit\n async_wait {pending = 0}\n mbarrier_arrive %f");
}
/// In addition, the mbarrier waits for the copies.
std::string with_copies_that_arrive() {
  return changed(changed(with_copies(), "async_commit\n async_wait {pending = 0}\n mbarrier_arrive %f", "copy_arrive %f"), "{arrivals = 1}",
                 "{arrivals = 128}");
}

}  // namespace

TEST_CASE("interpreter of roles: slots that are handed over have their values, whatever the order of turns") {
  check_right(kHandOver);
  check_right(with_copies());
  check_right(with_copies_that_arrive());
}

TEST_CASE("interpreter of roles: a slot that is read before its full phase") {
  const std::string unwritten = "buffer_load: no op has written this element of the buffer";
  check_wrong(changed(kHandOver, "mbarrier_wait %f, %p", ""), "read", unwritten);
  check_wrong(changed(kHandOver, "mbarrier_wait %f, %p", "mbarrier_wait %f, %one"), "read", unwritten);
  // It waits for the first phase of each mbarrier only.
  const std::string first = "%early = lt %k, %two : i1\n if %early {\n mbarrier_wait %f, %p\n yield\n } {\n yield\n }\n";
  check_wrong(changed(kHandOver, "mbarrier_wait %f, %p", first), "read",
              "buffer_load: role 0 may not have written this element; an mbarrier_wait is missing");
}

TEST_CASE("interpreter of roles: a slot that is written before its empty phase") {
  const std::string first = "%early = lt %k, %two : i1\n if %early {\n mbarrier_wait %e, %other\n yield\n } {\n yield\n }\n";
  check_wrong(changed(kHandOver, "mbarrier_wait %e, %other", first), "write",
              "buffer_store: role 1 may still read this element; an mbarrier_wait is missing");
  // It arrives before it reads, so the arrival does not publish the later read.
  const std::string read = "%v = buffer_load %s : i32[4]  // read\n      mbarrier_arrive %e  // freed\n";
  check_wrong(changed(kHandOver, read, "mbarrier_arrive %e\n %v = buffer_load %s : i32[4]  // read\n"), "write",
              "buffer_store: role 1 may still read this element; an mbarrier_wait is missing");
  check_wrong(changed(with_copies(), "mbarrier_wait %e, %other", first), "write",
              "copy_async: role 1 may still read this element; an mbarrier_wait is missing");
}

TEST_CASE("interpreter of roles: copies that no wait has seen are not handed over") {
  check_wrong(changed(with_copies(), "async_wait {pending = 0}", ""), "read",
              "buffer_load: a copy of this element may not be complete; an async_wait is missing");
  check_wrong(changed(with_copies(), "async_wait {pending = 0}", "async_wait {pending = 1}"), "read",
              "buffer_load: a copy of this element may not be complete; an async_wait is missing");
  // An arrival of copies says nothing of ordinary stores.
  const std::string stores = changed(changed(kHandOver, "mbarrier_arrive %f", "copy_arrive %f"), "{arrivals = 1}", "{arrivals = 128}");
  check_wrong(stores, "read", "buffer_load: role 0 may not have written this element; an mbarrier_wait is missing");
}

TEST_CASE("interpreter of roles: arrivals beyond the count, and phases that end unseen") {
  // A role of 8 warps arrives once for each group of 4.
  check_wrong(changed(kHandOver, "warps = [4, 1]", "warps = [8, 1]"), "filled",
              "mbarrier_arrive: 2 arrivals, and the phase waits for 1 more of 1");
  check_right(changed(changed(kHandOver, "warps = [4, 1]", "warps = [8, 1]"), "{arrivals = 1}", "{arrivals = 2}"));
  check_wrong(changed(with_copies_that_arrive(), "{arrivals = 128}", "{arrivals = 64}"), "filled",
              "copy_arrive: 128 arrivals, and the phase waits for 64 more of 64");
  const std::string twice = changed(kHandOver, "mbarrier_arrive %f  // filled", "mbarrier_arrive %f\n mbarrier_arrive %f  // filled");
  check_wrong(twice, "full", "mbarrier_wait: role 1 waits for phase 0, and phase 1 is over: a phase was over before its wait saw it");
}

TEST_CASE("interpreter of roles: a wait may pass over phases that its instance knows to be over, by other mbarriers or its own arrivals") {
  check_right(kTurns);
  check_wrong(changed(kTurns, "mbarrier_wait %mine, %hy", ""), "full", "mbarrier_wait: instance 1 of role 1 waits for phase ");
  // The hand-over of turns says nothing of phases that end after it.
  const std::string early =
      changed(changed(kTurns, "mbarrier_wait %full, %p  // full", "mbarrier_arrive %his\n mbarrier_wait %full, %p  // full"),
              "buffer_load %b : i32[4]  // read\n      mbarrier_arrive %his\n", "buffer_load %b : i32[4]\n");
  check_wrong(early, "full", "mbarrier_wait: instance 1 of role 1 waits for phase -1, and phase 0 is over");
  // Role 0 ends two phases itself.
  const std::string ends = "mbarrier_arrive %f\n mbarrier_arrive %own\n mbarrier_arrive %own\n mbarrier_wait %own, %one\n";
  check_right(changed(changed(kHandOver, "mbarrier_arrive %f  // filled", ends), "  roles {",
                      "  %own = alloc_mbarriers {arrivals = 1} : mbarrier<1>\n  roles {"));
}

TEST_CASE("interpreter of roles: roles that all wait") {
  check_wrong(changed(kHandOver, "mbarrier_arrive %e", ""), "empty", "mbarrier_wait: role 0 waits, and no agent is left that could arrive");
  check_wrong(changed(kHandOver, "mbarrier_wait %e, %other", "mbarrier_wait %e, %p"), "empty",
              "mbarrier_wait: role 0 waits, and no agent is left that could arrive");
  check_wrong(changed(kHandOver, "{arrivals = 1}", "{arrivals = 2}"), "empty",
              "mbarrier_wait: role 0 waits, and no agent is left that could arrive");
  // An arrival whose condition is false is none.
  const std::string never = changed(kHandOver, "mbarrier_arrive %f", "%no = ne %k, %k : i1\n mbarrier_arrive %f, %no");
  check_wrong(never, "empty", "mbarrier_wait: role 0 waits, and no agent is left that could arrive");
}

TEST_CASE("interpreter of roles: instances have values of their own") {
  // Instance j writes j + 1 to element j.
  const std::string text = R"(kernel @k(%x: ptr<const i32>, %y: ptr<i32>, %n: i32) {
  %one = constant {value = 1} : i32
  roles {warps = [4, 1], instances = [3, 1]} {
    %j = role_instance : i32
    barrier
    %v = add %j, %one : i32
    %p = add_ptr %y, %j : ptr<i32>
    store %p, %v
    yield
  } {
    yield
  }
}
)";
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::int32_t> y = run(text, 0, seed);
    CHECK(std::vector(y.begin(), y.begin() + 4) == std::vector{1, 2, 3, -1});
  }
}
