// Deep nests of loops and branches: their compilation takes a time that grows with their size. Where a pass visits a body twice for each loop or
// branch around it, these tests do not end.
#include <doctest/doctest.h>

#include <vector>

#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

// v = 2 v + op, by a branch for each op below n: each is in the other arm of the one before.
void choose(tw::F32& v, const tw::I32& op, int i, int n) {
  if (i == n) return;
  tw::when(op == i, [&] { v = v * 2 + static_cast<float>(i); }, [&] { choose(v, op, i + 1, n); });
}
void cases(tw::Ptr<float> x, tw::I32 op, int n) {
  auto v = tw::load(x);
  choose(v, op, 0, n);
  tw::store(x, v);
}

// Adds 1 in the innermost of n loops, each of which runs once.
void in_loops(tw::I32& v, tw::I32& sum, const tw::I32& once, int n) {
  if (n == 0) {
    v += 1;
    return;
  }
  for (auto i : tw::range(0, once)) {
    sum += i;
    in_loops(v, sum, once, n - 1);
  }
}
void in_while_loops(tw::I32& v, tw::I32& sum, const tw::I32& once, int n) {
  if (n == 0) {
    v += 1;
    return;
  }
  tw::I32 i = 0;
  tw::loop_while([&] { return i < once; },
                 [&] {
                   i += 1;
                   sum += v;
                   in_while_loops(v, sum, once, n - 1);
                 });
}
// The loops access memory, so that hazards are looked for in all of them.
void loops(tw::Ptr<int> x, tw::I32 once, int n, bool is_while) {
  tw::I32 v = tw::load(x), sum = 0;
  (is_while ? in_while_loops : in_loops)(v, sum, once, n);
  tw::store(x, v + tw::sum(tw::arange(0, 64)) * 0 + sum * 0);
}

}  // namespace

TEST_CASE("nested_control: a branch for each of 150 cases") {
  const tw::Kernel kernel("cases", cases);
  for (const char* target : {"cpu", "sm_80", "sm_90a"}) (void)kernel.compile(target, {}, tw::pointer<float>(), 3, 150);
  const tw::Device device = tw::Device::open("cpu");
  for (const int op : {0, 77, 149, 150}) {
    auto x = device.upload(std::vector<float>{1.0f});
    kernel({}, x, op, 150);
    CHECK(x.download()[0] == (op < 150 ? 2.0f + static_cast<float>(op) : 1.0f));
  }
}

TEST_CASE("nested_control: 40 loops in each other") {
  const tw::Kernel kernel("loops", loops);
  for (const bool is_while : {false, true}) {
    CAPTURE(is_while);
    for (const char* target : {"cpu", "sm_80", "sm_90a"}) (void)kernel.compile(target, {}, tw::pointer<int>(), 1, 40, is_while);
    const tw::Device device = tw::Device::open("cpu");
    auto x = device.upload(std::vector<int>{5});
    kernel({}, x, 1, 40, is_while);
    CHECK(x.download()[0] == 6);
  }
}
