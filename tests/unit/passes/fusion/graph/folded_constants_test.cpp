// What a graph computes of constants alone, in each type, form and mode, against the graph in which each op rounds to its type.
#include "passes/fusion/graph/folded_constants.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "passes/fusion/graph/constant_values.h"
#include "passes/fusion/thresholds.h"
#include "tests/unit/passes/fusion/formula.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;

constexpr std::int64_t kLength = 6;
constexpr double kValues[] = {HUGE_VAL, -HUGE_VAL, NAN, -0.0, 0, 65504, 70000, 1e-10, 1e30, 3e38, 257, 16777217, 0x1p63, -1};
constexpr Element kElements[] = {Element::i8,  Element::u8,  Element::i16, Element::u16, Element::i32,  Element::u32,   Element::i64,
                                 Element::u64, Element::f16, Element::f32, Element::f64, Element::bf16, Element::f8e5m2};

struct Mode {
  std::string name;
  FusionOptions options;
};
const Mode kModes[] = {{"fused", {}},
                       {"node by node", {.fuse = false}},
                       {"as written", {.reassociate = false}},
                       {"roundings in place", {.move_rounding = false}},
                       {"as written, roundings in place", {.reassociate = false, .move_rounding = false}},
                       {"batch invariant", {.batch_invariant = true}}};

Formula filled(Graph& g, Element e, double v) { return broadcast_to(number(g, v, e), {kLength}); }
Formula table(Graph& g, Element e, const std::vector<double>& elements) {
  std::vector<std::uint64_t> bits;
  for (double v : elements) bits.push_back(ir::element_bits(e, v));
  return {&g, builder(g).constant(e, {static_cast<std::int64_t>(elements.size())}, bits)};
}
Formula uneven(Graph& g, Element e, double v) { return table(g, e, {v, 1, v, 0.5, v, 2}); }
Formula scan(Combine kind, Formula x) { return {x.graph, builder(*x.graph).scan(kind, x.id, 0, false)}; }
/// Sums of floats of 8 and 16 bits accumulate in f32.
Formula accumulated(Formula x, const std::function<Formula(Formula)>& f) {
  const Element e = x.graph->node(x.id).element;
  return ir::is_float(e) && ir::bits(e) <= 16 ? cast(f(cast(x, Element::f32)), e) : f(x);
}

struct Form {
  std::string name;
  /// Makes the formula in f64; the second function casts its parts.
  std::function<Formula(Graph&, double, const std::function<Formula(Formula)>&)> make;
  bool is_sum = false, is_ordered = false;
};
using Cast = std::function<Formula(Formula)>;
Formula mask(Graph& g) {
  if (const auto k = g.find_input("k")) return {&g, *k};
  return input(g, "k", {kLength}, Element::boolean);
}
const Form kForms[] = {
    {"number", [](Graph& g, double v, const Cast& c) { return c(filled(g, Element::f64, v)); }},
    {"equal elements", [](Graph& g, double v, const Cast& c) { return c(table(g, Element::f64, std::vector<double>(kLength, v))); }},
    {"table", [](Graph& g, double v, const Cast& c) { return c(uneven(g, Element::f64, v)); }},
    {"maximum", [](Graph& g, double v, const Cast& c) { return max(c(filled(g, Element::f64, v)), {0}); }, false, true},
    {"least of a table", [](Graph& g, double v, const Cast& c) { return reduce(Combine::min, c(uneven(g, Element::f64, v)), {0}, true); },
     false, true},
    {"sum",
     [](Graph& g, double v, const Cast& c) { return accumulated(c(uneven(g, Element::f64, v)), [](Formula x) { return sum(x, {0}); }); },
     true},
    {"pad", [](Graph& g, double v, const Cast& c) { return pad(c(broadcast_to(number(g, v, Element::f64), {4})), 0, 1, 1, 1); }},
    {"padded table", [](Graph& g, double v, const Cast& c) { return c(pad(table(g, Element::f64, {1, v}), 0, 1, 3, v)); }},
    {"concatenation",
     [](Graph& g, double v, const Cast& c) {
       return c(concat({table(g, Element::f64, {1, v}), broadcast_to(number(g, v, Element::f64), {4})}, 0));
     }},
    {"choice", [](Graph& g, double v, const Cast& c) { return c(where(mask(g), filled(g, Element::f64, v), uneven(g, Element::f64, v))); }},
    {"chosen by a table",
     [](Graph& g, double v, const Cast& c) {
       const Formula x = uneven(g, Element::f64, v);
       return c(where(less(x, like(x, 1)), x, filled(g, Element::f64, v)));
     }},
    {"running sum",
     [](Graph& g, double v, const Cast& c) {
       return accumulated(c(uneven(g, Element::f64, v)), [](Formula x) { return scan(Combine::sum, x); });
     },
     true},
    {"position of the greatest",
     [](Graph& g, double v, const Cast& c) { return reduce(Combine::argmax, c(filled(g, Element::f64, v)), {0}, true); }, false, true},
    {"running minimum", [](Graph& g, double v, const Cast& c) { return scan(Combine::min, c(uneven(g, Element::f64, v))); }, false, true},
};

bool is_same(double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::fabs(got - want) <= tolerance * std::fabs(want);
}

KernelSequence derive(const Graph& written, std::optional<Graph>& folded, const FusionOptions& options) {
  folded = with_folded_constants(written);
  return build_sequence(folded ? *folded : written, options, {});
}

