// The numbers of formulas: fractions of symbols, constants of any magnitude, and element types, against the graph in double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;

double tolerance(Element e) { return e == Element::f64 ? 1e-13 : e == Element::f32 ? 4e-6 : e == Element::f16 ? 4e-3 : 3e-2; }

/// Fused and node by node.
void check_run(const Graph& g, const graph::Arguments& arguments, double most) {
  for (const bool fuse : {true, false}) {
    CAPTURE(fuse);
    FusionOptions options;
    options.fuse = fuse;
    const KernelSequence p = build_sequence(g, options, {});
    std::string plans;
    for (const SequenceKernel& k : p.kernels) plans += k.name + ": " + k.plan_text + "\n";
    CAPTURE(plans);
    CHECK((p.proof.exact || p.proof.is_partial()));  // a function of the program is left open
    for (const auto& [name, error] : errors_of(g, p, arguments)) {
      CAPTURE(name);
      CHECK(error <= most);
    }
  }
}
void check(const Graph& g, const std::map<std::string, std::int64_t>& symbols, double most) {
  check_run(g, random_arguments(g, symbols, 11), most);
}

Formula extent(Graph& g, Element e, const Dim& d) { return {&g, builder(g).extent(e, d)}; }

Formula softmax(Formula x) {
  const Formula e = exp(x - max(x));
  return e / sum(e);
}

Formula layer_norm(Formula x, Formula n, double eps) {
  const Formula centred = x - sum(x) / n;
  return centred * rsqrt(sum(centred * centred) / n + eps);
}

// ---- fractions of symbols ----

TEST_CASE("fusion numbers: an extent divides and is divided") {
  for (const Element e : {Element::f32, Element::f64, Element::f16, Element::bf16})
    for (const std::int64_t value : {1, 3, 60, 1001}) {
      CAPTURE(value);
      CAPTURE(static_cast<int>(e));
      Graph g;
      const Dim n = builder(g).dim("n", {}), m = builder(g).dim("m", {});
      const Formula x = input(g, "x", {3, n}, e), count = extent(g, e, n), other = extent(g, e, m);
      builder(g).output("whole", (x * count).id);
      builder(g).output("half", (x + count / 2.0).id);
      builder(g).output("inverse", (x + 1.0 / count).id);
      builder(g).output("ratio", (x + count / other).id);
      builder(g).output("root", (x + sqrt(count) * 0.5).id);
      builder(g).output("alone", (count / 7.0).id);
      builder(g).output("turned", (x + tanh(count * 0.05)).id);
      builder(g).output("difference", (x * (count - other * 0.5)).id);
      check(g, {{"n", value}, {"m", 13}}, tolerance(e));
    }
}

TEST_CASE("fusion numbers: a mean is a fraction of what its formula has factored out") {
  for (const Element e : {Element::f32, Element::f64})
    for (const std::int64_t value : {1, 5, 129}) {
      CAPTURE(value);
      CAPTURE(static_cast<int>(e));
      Graph g;
      const Dim n = builder(g).dim("n", {});
      const Formula x = input(g, "x", {4, n}, e), count = extent(g, e, n), p = softmax(x);
      // One element is its own mean: differences of rounding errors are all that is left.
      if (value > 1) {
        builder(g).output("centred", (p - sum(p) / count).id);
        builder(g).output("normed", layer_norm(p, count, 1e-3).id);
      }
      builder(g).output("entropy", sum(p * log(p * count)).id);
      builder(g).output("rank", (sum(p * x) * 0.85 + 0.15 / count).id);
      check(g, {{"n", value}}, e == Element::f64 ? 1e-12 : 2e-5);
    }
}

TEST_CASE("fusion numbers: a count of constant terms") {
  for (const Element e : {Element::f32, Element::f64}) {
    CAPTURE(static_cast<int>(e));
    Graph g;
    const Dim n = builder(g).dim("n", {}), m = builder(g).dim("m", {});
    const Formula x = input(g, "x", {n, m}, e), third = broadcast_to(like(x, 1) / 3.0, {n, m});
    builder(g).output("thirds", sum(third, {0, 1}, false).id);
    builder(g).output("centred", (sum(x, {0, 1}, true) - sum(third, {0, 1}, true)).id);
    builder(g).output("inverse", (x / sum(third, {0, 1}, true)).id);
    check(g, {{"n", 7}, {"m", 11}}, tolerance(e));
  }
}

