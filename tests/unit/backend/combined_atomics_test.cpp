// Which atomics of a program the host may combine before they reach memory: those whose delay no other program can see.
#include "backend/host/combined_atomics.h"

#include <doctest/doctest.h>

#include <string>

#include "tileir/text/parser.h"

namespace tilewright::backend::host {

namespace {

/// The number of combinable atomics in a kernel with these ops. %cells and %apart are pointers to 64 cells each, %other may lead to any
/// memory, %v and %x are values for the cells, %m a mask.
std::size_t combinable(const std::string& ops) {
  const std::string text = R"(kernel @k(%a: ptr<i32>, %b: ptr<i32> {disjoint}, %c: ptr<i32>, %h: ptr<f16>, %n: i32, %f: f16) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %am = broadcast %a : ptr<i32>[64]
    %cells = add_ptr %am, %i : ptr<i32>[64]
    %bm = broadcast %b : ptr<i32>[64]
    %apart = add_ptr %bm, %i : ptr<i32>[64]
    %cm = broadcast %c : ptr<i32>[64]
    %other = add_ptr %cm, %i : ptr<i32>[64]
    %hm = broadcast %h : ptr<f16>[64]
    %halves = add_ptr %hm, %i : ptr<f16>[64]
    %v = broadcast %n : i32[64]
    %x = broadcast %f : f16[64]
    %m = lt %i, %v : i1[64]
)" + ops + "}\n";
  return combinable_atomics(ir::parse(text, "test.tile").functions.at(0)).size();
}

}  // namespace

TEST_CASE("combined atomics: relaxed ones on tiles whose old values have no use") {
  CHECK(combinable("%0 = atomic_add %cells, %v {order = relaxed} : i32[64]") == 1);
  CHECK(combinable("%0 = atomic_or %cells, %v, %m {order = relaxed, scope = system} : i32[64]") == 1);
  CHECK(combinable("%0 = atomic_add %cells, %v : i32[64]") == 0);
  CHECK(combinable("%0 = atomic_add %cells, %v {order = release} : i32[64]") == 0);
  CHECK(combinable("%0 = atomic_exchange %cells, %v {order = relaxed} : i32[64]") == 0);
  CHECK(combinable("%0 = atomic_add %a, %n {order = relaxed} : i32") == 0);
  CHECK(combinable("%0 = atomic_add %cells, %v {order = relaxed} : i32[64]\n store %apart, %0") == 0);
  CHECK(combinable(R"(%0 = atomic_update %halves, %x {order = relaxed} : f16[64] (%p: f16, %q: f16) {
      %r = maximum %p, %q : f16
      yield %r
    })") == 1);
}

TEST_CASE("combined atomics: none in a program that may signal another one") {
  const std::string add = "%0 = atomic_add %cells, %v {order = relaxed} : i32[64]\n";
  CHECK(combinable(add + "%1 = atomic_exchange %b, %n {order = release} : i32") == 0);
  CHECK(combinable(add + "%1 = load %b {is_volatile} : i32") == 0);
  CHECK(combinable(add + "store %b, %n {is_volatile}") == 0);
  CHECK(combinable(add + "%1 = atomic_add %b, %n {order = relaxed} : i32\n store %c, %1") == 0);
}

TEST_CASE("combined atomics: none that the program may read or overwrite later") {
  const std::string add = "%0 = atomic_add %cells, %v {order = relaxed} : i32[64]\n";
  CHECK(combinable(add + "%1 = load %cells : i32[64]") == 0);
  CHECK(combinable(add + "%1 = load %other : i32[64]") == 0);
  CHECK(combinable(add + "%1 = load %apart : i32[64]") == 1);
  CHECK(combinable(add + "store %other, %v") == 0);
  CHECK(combinable(add + "store %apart, %v") == 1);
  CHECK(combinable("%1 = load %cells : i32[64]\n" + add) == 1);
  CHECK(combinable("for %n, %n, %n (%k: i32) {\n %1 = load %cells : i32[64]\n" + add + "yield\n}\n") == 0);
  CHECK(combinable("for %n, %n, %n (%k: i32) {\n %1 = load %apart : i32[64]\n" + add + "yield\n}\n") == 1);
  CHECK(combinable("for %n, %n, %n (%k: i32) {\n %1 = load %cells : i32[64]\n yield\n}\n" + add) == 1);
}

TEST_CASE("combined atomics: one operation on a cell commutes with itself and with no other") {
  const std::string add = "%0 = atomic_add %cells, %v {order = relaxed} : i32[64]\n";
  CHECK(combinable(add + "%1 = atomic_add %other, %v {order = relaxed} : i32[64]") == 2);
  CHECK(combinable(add + "%1 = atomic_max %apart, %v {order = relaxed} : i32[64]") == 2);
  CHECK(combinable(add + "%1 = atomic_max %other, %v {order = relaxed} : i32[64]") == 1);  // the last one has nothing after it
  CHECK(combinable("for %n, %n, %n (%k: i32) {\n" + add + "%1 = atomic_max %other, %v {order = relaxed} : i32[64]\n yield\n}") == 0);
}

}  // namespace tilewright::backend::host
