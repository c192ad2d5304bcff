// Comparisons of indices at small instances, where one position represents many: a sum over the diagonal counts each position once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion::test {
namespace {

struct Formulas {
  const char *written, *rewritten;
};

/// Compares two formulas of two matrices, a product, masks and numbers. Extents are far greater than what an instance visits.
ProofResult compare(const Formulas& f, const char* positions = "i32", const char* extent = "500") {
  const graph::Graph g = graph::parse(fmt::format(R"(graph {{
  symbol n {{min = 1}}
  %a = input : f64[{n}, 24]
  %b = input : f64[24, {n}]
  %p = einsum %a, %b {{text = "ik,kj->ij"}} : f64[{n}, {n}]
  %d = einsum %a, %b {{text = "ik,ki->i"}} : f64[{n}]
  %i = iota {{axes = [0]}} : {positions}[{n}, 1]
  %j = iota {{axes = [1]}} : {positions}[1, {n}]
  %positions = iota {{axes = [0]}} : {positions}[{n}]
  %rows = reshape %positions : {positions}[{n}, 1]
  %columns = reshape %positions : {positions}[1, {n}]
  %same = eq %rows, %columns : i1[{n}, {n}]
  %eq = eq %i, %j : i1[{n}, {n}]
  %ne = ne %j, %i : i1[{n}, {n}]
  %zero = constant {{data = [0]}} : f64
  %one = constant {{data = [1]}} : f64
  %low = constant {{data = [-inf]}} : f64
  %reshaped = select %same, %p, %zero : f64[{n}, {n}]
  %on = select %eq, %p, %zero : f64[{n}, {n}]
  %off = select %ne, %p, %zero : f64[{n}, {n}]
  %ones = select %eq, %one, %zero : f64[{n}, {n}]
  %held = select %eq, %p, %low : f64[{n}, {n}]
  %row = reduce %on {{kind = sum, axes = [1]}} : f64[{n}]
  %column = reduce %on {{kind = sum, axes = [0]}} : f64[{n}]
  %count = reduce %ones {{kind = sum, axes = [0, 1]}} : f64
  %all = reduce %p {{kind = sum, axes = [0, 1]}} : f64
  %trace = reduce %d {{kind = sum, axes = [0]}} : f64
  %rest = sub %all, %trace : f64
  %greatest = reduce %d {{kind = max, axes = [0]}} : f64
  %extent = extent {{lengths = [{n}]}} : f64
  {written}
  {rewritten}
  output "written" %x
  output "rewritten" %y
}})",
                                                  fmt::arg("n", extent), fmt::arg("positions", positions), fmt::arg("written", f.written),
                                                  fmt::arg("rewritten", f.rewritten)),
                                      "indices");
  const graph::NodeId x = g.outputs()[0].node, y = g.outputs()[1].node;
  const RewrittenValue pair{x, y};
  return InstanceCheck(g).run(AxisAnalysis(g, {x, y}, {}), std::span(&pair, 1));
}

constexpr const char* kTrace = "%y = mul %trace, %one : f64";

TEST_CASE("instance check: a sum over a diagonal counts each position once, in any order of the axes") {
  constexpr Formulas kEqual[] = {
      {"%x = reduce %on {kind = sum, axes = [0, 1]} : f64", kTrace},
      {"%x = reduce %reshaped {kind = sum, axes = [0, 1]} : f64", kTrace},
      {"%x = reduce %row {kind = sum, axes = [0]} : f64", kTrace},
      {"%x = reduce %column {kind = sum, axes = [0]} : f64", kTrace},
      {"%x = reduce %off {kind = sum, axes = [0, 1]} : f64", "%y = mul %rest, %one : f64"},
      {"%x = einsum %ones, %p {text = \"ij,ij->\"} : f64", kTrace},
      {"%x = reduce %held {kind = max, axes = [0, 1]} : f64", "%y = mul %greatest, %one : f64"},
      {"%x = mul %count, %one : f64", "%y = mul %extent, %one : f64"},
      {"%x = mul %row, %one : f64[500]", "%y = mul %d, %one : f64[500]"},
      {"%x = mul %column, %one : f64[500]", "%y = mul %d, %one : f64[500]"},
  };
  for (const Formulas& f : kEqual) {
    CAPTURE(f.written);
    const ProofResult result = compare(f);
    CHECK_MESSAGE(!result.is_refuted, result.text);
    CHECK(result.rounds > 0);
    CHECK(result.left_open.empty());
  }
  CHECK(!compare(kEqual[0], "i64", "n").is_refuted);
}