TEST_CASE("fusion numbers: products of many extents are floats beyond all integers") {
  Graph g;
  const Dim n = builder(g).dim("n", {});
  const Formula x = input(g, "x", {4}, Element::f64), count = extent(g, Element::f64, n);
  Formula power = count;
  for (int i = 0; i < 4; ++i) power = power * count;
  builder(g).output("fifth", (x * power).id);
  builder(g).output("inverse", (x / power).id);
  check(g, {{"n", 2000000011}}, 1e-13);
}

// ---- functions ----

TEST_CASE("fusion numbers: no function of a program is taken for commutative") {
  for (const Element e : {Element::f32, Element::i32}) {
    CAPTURE(static_cast<int>(e));
    Graph g;
    const Formula x = input(g, "x", {5, 300}, e);
    const auto folded = [&](bool is_last) {
      const Formula earlier{&g, builder(g).argument(e, 0)}, later{&g, builder(g).argument(e, 1)};
      // The last, or the first, element that is not 0.
      const Formula tested = is_last ? later : earlier, other = is_last ? earlier : later;
      const Formula f = where(equal(tested, like(x, 0)), other, tested);
      return Formula{&g, builder(g).reduce_by(x.id, {{1}}, 0, f.id)};
    };
    builder(g).output("last", folded(true).id);
    builder(g).output("first", folded(false).id);
    check(g, {}, 0);
  }
}

TEST_CASE("fusion numbers: positions of extremes of floats of 8 bits") {
  for (const Element e : {Element::f8e4m3, Element::f8e5m2}) {
    CAPTURE(static_cast<int>(e));
    Graph g;
    const Formula x = cast(input(g, "x", {5, 7}, e), Element::f16);
    builder(g).output("greatest", reduce(Combine::argmax, x, {1}, false).id);
    builder(g).output("least", reduce(Combine::argmin, x, {1}, false).id);
    check(g, {}, 0);
  }
}

// ---- roots of what a loop has found ----

TEST_CASE("fusion numbers: a root of values that hold others along a bound axis is checked") {
  for (const std::int64_t inner : {3, 40}) {
    CAPTURE(inner);
    Graph g;
    const Formula q = input(g, "q", {2, 5, inner}), k = input(g, "k", {2, 7, inner}), v = input(g, "v", {2, 7, 4});
    const Formula p = softmax(einsum("hid,hjd->hij", {q, k}));
    builder(g).output("root", sqrt(p + 1e-3).id);
    builder(g).output("product", einsum("hij,hje->hie", {sqrt(p + 1e-3), v}).id);
    Graph h;
    const Formula x = input(h, "x", {5, inner}), w = input(h, "w", {inner, 7});
    const Formula z = layer_norm(einsum("ik,kj->ij", {x, w}), number(h, 7), 1e-5);
    builder(h).output("z", (z / sqrt(1.0 + z * z)).id);
    for (const Graph* each : {&g, &h}) check(*each, {}, 2e-5);
  }
}

// ---- constants ----

/// Inputs of a magnitude.
graph::Arguments scaled_arguments(const Graph& g, double magnitude) {
  graph::Arguments arguments = random_arguments(g, {}, 11);
  for (std::size_t i = 0; i < g.size(); ++i)
    if (const graph::Node& n = g.node({static_cast<std::uint32_t>(i)}); n.op == graph::Op::input)
      for (std::uint64_t& bits : arguments.arrays[n.text]) bits = ir::element_bits(n.element, magnitude * ir::float_value(n.element, bits));
  return arguments;
}