/// Compares each element with the graph as it is written, with each op in its type.
void check_as_typed(const Graph& g, const Mode& mode, double tolerance, const std::map<std::string, std::int64_t>& symbols = {}) {
  CAPTURE(mode.name);
  std::optional<Graph> folded;
  const KernelSequence p = derive(g, folded, mode.options);
  const graph::Arguments arguments = random_arguments(g, symbols, 5);
  const auto got = outputs_of(folded ? *folded : g, p, arguments);
  for (const auto& [name, want] : graph::interpret(g, arguments, graph::Rounding::as_typed))
    for (std::size_t i = 0; i < want.bits.size(); ++i) {
      INFO(name << "[" << i << "] is " << got.at(name)[i] << ", and as written " << want.number(i));
      CHECK(is_same(got.at(name)[i], want.number(i), tolerance));
    }
}

TEST_CASE("folded constants: each form has the values of its type in every mode") {
  std::size_t at = 0;
  for (const Form& form : kForms)
    for (const Element e : kElements) {
      ++at;
      // Fused, node by node, and one other mode in turn.
      for (const Mode& mode : {kModes[0], kModes[1], kModes[2 + at % (std::size(kModes) - 2)]}) {
        if (form.is_ordered && ir::is_fp8(e)) continue;  // these are only converted
        CAPTURE(form.name);
        CAPTURE(ir::text(e));
        Graph g;
        const Formula x = input(g, "x", {kLength});
        for (std::size_t i = 0; i < std::size(kValues); ++i) {
          const Formula c = form.make(g, kValues[i], [&](Formula f) { return cast(f, e); });
          const std::string name = fmt::format("{:g}", kValues[i]);
          builder(g).output("value of " + name, cast(c, Element::f64).id);
          builder(g).output("integer of " + name, cast(c, Element::u64).id);
          builder(g).output("product of " + name, (x * cast(c, Element::f32)).id);
        }
        check_as_typed(g, mode, form.is_sum && (e == Element::f32 || e == Element::f64) ? 1e-6 : 0);
      }
    }
}

// A symbol, or the number of elements, leaves these to the kernels.
TEST_CASE("folded constants: roundings stay in place where the kernels compute the constants") {
  for (const Mode& mode : kModes) {
    if (mode.options.move_rounding && mode.options.fuse) continue;
    Graph g;
    const Dim n = builder(g).dim("n", {});
    const Formula x = input(g, "x", {kLength});
    const auto of = [&](const Dim& extent, double v) { return broadcast_to(number(g, v), {extent}); };
    const auto in_bf16 = [&](Formula c) { return x * cast(cast(c, Element::bf16), Element::f32); };
    builder(g).output("count", in_bf16(sum(of(n, 1))).id);
    builder(g).output("greatest", in_bf16(max(of(n, 257))).id);
    builder(g).output("long count", in_bf16(sum(of(kMostFoldedElements + 5, 1))).id);
    builder(g).output("extent", in_bf16({&g, builder(g).extent(Element::i32, n)}).id);
    builder(g).output("integer", cast(max(of(n, HUGE_VAL)), Element::u64).id);
    check_as_typed(g, mode, 0, {{"n", 257}});
  }
}

TEST_CASE("folded constants: nodes that a type does not change stay as they are") {
  const auto is_folded = [](const std::function<Formula(Graph&, Formula)>& f) {
    Graph g;
    const Formula x = input(g, "x", {kLength});
    builder(g).output("y", f(g, x).id);
    return with_folded_constants(g).has_value();
  };
  const auto plain = [](Graph& g) { return table(g, Element::f32, {1, 2, 3, 4, 5, 6}); };
  CHECK(!is_folded([&](Graph& g, Formula x) { return x * (plain(g) * 3.0); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return x / (plain(g) / 7.0); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return x * cast(cast(plain(g), Element::f16), Element::f32); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return where(less(plain(g), like(x, 2)), x, like(x, 0)); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return x + cast(cast(iota(g, {kLength}, 0), Element::f16), Element::f32); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return x * sum(plain(g), {0}); }));
  CHECK(!is_folded([&](Graph& g, Formula x) { return x * sqrt(number(g, 2)); }));
  CHECK(is_folded([&](Graph& g, Formula x) { return x * cast(cast(plain(g) * 0.1, Element::f16), Element::f32); }));
  // The type decides on products of two tables of 128 numbers, which are more than the numbers.
  CHECK(is_folded([&](Graph& g, Formula x) {
    std::vector<double> tenths;
    for (int i = 0; i < 128; ++i) tenths.push_back(i / 10.0);
    const Formula t = table(g, Element::f32, tenths);
    return cast(expand(t, 1) * expand(t, 0), Element::f16) * cast(slice(x, 0, 0, 1), Element::f16);
  }));
}

// Each cast of a choice is moved to what is chosen, so two casts of each choice would double the graph at each level.
TEST_CASE("folded constants: casts of nested choices do not make a graph that grows faster than linearly") {
  for (int levels : {10, 20, 40, 80}) {
    Graph g;
    const Formula x = input(g, "x", {kLength});
    Formula t = x;
    for (int i = 0; i < levels; ++i) {
      const Formula s = where(less(x, like(x, i)), t, like(x, i + 0.1));
      const Formula as_f16 = cast(cast(s, Element::f16), Element::f32), as_bf16 = cast(cast(s, Element::bf16), Element::f32);
      t = where(less(x, like(x, i + 0.5)), as_f16, as_bf16);
    }
    builder(g).output("y", t.id);
    const std::optional<Graph> folded = with_folded_constants(g);
    REQUIRE(folded.has_value());
    CHECK(folded->size() <= 40 * g.size());
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