TEST_CASE("instance check: what is not the sum over a diagonal is refuted") {
  CHECK(compare({"%x = reduce %p {kind = sum, axes = [0, 1]} : f64", kTrace}).is_refuted);
  CHECK(compare({"%x = reduce %off {kind = sum, axes = [0, 1]} : f64", kTrace}).is_refuted);
  CHECK(compare({"%x = reduce %reshaped {kind = sum, axes = [0, 1]} : f64", "%y = mul %all, %one : f64"}).is_refuted);
  CHECK(compare({"%x = add %count, %one : f64", "%y = mul %extent, %one : f64"}).is_refuted);
  CHECK(compare({"%x = reduce %held {kind = max, axes = [0, 1]} : f64", kTrace}).is_refuted);
  // Not all of these positions are different: they wrap.
  CHECK(compare({"%x = reduce %on {kind = sum, axes = [0, 1]} : f64", kTrace}, "i8").is_refuted);
}

// Sums of elements beside the diagonal are written as sums of slices of the factors, in which each position has its neighbour.
struct Shift {
  const char *condition, *reversed;  // of i and j, and of j and i
  int distance;                      // i - j
};
constexpr Shift kShifts[] = {
    {"%k = add %j, %c1 : i32[1, 500] %m = eq %i, %k : i1[500, 500]", "%k = add %i, %c1 : i32[500, 1] %m = eq %j, %k : i1[500, 500]", 1},
    {"%k = sub %i, %c1 : i32[500, 1] %m = eq %j, %k : i1[500, 500]", "%k = sub %j, %c1 : i32[1, 500] %m = eq %i, %k : i1[500, 500]", 1},
    {"%k = sub %i, %j : i32[500, 500] %m = eq %k, %c7 : i1[500, 500]", "%k = sub %j, %i : i32[500, 500] %m = eq %c7, %k : i1[500, 500]", 7},
    {"%k = add %j, %c250 : i32[1, 500] %m = eq %k, %i : i1[500, 500]", "%k = add %i, %c250 : i32[500, 1] %m = eq %k, %j : i1[500, 500]",
     250},
    {"%k = add %j, %c499 : i32[1, 500] %m = eq %k, %i : i1[500, 500]", "%k = add %i, %c499 : i32[500, 1] %m = eq %k, %j : i1[500, 500]",
     499},
};
constexpr const char* kDistances =
    "%c1 = constant {data = [1]} : i32 %c7 = constant {data = [7]} : i32 %c250 = constant {data = [250]} : i32 "
    "%c499 = constant {data = [499]} : i32 ";

TEST_CASE("instance check: masks beside the diagonal count each pair of neighbours once, in any order of the sums") {
  for (const Shift& shift : kShifts)
    for (const bool is_reversed : {false, true}) {
      const std::string condition = is_reversed ? shift.reversed : shift.condition;
      CAPTURE(condition);
      const auto masked = [&](const char* sum) {
        return fmt::format("{}{} %w = select %m, %p, %zero : f64[500, 500] {}", kDistances, condition, sum);
      };
      const std::string inner = masked("%r = reduce %w {kind = sum, axes = [0]} : f64[500] %x = reduce %r {kind = sum, axes = [0]} : f64");
      const std::string pairs = "%y = reduce %r2 {kind = sum, axes = [0]} : f64";
      const std::string other = "%r2 = reduce %w {kind = sum, axes = [1]} : f64[500] ";
      const ProofResult orders = compare({inner.c_str(), (other + pairs).c_str()});
      CHECK_MESSAGE(!orders.is_refuted, orders.text);
      CHECK(orders.left_open.empty());
      // The number of pairs.
      const std::string counted = fmt::format(
          "{}{} %w = select %m, %one, %zero : f64[500, 500] %x = reduce %w {{kind = sum, axes = [0, 1]}} : f64", kDistances, condition);
      const auto number = [&](int count) { return fmt::format("%n = constant {{data = [{}]}} : f64 %y = mul %n, %one : f64", count); };
      const ProofResult right = compare({counted.c_str(), number(500 - shift.distance).c_str()});
      CHECK_MESSAGE(!right.is_refuted, right.text);
      CHECK(right.left_open.empty());
      CHECK(compare({counted.c_str(), number(500).c_str()}).is_refuted);
      CHECK(compare({counted.c_str(), number(499 - shift.distance).c_str()}).is_refuted);
      CHECK(compare({inner.c_str(), "%y = mul %all, %one : f64"}).is_refuted);
      CHECK(compare({inner.c_str(), kTrace}).is_refuted);
    }
}