TEST_CASE("fusion numbers: constants whose product is not a coefficient") {
  struct Case {
    const char* name;
    Element element;
    double magnitude;
    Formula (*make)(Formula);
  };
  const Case cases[] = {
      {"small square", Element::f32, 1e20, [](Formula x) { return square(x * 1e-20); }},
      {"large square", Element::f32, 1e-20, [](Formula x) { return square(x * 1e20); }},
      {"small square", Element::f64, 1e170, [](Formula x) { return square(x * 1e-170); }},
      {"large product", Element::f32, 1e-30, [](Formula x) { return x * 1e25 * 1e25; }},
      {"large product", Element::f64, 1, [](Formula x) { return x * 1e25 * 1e25; }},
      {"large product", Element::f64, 1e-300, [](Formula x) { return x * 1e200 * 1e200 * 1e-90; }},
      {"quotients", Element::f32, 1e30, [](Formula x) { return x / 6.022e23 / 1e20; }},
      {"quotients", Element::f64, 1, [](Formula x) { return x / 6.022e23 / 1e20 / 3e22; }},
      {"of a sum", Element::f32, 1e20, [](Formula x) { return (x * 1e-20 + 0.3) * 1e-20 * 1e-10 * 1e20; }},
      {"of a sum", Element::f64, 1, [](Formula x) { return (x + 1.0 / 3) * 1e-22 * 1e-22 / 1e-30; }},
      {"sum of both", Element::f64, 1, [](Formula x) { return x * 1e30 * 1e30 + x * 1e-30 * 1e-30; }},
      {"quotient", Element::f32, 1e-20, [](Formula x) { return 1e-20 / x / (x * 1e30) * 1e-20; }},
      {"cancelled", Element::f64, 1, [](Formula x) { return x * 1e-40 * 1e-40 / 1e-40 / 1e-40; }},
      {"least of 128 bits", Element::f64, 1, [](Formula x) { return x * 0x1p63 * -0x1p64; }},
      {"least floats", Element::f32, 1, [](Formula x) { return x * 1e-30 * 1e-5 * 1e20 * 1e10; }},
      {"energy", Element::f64, 1, [](Formula x) { return sum(square(x * 1.6e-19)) / 9.1e-31 / 1.38e-23; }},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    CAPTURE(static_cast<int>(c.element));
    Graph g;
    builder(g).output("y", c.make(input(g, "x", {3, 70}, c.element)).id);
    check_run(g, scaled_arguments(g, c.magnitude), tolerance(c.element));
  }
}

TEST_CASE("fusion numbers: powers and logarithms of bases 2 and 10") {
  for (const Element e : {Element::f32, Element::f64}) {
    CAPTURE(static_cast<int>(e));
    Graph g;
    const Formula x = input(g, "x", {3, 70}, e), positive = abs(x) + 0.1;
    builder(g).output("exp2", map(ir::OpKind::exp2_, {x * 8.0}).id);
    builder(g).output("exp10", map(ir::OpKind::exp10_, {x}).id);
    builder(g).output("log2", map(ir::OpKind::log2_, {positive}).id);
    builder(g).output("log10", map(ir::OpKind::log10_, {positive}).id);
    builder(g).output("log", log(positive * 2.0).id);
    builder(g).output("sum", sum(positive * log(positive * 3.0)).id);
    builder(g).output("constants", (x + map(ir::OpKind::log2_, {like(x, 3)}) * sqrt(like(x, 2)) + exp(like(x, 0.3))).id);
    const Formula p = map(ir::OpKind::exp2_, {x - max(x)});
    builder(g).output("softmax", (p / sum(p)).id);
    check(g, {}, e == Element::f64 ? 1e-14 : 3e-6);
  }
}

TEST_CASE("fusion numbers: the logarithm of a power of the base is whole") {
  for (const Element e : {Element::f32, Element::f64}) {
    Graph g;
    const Formula x = input(g, "x", {60}, e);
    builder(g).output("log2", map(ir::OpKind::log2_, {x}).id);
    graph::Arguments arguments = random_arguments(g, {}, 1);
    for (std::size_t i = 0; i < 60; ++i) arguments.arrays["x"][i] = ir::element_bits(e, std::ldexp(1.0, static_cast<int>(i) - 30));
    check_run(g, arguments, 0);
  }
}

// ---- element types ----

/// A graph for each type, by name: what it computes of x and y, where the mask k holds.
struct Rule {
  const char* name;
  Formula (*make)(Formula x, Formula y, Formula k);
  bool is_discrete = false;  // a rounding changes more than the last digits
};

Formula masked(Formula x, Formula k, double other = 0) { return where(k, x, like(x, other)); }
Formula minimum(Formula a, Formula b) { return map(ir::OpKind::minimum_, {a, b}); }
Formula as(Formula k, Formula x) { return cast(k, x.graph->node(x.id).element); }

constexpr Rule kRules[] = {
    {"sum and product", [](Formula x, Formula y, Formula) { return x + y * x - y; }},
    {"maximum of a choice", [](Formula x, Formula y, Formula k) { return maximum(masked(x, k), y); }},
    {"minimum of a choice", [](Formula x, Formula y, Formula k) { return minimum(where(k, x, y), masked(y, k, 3)); }},
    {"order of a choice", [](Formula x, Formula y, Formula k) { return where(less(masked(x, k), y), x, y); }, true},
    {"order of a sum", [](Formula x, Formula y, Formula k) { return where(greater_equal(x * as(k, x) + y, x), x, y); }, true},
    {"equality of masked values", [](Formula x, Formula y, Formula k) { return where(equal(x * as(k, x), masked(y, k)), x, y); }, true},
    {"product with a mask", [](Formula x, Formula y, Formula k) { return maximum(x * as(k, x), y); }},
    {"masked sum", [](Formula x, Formula, Formula k) { return sum(masked(x, k)); }},
    {"minimum of masked sums", [](Formula x, Formula y, Formula k) { return minimum(sum(masked(x, k)), sum(y * as(k, y))); }},
    {"order of masked sums", [](Formula x, Formula y, Formula k) { return where(less(sum(masked(x, k)), sum(y * as(k, y))), x, y); }, true},
    {"maximum of masked sums",
     [](Formula x, Formula y, Formula k) { return max(sum(masked(x, k), {1}, true) + sum(y * as(k, y), {1}, true), {0, 1}, true); }},
    {"masked product",
     [](Formula x, Formula, Formula k) { return maximum(reduce(Combine::prod, masked(x, k, 1), {1}, true), like(x, 5)); }},
    {"masked extremes",
     [](Formula x, Formula y, Formula k) { return maximum(reduce(Combine::min, masked(x, k, 7), {1}, true), max(y * as(k, y))); }},
    {"position of the greatest",
     [](Formula x, Formula, Formula k) { return reduce(Combine::argmax, sum(masked(x, k), {1}, false), {0}, true); }, true},
    {"position of the least", [](Formula x, Formula y, Formula k) { return reduce(Combine::argmin, x * as(k, x) + y, {1}, true); }, true},
    {"cast of a masked sum", [](Formula x, Formula, Formula k) { return cast(sum(masked(x, k)), Element::f64); }},
    {"cast of a choice", [](Formula x, Formula y, Formula k) { return cast(where(k, x, y), Element::f32); }},
    {"cast of a sum", [](Formula x, Formula y, Formula k) { return cast(x + as(k, y) * y, Element::f64); }},
    {"cast to a wide integer",
     [](Formula x, Formula y, Formula k) {
       return ir::is_float(x.graph->node(x.id).element) ? x : cast(sum(masked(x, k)) + y, Element::i64);
     }},
    {"cast to a narrow integer",
     [](Formula x, Formula y, Formula k) {
       const Element e = x.graph->node(x.id).element;
       return ir::is_float(e) ? x : cast(maximum(cast(x + y, Element::u8), cast(masked(x, k), Element::u8)), Element::i64);
     }},
    {"numbers of masks", [](Formula x, Formula y, Formula k) { return maximum(where(k, like(x, 3), like(x, 5)), y) + as(k, x); }},
    {"constant beside masks", [](Formula x, Formula, Formula k) { return sum(where(k, like(x, 3), like(x, 5))); }},
    {"running masked sum",
     [](Formula x, Formula y, Formula k) {
       return maximum(Formula{x.graph, builder(*x.graph).scan(Combine::sum, masked(x, k).id, 1, false)}, y);
     }},
    {"joined sums", [](Formula x, Formula y, Formula k) { return sum(concat({masked(x, k), y}, 1)) + sum(x); }},
    {"greatest of a join", [](Formula x, Formula y, Formula k) { return max(concat({x * as(k, x), masked(y, k)}, 1)); }},
    {"shifted mean",
     [](Formula x, Formula y, Formula k) {
       if (!ir::is_float(x.graph->node(x.id).element)) return x;
       const Formula z = masked(x + 10.0, k), centred = z - sum(z) / 40.0;
       return centred * rsqrt(sum(centred * centred) / 40.0 + 1e-3) + sum(y * centred);
     }},
    {"softmax of a choice",
     [](Formula x, Formula y, Formula k) {
       if (!ir::is_float(x.graph->node(x.id).element)) return x;
       return softmax(where(k, x, y) * 0.3) + where(k, like(x, 0.1), like(x, 0.3)) * where(less(x, y), like(x, 0.7), like(x, 0));
     }},
    {"sum of differences from what a loop finds",
     [](Formula x, Formula y, Formula) {
       if (ir::is_float(x.graph->node(x.id).element)) return sum(x - max(x));
       const Formula wide = cast(x, Element::i64), greatest = max(wide);
       return sum(wide - greatest) + sum(cast(y, Element::i64) * sum(wide + greatest));
     }},
    {"contraction",
     [](Formula x, Formula y, Formula k) {
       const Element e = x.graph->node(x.id).element, wide = ir::bits(e) == 8 ? Element::i32 : e;
       const Formula product{x.graph, builder(*x.graph).einsum("ij,lj->il", {x.id, masked(y, k).id}, wide)};
       return product + Formula{x.graph, builder(*x.graph).einsum("ij,ij->i", {x.id, y.id}, wide)};
     }},
    {"quotients",
     [](Formula x, Formula y, Formula k) {
       if (ir::is_float(x.graph->node(x.id).element)) return x;
       const Formula divisor = maximum(y, like(y, 1)), three = like(x, 3);
       return where(less(x / three, map(ir::OpKind::rem_, {x, divisor})), x / three + masked(y, k) / three, x / divisor);
     }},
    {"counts of bits",
     [](Formula x, Formula y, Formula k) {
       if (ir::is_float(x.graph->node(x.id).element)) return x;
       return map(ir::OpKind::popcount_, {x * as(k, x)}) + map(ir::OpKind::clz_, {masked(y, k, 9)}) + map(ir::OpKind::ffs_, {x + y});
     }},
};