// A band, and the product of two masks: i == j + 1 and j == k + 2.
TEST_CASE("instance check: several distances at once, and distances of distances") {
  const std::string band = std::string(kDistances) +
                           "%k1 = add %j, %c1 : i32[1, 500] %k2 = sub %j, %c1 : i32[1, 500] %m1 = eq %i, %k1 : i1[500, 500] "
                           "%m2 = eq %i, %k2 : i1[500, 500] %m3 = bit_or %m1, %m2 : i1[500, 500] %m = bit_or %m3, %eq : i1[500, 500] "
                           "%w = select %m, %one, %zero : f64[500, 500] %x = reduce %w {kind = sum, axes = [0, 1]} : f64";
  CHECK(!compare({band.c_str(), "%n = constant {data = [1498]} : f64 %y = mul %n, %one : f64"}).is_refuted);
  CHECK(compare({band.c_str(), "%n = constant {data = [1500]} : f64 %y = mul %n, %one : f64"}).is_refuted);
  const std::string steps = std::string(kDistances) +
                            "%k1 = add %j, %c1 : i32[1, 500] %k2 = add %j, %c7 : i32[1, 500] %m1 = eq %i, %k1 : i1[500, 500] "
                            "%m2 = eq %i, %k2 : i1[500, 500] %w1 = select %m1, %one, %zero : f64[500, 500] "
                            "%w2 = select %m2, %one, %zero : f64[500, 500] %w = einsum %w1, %w2 {text = \"ij,jk->ik\"} : f64[500, 500] "
                            "%x = reduce %w {kind = sum, axes = [0, 1]} : f64";
  CHECK(!compare({steps.c_str(), "%n = constant {data = [492]} : f64 %y = mul %n, %one : f64"}).is_refuted);
  CHECK(compare({steps.c_str(), "%n = constant {data = [493]} : f64 %y = mul %n, %one : f64"}).is_refuted);
}

// The middle graph has a stored factor with a diagonal of its own, which a later kernel reads along another axis.
TEST_CASE("instance check: right plans of masks that compare indices are not refuted") {
  for (const char* text : {R"(graph {
  %a = input : f32[512, 512]
  %b = input : f32[512, 512]
  %p = einsum %a, %b {text = "ik,kj->ij"} : f32[512, 512]
  %i = iota {axes = [0]} : i32[512, 1]
  %j = iota {axes = [1]} : i32[1, 512]
  %m = eq %i, %j : i1[512, 512]
  %z = constant {data = [0]} : f32
  %w = select %m, %p, %z : f32[512, 512]
  %t = reduce %w {kind = sum, axes = [0, 1]} : f32
  output "t" %t
})",
                           R"(graph {
  symbol n {min = 1}
  %a = input : f32[n, 5]
  %b = input : f32[5, n]
  %x = input : f32[n, n]
  %p = einsum %a, %b {text = "ik,kj->ij"} : f32[n, n]
  %d = sub %x, %p : f32[n, n]
  %i = iota {axes = [0]} : i32[n, n]
  %j = iota {axes = [1]} : i32[n, n]
  %m = ne %i, %j : i1[n, n]
  %z = constant {data = [1]} : f32
  %w = select %m, %x, %z : f32[n, n]
  %v = mul %w, %d : f32[n, n]
  %t = einsum %v, %d {text = "ij,jk->ik"} : f32[n, n]
  output "t" %t
})",
                           R"(graph {
  symbol n {min = 1}
  %p = input : f64[n, n]
  %c = input : f64[n, 1]
  %i = iota {axes = [0]} : i64[n, n]
  %j = iota {axes = [1]} : i64[n, n]
  %m = eq %i, %j : i1[n, n]
  %z = constant {data = [0]} : f64
  %w = select %m, %p, %z : f64[n, n]
  %d = sub %p, %c : f64[n, n]
  %t = einsum %w, %d {text = "ij,ij->"} : f64
  output "t" %t
})"}) {
    const graph::Graph g = graph::parse(text, "mask");
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      const KernelSequence p = build_sequence(g, {}, target);
      CHECK_MESSAGE(p.not_fused.empty(), p.not_fused.front());
      CHECK(p.proof.exact);
    }
  }
}