TEST_CASE("fusion numbers: every rule in every type") {
  for (const Rule& rule : kRules)
    for (const Element e : {Element::i8, Element::u8, Element::i16, Element::u16, Element::i32, Element::u32, Element::i64, Element::u64,
                            Element::f16, Element::bf16, Element::f32, Element::f64}) {
      if (rule.is_discrete && (e == Element::f16 || e == Element::bf16)) continue;
      CAPTURE(std::string(rule.name));
      CAPTURE(ir::text(e));
      Graph g;
      const Formula x = input(g, "x", {6, 40}, e), y = input(g, "y", {6, 40}, e), k = input(g, "k", {6, 40}, Element::boolean);
      const Formula result = rule.make(x, y, k);
      builder(g).output("result", result.id);
      const auto most = [](Element type) { return ir::is_float(type) ? tolerance(type) : 0; };
      check_run(g, full_range_arguments(g, {}, 3), std::max(most(e), most(g.node(result.id).element)));
    }
}

TEST_CASE("fusion numbers: conversions of every type to every type") {
  const Element all[] = {Element::i8,  Element::u8,  Element::i16, Element::u16, Element::i32,
                         Element::u32, Element::i64, Element::u64, Element::f32, Element::f64};
  for (const Element from : all)
    for (const Element to : all) {
      if (from == to || ir::is_float(from)) continue;
      CAPTURE(ir::text(from));
      CAPTURE(ir::text(to));
      Graph g;
      const Formula x = input(g, "x", {6, 40}, from), k = input(g, "k", {6, 40}, Element::boolean);
      builder(g).output("plain", cast(x, to).id);
      builder(g).output("masked", cast(masked(x, k, 1), to).id);
      builder(g).output("greatest", cast(max(x), to).id);
      check_run(g, full_range_arguments(g, {}, 5), ir::is_float(to) ? tolerance(to) : 1e-15);
    }
}