/// A softmax over an axis of which an instance visits a few positions, and a value that is made of it.
graph::Graph graph_with_softmax(std::string rest, const std::string& keys) {
  std::string text = R"(graph {
  symbol n {min = 2}
  %x = input : f32[8, KEYS]
  %m = reduce %x {kind = max, axes = [1], keep_dims} : f32[8, 1]
  %s = sub %x, %m : f32[8, KEYS]
  %e = exp %s : f32[8, KEYS]
  %t = reduce %e {kind = sum, axes = [1], keep_dims} : f32[8, 1]
  %p = div %e, %t : f32[8, KEYS]
  %zero = constant {data = [0]} : f32
  %i = iota {axes = [1]} : i64[8, KEYS]
  )" + std::move(rest) +
                     "\n}";
  for (std::size_t at = 0; (at = text.find("KEYS")) != text.npos;) text.replace(at, 4, keys);
  return graph::parse(text, "softmax");
}

TEST_CASE("instance check: elements that masks and indexed reads pick by numbers or by indices are compared") {
  for (const char* keys : {"100", "n", "3"})
    for (const char* rest : {R"(%q = take_along %p, %i {axes = [1]} : f32[8, KEYS]
  output "y" %q)",
                             R"(%q = take_along %p, %i {axes = [1]} : f32[8, KEYS]
  %y = reduce %q {kind = sum, axes = [1]} : f32[8]
  output "y" %y)",
                             R"(%j = iota {axes = [1]} : i32[8, 2]
  %q = take_along %p, %j {axes = [1]} : f32[8, 2]
  %y = reduce %q {kind = sum, axes = [1]} : f32[8]
  output "y" %y)",
                             R"(%j = iota {axes = [0]} : i32[KEYS]
  %q = gather %p, %j {axes = [1]} : f32[8, KEYS]
  %y = reduce %q {kind = max, axes = [1]} : f32[8]
  output "y" %y)",
                             R"(%j = constant {data = [1, 0]} : i32[2]
  %y = gather %p, %j {axes = [1]} : f32[8, 2]
  output "y" %y)",
                             R"(%j = constant {data = [2]} : i64
  %c = eq %i, %j : i1[8, KEYS]
  %w = select %c, %p, %zero : f32[8, KEYS]
  %y = reduce %w {kind = sum, axes = [1]} : f32[8]
  output "y" %y)"}) {
      CAPTURE(keys);
      CAPTURE(rest);
      const KernelSequence p = build_sequence(graph_with_softmax(rest, keys), {}, {});
      CHECK(p.proof.exact);
      CHECK_MESSAGE(p.proof.text.find("open") == std::string::npos, p.proof.text);
    }
  for (const char* rest : {R"(%j = constant {data = [7, 9, 50, 99]} : i32[4]
  %y = gather %p, %j {axes = [1]} : f32[8, 4]
  output "y" %y)",
                           R"(%j = constant {data = [57]} : i64
  %c = ne %i, %j : i1[8, KEYS]
  %w = select %c, %zero, %p : f32[8, KEYS]
  %y = reduce %w {kind = sum, axes = [1]} : f32[8]
  output "y" %y)",
                           R"(%j = iota {axes = [1]} : i32[8, 4]
  %two = constant {data = [2]} : i32
  %d = mul %j, %two : i32[8, 4]
  %y = take_along %p, %d {axes = [1]} : f32[8, 4]
  output "y" %y)",
                           R"(%j = iota {axes = [1]} : i32[8, 4]
  %q = take_along %p, %j {axes = [1]} : f32[8, 4]
  %y = reduce %q {kind = sum, axes = [1]} : f32[8]
  output "y" %y)",
                           R"(%a = einsum %p, %x {text = "ik,jk->ij"} : f32[8, 8]
  %j = iota {axes = [0]} : i32[8, 1]
  %q = take_along %a, %j {axes = [1]} : f32[8, 1]
  %y = reduce %q {kind = sum, axes = [0]} : f32[1]
  output "y" %y)"}) {
    CAPTURE(rest);
    const KernelSequence p = build_sequence(graph_with_softmax(rest, "100"), {}, {});
    CHECK(p.proof.exact);
    CHECK_MESSAGE(p.proof.left_open.empty(), p.proof.text);
  }
}

TEST_CASE("instance check: plans of masks beside the diagonal are not refuted") {
  for (const int distance : {0, 1, -1, 5, -130})
    for (const char* axes : {"[0, 1] } : f32", "[0] } : f32[512]", "[1] } : f32[512]"}) {
      CAPTURE(distance);
      CAPTURE(axes);
      const graph::Graph g = graph::parse(fmt::format(R"(graph {{
  %a = input : f32[512, 64]
  %b = input : f32[64, 512]
  %p = einsum %a, %b {{text = "ik,kj->ij"}} : f32[512, 512]
  %i = iota {{axes = [0]}} : i32[512, 1]
  %j = iota {{axes = [1]}} : i32[1, 512]
  %c = constant {{data = [{}]}} : i32
  %k = add %j, %c : i32[1, 512]
  %m = eq %i, %k : i1[512, 512]
  %z = constant {{data = [0]}} : f32
  %w = select %m, %p, %z : f32[512, 512]
  %t = reduce %w {{kind = sum, axes = {}
  output "t" %t
}})",
                                                      distance, axes),
                                          "shift");
      for (const ir::TargetDesc& target : {ir::TargetDesc{}, kAmpere}) {
        const KernelSequence p = build_sequence(g, {}, target);
        CHECK(p.proof.exact);
        CHECK(p.kernels.size() + p.parameter_kernels.size() <= 2);
        CHECK_MESSAGE(p.not_fused.empty(), p.not_fused[0]);
      }
    }
}

TEST_CASE("instance check: no index is so far from another one as the greatest numbers are") {
  for (const char* number : {"9223372036854775807", "-9223372036854775808", "1099511627777"}) {
    CAPTURE(number);
    const graph::Graph g = graph::parse(fmt::format(R"(graph {{
  %a = input : f32[512, 512]
  %i = iota {{axes = [0]}} : i64[512, 1]
  %j = iota {{axes = [1]}} : i64[1, 512]
  %c = constant {{data = [{}]}} : i64
  %far = sub %j, %c : i64[1, 512]
  %k = sub %far, %c : i64[1, 512]
  %m = eq %i, %k : i1[512, 512]
  %z = constant {{data = [0]}} : f32
  %w = select %m, %a, %z : f32[512, 512]
  %t = reduce %w {{kind = sum, axes = [1]}} : f32[512]
  output "t" %t
}})",
                                                    number),
                                        "far");
    const KernelSequence p = build_sequence(g, {}, ir::TargetDesc{});
    CHECK(p.proof.exact);
    CHECK_MESSAGE(p.not_fused.empty(), p.not_fused[0]);
  }
}

TEST_CASE("instance check: a pick of another element, or of several, is refuted") {
  constexpr Formulas kEqual[] = {
      {"%k = constant {data = [57]} : i32 %c = eq %j, %k : i1[1, 500] %w = select %c, %p, %zero : f64[500, 500] "
       "%x = reduce %w {kind = sum, axes = [1], keep_dims} : f64[500, 1]",
       "%y = slice %p {axes = [1], lengths = [57, 58, 1]} : f64[500, 1]"},
      {"%x = take_along %p, %i {axes = [1]} : f64[500, 1]", "%y = reshape %d : f64[500, 1]"},
      {"%k = constant {data = [499]} : i64[1] %x = gather %p, %k {axes = [1]} : f64[500, 1]",
       "%y = slice %p {axes = [1], lengths = [499, 500, 1]} : f64[500, 1]"},
  };
  constexpr Formulas kDifferent[] = {
      {kEqual[0].written, "%y = slice %p {axes = [1], lengths = [56, 57, 1]} : f64[500, 1]"},
      {kEqual[0].written, "%y = reduce %p {kind = sum, axes = [1], keep_dims} : f64[500, 1]"},
      {kEqual[1].written, "%y = slice %p {axes = [1], lengths = [1, 2, 1]} : f64[500, 1]"},
      {kEqual[2].written, "%y = slice %p {axes = [1], lengths = [498, 499, 1]} : f64[500, 1]"},
  };
  for (const Formulas& f : kEqual) {
    CAPTURE(f.written);
    const ProofResult result = compare(f);
    CHECK_MESSAGE(!result.is_refuted, result.text);
    CHECK(result.left_open.empty());
  }
  for (const Formulas& f : kDifferent) {
    CAPTURE(f.written);
    CAPTURE(f.rewritten);
    CHECK(compare(f).is_refuted);
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