TEST_CASE("fusion numbers: constants wrap in the type to which they are converted") {
  static constexpr Element kIntegers[] = {Element::i8,  Element::u8,  Element::i16, Element::u16,
                                          Element::i32, Element::u32, Element::i64, Element::u64};
  for (const Element from : kIntegers)
    for (const std::uint64_t bits : {std::uint64_t{0xcd4e}, std::uint64_t{1} << 31, std::uint64_t{0x8000000000000081}, ~std::uint64_t{0}}) {
      CAPTURE(ir::text(from));
      CAPTURE(bits);
      Graph g;
      const Formula x = input(g, "x", {3}, from);
      const std::uint64_t mask = ir::bits(from) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ir::bits(from)) - 1;
      const Formula c{&g, builder(g).constant(from, {}, {bits & mask})};
      for (const Element to : kIntegers) builder(g).output("to " + std::string(ir::text(to)), cast(x * 0.0 + c, to).id);
      const KernelSequence p = build_sequence(g, {}, {});
      CHECK(p.not_fused.empty());
      check(g, {}, 0);
    }
}

TEST_CASE("fusion numbers: doubles of masks, of constants and of counts") {
  Graph g;
  const Dim n = builder(g).dim("n", {});
  const Element e = Element::f64;
  const Formula x = input(g, "x", {5, n}, e), k = input(g, "k", {5, n}, Element::boolean), count = extent(g, e, n);
  builder(g).output("constants", where(k, like(x, 0.1), like(x, 0.3)).id);
  builder(g).output("exponentials", exp(where(k, like(x, 0.1), like(x, 0.3))).id);
  builder(g).output("root", (sqrt(like(x, 2)) * cast(k, e)).id);
  builder(g).output("share", (cast(k, e) / sum(cast(k, e))).id);
  builder(g).output("mean", (sum(where(k, like(x, 0.1), like(x, 0.7))) / count).id);
  builder(g).output("extent", (1.0 / count + sqrt(count)).id);
  builder(g).output("narrow", (x * cast(number(g, 0.1, Element::f32), e)).id);
  const Formula mean = sum(x) / count, centred = x - mean;
  builder(g).output("variance", (sum(centred * centred) / count).id);
  builder(g).output("normed", layer_norm(x, count, 1e-5).id);
  builder(g).output("weighted", sum(layer_norm(x, count, 1e-5) * where(k, like(x, 0.1), like(x, 0.3))).id);
  for (const std::int64_t value : {2, 45, 300}) check(g, {{"n", value}}, 1e-13);
}

TEST_CASE("fusion numbers: quotients of integers by 0 are -1, also where they are equal factors") {
  for (const Element e : {Element::i8, Element::u8, Element::i32, Element::u32, Element::i64})
    for (const bool reassociate : {true, false}) {
      CAPTURE(ir::text(e));
      CAPTURE(reassociate);
      Graph g;
      const Formula x = input(g, "x", {6}, e), y = x / x;
      builder(g).output("quotient", y.id);
      builder(g).output("square", (y * y).id);
      builder(g).output("cube", (y * y * y).id);
      builder(g).output("greater", maximum(y * y, y).id);
      builder(g).output("all", sum(y * y).id);
      FusionOptions options;
      options.reassociate = reassociate;
      const KernelSequence p = build_sequence(g, options, {});
      CHECK(p.proof.exact);
      graph::Arguments arguments = random_arguments(g, {}, 3);
      arguments.arrays["x"] = {0, 1, 2, 0, 7, 0};
      for (const auto& [name, error] : errors_of(g, p, arguments)) {
        CAPTURE(name);
        CHECK(error == 0);
      }
    }
}

TEST_CASE("fusion numbers: great integers keep their bits") {
  Graph g;
  const Formula x = input(g, "x", {6, 40}, Element::u64), k = input(g, "k", {6, 40}, Element::boolean);
  const Formula great{&g, builder(g).constant(Element::u64, {}, {(std::uint64_t{1} << 63) + 4096})};
  builder(g).output("choice", cast(where(k, x, great), Element::f64).id);
  builder(g).output("order", cast(less(where(k, x, great), great), Element::f32).id);
  const Formula greatest{&g, builder(g).constant(Element::u64, {}, {~std::uint64_t{0}})}, small = like(x, 6);
  builder(g).output("constants in order", where(less(small, where(k, great, greatest)), x, small).id);
  builder(g).output("constants", where(k, number(g, 16777217, Element::i32), number(g, 3, Element::i32)).id);
  check_run(g, full_range_arguments(g, {}, 7), 1e-15);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
