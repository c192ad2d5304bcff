// Zero, infinity, NaN and signs: what is finite as written is finite and the same, what is not finite as written is not finite.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/builder.h"
#include "tileir/graph/formulas.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;
using ir::OpKind;

Formula minus_infinity(Formula x) { return like(x, -HUGE_VAL); }
Formula softmax(Formula s) {
  const Formula e = exp(s - max(s));
  return e / sum(e);
}
Formula mean(Formula x) { return {x.graph, builder(*x.graph).mean(x.id, std::vector<std::int64_t>{-1}, true)}; }
Formula matmul(Formula a, Formula b) { return {a.graph, builder(*a.graph).matmul(a.id, b.id, a.graph->node(a.id).element)}; }
Formula pow(Formula x, double e) { return map(OpKind::pow_, {x, like(x, e)}); }

/// Elements that are often 0, of both signs; conditions that hold nowhere, everywhere, or in some rows.
graph::Arguments special_arguments(const Graph& g, std::uint64_t seed, bool has_nan) {
  graph::Arguments arguments = random_arguments(g, {}, seed);
  std::mt19937_64 engine(seed);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({static_cast<std::uint32_t>(i)});
    if (n.op != graph::Op::input) continue;
    const std::int64_t row = n.shape.empty() ? 1 : n.shape.back().value();
    std::vector<std::uint64_t>& all = arguments.arrays[n.text];
    for (std::size_t at = 0; at < all.size(); ++at) {
      const std::uint64_t of_row = (static_cast<std::uint64_t>(at) / static_cast<std::uint64_t>(row) + seed) % 4;
      if (n.element == Element::boolean) all[at] = of_row == 0 ? 0 : of_row == 1 ? 1 : engine() % 2;
      if (!ir::is_float(n.element)) continue;
      static constexpr double kValues[] = {0, 1, -1, 0.5, -2};
      if (engine() % 3 == 0) all[at] = ir::element_bits(n.element, kValues[engine() % 5]);
      if (n.text == "bias" && of_row < 2) all[at] = ir::element_bits(n.element, of_row == 0 || engine() % 2 == 0 ? -HUGE_VAL : 0);
      static constexpr double kNotFinite[] = {NAN, HUGE_VAL, -HUGE_VAL};
      if (has_nan && engine() % 4 == 0) all[at] = ir::element_bits(n.element, kNotFinite[engine() % 3]);
    }
  }
  return arguments;
}

/// has_nan: also for data with NaN and infinities. only_finite: what is not finite as written may have any value.
void check(const std::function<Formula(Graph&, Element)>& formula, bool has_nan = false,
           std::initializer_list<Element> elements = {Element::f32, Element::f64, Element::bf16}, bool only_finite = false) {
  for (const Element e : elements)
    for (const bool fuse : {true, false}) {
      CAPTURE(ir::text(e));
      CAPTURE(fuse);
      Graph g;
      builder(g).output("result", cast(formula(g, e), Element::f64).id);
      FusionOptions options;
      options.fuse = fuse;
      const KernelSequence p = build_sequence(g, options, {});
      CHECK(p.proof.exact);
      std::string plans;
      for (const SequenceKernel& k : p.kernels) plans += k.plan_text + "\n";
      CAPTURE(plans);
      for (std::uint64_t seed = 0; seed < (has_nan ? 8 : 4); ++seed) {
        CAPTURE(seed);
        const graph::Arguments arguments = special_arguments(g, seed, seed >= 4);
        const std::vector<double> got = outputs_of(g, p, arguments).at("result");
        const graph::Array want = graph::interpret(g, arguments, graph::Rounding::double_precision).at("result");
        const double tolerance = e == Element::bf16 ? 0.1 : 2e-5;
        for (std::size_t i = 0; i < got.size(); ++i) {
          CAPTURE(i);
          CAPTURE(got[i]);
          CAPTURE(want.number(i));
          const bool is_right = std::isfinite(want.number(i))
                                    ? std::fabs(got[i] - want.number(i)) <= tolerance * (1 + std::fabs(want.number(i)))
                                    : only_finite || !std::isfinite(got[i]);
          CHECK(is_right);
        }
      }
    }
}

/// Checks a formula of two tensors x and y, also for data with NaN and infinities.
void check_elements(const std::function<Formula(Formula, Formula)>& formula, bool has_nan = true) {
  check([&](Graph& g, Element e) { return formula(input(g, "x", {6, 5}, e), input(g, "y", {6, 5}, e)); }, has_nan);
}

TEST_CASE("fusion zero: factors and terms that cancel") {
  check_elements([](Formula x, Formula) { return x / x; });
  check_elements([](Formula x, Formula) { return x - x; });
  check_elements([](Formula x, Formula) { return x * 0.0; });
  check_elements([](Formula x, Formula) { return 0.0 / x; });
  check_elements([](Formula x, Formula) { return x * x / x; });
  check_elements([](Formula x, Formula) { return x / (x * x); });
  check_elements([](Formula x, Formula y) { return (x + y) - x; });
  check_elements([](Formula x, Formula y) { return x * y / x; });
  check_elements([](Formula x, Formula) { return sum(x) / sum(x); });
  check_elements([](Formula x, Formula) { return exp(x) / exp(x); });
  check_elements([](Formula x, Formula) { return sum(x * 0.0); });
  check_elements([](Formula x, Formula y) { return sum(x) * y / sum(x); });
}

TEST_CASE("fusion zero: a difference of multiples of one value, which is NaN where the value is infinite") {
  // Each of these makes a finite number of an infinity.
  for (const auto& finite_of : {+[](Formula x) { return exp(x); }, +[](Formula x) { return tanh(x); }, +[](Formula x) { return 1.0 / x; },
                                +[](Formula x) { return max(x); }}) {
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, 5}, e);
          return finite_of(x * 2.0 - x);
        },
        true);
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, 5}, e);
          return finite_of(x - x * 0.25 - x * 0.25);
        },
        true);
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, 5}, e);
          return finite_of(sum(x * 2.0) - sum(x));
        },
        true);
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, 5}, e), z = input(g, "z", {5, 6}, e), w = input(g, "w", {5, 5}, e);
          return finite_of(w - (matmul(z, x) + w * 0.5) * 0.125);
        },
        true);
  }
}

TEST_CASE("fusion zero: an infinity has the sign of the zero by which a number is divided") {
  // tanh makes 1 or -1 of it.
  check_elements([](Formula x, Formula) { return tanh(1.0 / (x - x)); });
  check_elements([](Formula x, Formula) { return tanh(1.0 / (x * 0.0)); });
  check_elements([](Formula x, Formula) { return tanh(1.0 / (like(x, 0.0) - x)); });
  check_elements([](Formula x, Formula) { return tanh(1.0 / (like(x, 1.0) - x)); });
  check_elements([](Formula x, Formula) { return tanh(1.0 / (like(x, 1.0) - x * x)); });
  check_elements([](Formula x, Formula) { return tanh(1.0 / ((x - like(x, 1.0)) * -2.0)); });
  check_elements([](Formula x, Formula) { return tanh(-1.0 / (like(x, -1.0) - x)); });
  check_elements([](Formula x, Formula y) { return tanh(1.0 / ((x - y) * y)); });
  check_elements([](Formula x, Formula y) { return tanh(y / (x * 2.0 - x * 2.0)); });
  check_elements([](Formula x, Formula) { return tanh(map(OpKind::rsqrt_, {(x - like(x, 1.0)) * -1.0})); });
  check_elements([](Formula x, Formula) { return tanh(pow(like(x, 1.0) - x, -1)); });
  check_elements([](Formula x, Formula) { return max(tanh(1.0 / (like(x, 1.0) - x))); });
}

TEST_CASE("fusion zero: roots, logarithms and powers of what may be negative") {
  check_elements([](Formula x, Formula) { return sqrt(x) * sqrt(x); });
  check_elements([](Formula x, Formula) { return square(sqrt(x)); });
  check_elements([](Formula x, Formula) { return sqrt(x) / sqrt(x); });
  check_elements([](Formula x, Formula) { return sqrt(sqrt(x)); });
  check_elements([](Formula x, Formula) { return rsqrt(sqrt(x)); });
  check_elements([](Formula x, Formula) { return sqrt(rsqrt(sqrt(x))); });
  check_elements([](Formula x, Formula) { return x * sqrt(x); });
  check_elements([](Formula x, Formula) { return x * x * sqrt(x); });
  check_elements([](Formula x, Formula) { return 1.0 / (x * sqrt(x)); });
  check_elements([](Formula x, Formula) { return sqrt(x) * sqrt(sqrt(x)); });
  check_elements([](Formula x, Formula y) { return sqrt(sqrt(x * y)) * y; });
  check_elements([](Formula x, Formula y) { return rsqrt(x) / (x * y); });
  check_elements([](Formula x, Formula) { return exp(log(x)); });
  check_elements([](Formula x, Formula) { return exp(log(x) * 3.0); });
  check_elements([](Formula x, Formula) { return log(exp(x)); });
  check_elements([](Formula x, Formula y) { return sqrt(x / y); });
  check_elements([](Formula x, Formula y) { return pow(x / y, 2.5); });
  check_elements([](Formula x, Formula) { return pow(pow(x, 0.5), 4.0); });
  check_elements([](Formula x, Formula) { return sqrt(square(x)); });
  check_elements([](Formula x, Formula y) { return log(sqrt(x) * exp(y)); });
  check_elements([](Formula x, Formula) { return sum(sqrt(x / sum(x))); });
  check_elements([](Formula x, Formula) { return sum(log(x / mean(x))); }, false);
  check_elements([](Formula x, Formula) { return sum(pow(x / sum(x), 1.5)); });
}

TEST_CASE("fusion zero: roots, logarithms and powers of products that are 0 whatever their factors are") {
  check_elements([](Formula x, Formula y) { return sqrt(x * y * 0.0); });
  check_elements([](Formula x, Formula y) { return sqrt(x * y - y * x); });
  check_elements([](Formula x, Formula y) { return sqrt(-(x * y - y * x)); });
  check_elements([](Formula x, Formula y) { return sqrt((x * y - y * x) * x); });
  check_elements([](Formula x, Formula y) { return sqrt(square(x) * y * 0.0); });
  check_elements([](Formula x, Formula y) { return pow(x * y * 0.0, 2.5); });
  check_elements([](Formula x, Formula y) { return pow(x * y * 0.0, -0.5); });
  check_elements([](Formula x, Formula y) { return x * sqrt(sqrt(x * y * 0.0)); });
  check_elements([](Formula x, Formula y) { return sum(sqrt(x * y * 0.0)); });
  check_elements([](Formula x, Formula y) { return sqrt(sum(x * y * 0.0)); });
  check_elements([](Formula x, Formula y) { return log(1.0 + x * y * 0.0); });
  check_elements([](Formula x, Formula y) { return exp(sqrt(x * 0.0) - y * 0.0); });
}

TEST_CASE("fusion zero: constants with NaN and infinity are no finite data") {
  const double values[] = {NAN, 1, HUGE_VAL, -HUGE_VAL};
  for (const Element e : {Element::f32, Element::f64, Element::f16}) {
    CAPTURE(ir::text(e));
    Graph g;
    const Formula k = input(g, "k", {3, 4}, Element::boolean);
    std::vector<std::uint64_t> bits;
    for (const double v : values) bits.push_back(ir::element_bits(e, v));
    const Formula c{&g, builder(g).constant(e, {4}, bits)}, x = input(g, "x", {3, 4}, e);
    builder(g).output("sum", (c + where(k, x * 0.0, minus_infinity(x))).id);
    builder(g).output("product", (c * cast(k, e)).id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    graph::Arguments arguments = random_arguments(g, {}, 5);
    for (std::size_t i = 0; i < 12; ++i) arguments.arrays["k"][i] = i / 4 == 1 ? 1 : 0;
    const auto got = outputs_of(g, p, arguments);
    for (std::size_t i = 0; i < 12; ++i) {
      CAPTURE(i);
      const bool is_shown = i / 4 == 1;
      const double value = values[i % 4], sum = value + (is_shown ? 0 : -HUGE_VAL), product = value * (is_shown ? 1 : 0);
      CHECK((std::isnan(got.at("sum")[i]) ? std::isnan(sum) : got.at("sum")[i] == sum));
      CHECK((std::isnan(got.at("product")[i]) ? std::isnan(product) : got.at("product")[i] == product));
    }
  }
}

TEST_CASE("fusion zero: masks are numbers that may be 0") {
  const auto x = [](Graph& g, Element e) { return input(g, "x", {6, 5}, e); };
  const auto mask = [](Graph& g) { return input(g, "k", {6, 5}, Element::boolean); };
  const auto row = [](Graph& g) { return input(g, "row", {6, 1}, Element::boolean); };
  check([&](Graph& g, Element e) {
    const Formula k = mask(g), a = x(g, e);
    return where(k, 1.0 / where(k, a, like(a, 0)), like(a, 0));
  });
  check([&](Graph& g, Element e) {
    const Formula k = mask(g), a = x(g, e);
    return a / where(k, a, like(a, 0));
  });
  check([&](Graph& g, Element e) {
    const Formula r = row(g), a = where(r, x(g, e), number(g, 0, e));
    return sum(a) / sum(cast(r, e));
  });
  check([&](Graph& g, Element e) {
    const Formula r = row(g), a = where(r, exp(x(g, e)), number(g, 0, e));
    return a / sum(a);
  });
  check([&](Graph& g, Element e) {  // the mean of what counts, 0 where nothing does
    const Formula k = mask(g), a = where(k, x(g, e), number(g, 0, e)), n = sum(cast(k, e));
    return where(k, a / n, like(a, 0));
  });
  check([&](Graph& g, Element e) {
    const Formula k = mask(g), a = where(k, x(g, e), number(g, 0, e)), n = sum(cast(k, e));
    return matmul(where(k, a / n, like(a, 0)), input(g, "w", {5, 3}, e));
  });
  check([&](Graph& g, Element e) { return log(where(mask(g), exp(x(g, e)), number(g, 0, e))); });
}

// What a mask hides in one factor is hidden beside other factors that have the same mask.
TEST_CASE("fusion zero: a mask hides what is infinite beside other masked factors") {
  const auto zero = [](Formula x) { return like(x, 0); };
  for (const int keys : {5, 40}) {
    CAPTURE(keys);
    const auto position = [&](Graph& g) { return Formula{&g, builder(g).iota(Element::i32, {6, keys}, 1)}; };
    const std::function<Formula(Graph&)> masks[] = {
        [&](Graph& g) { return input(g, "k", {6, keys}, Element::boolean); },
        [&](Graph& g) { return map(OpKind::lt_, {position(g), input(g, "length", {6, 1}, Element::i32)}); }};
    for (const auto& mask : masks) {
      const auto check_factors = [&](const std::function<Formula(Formula, Formula, Formula)>& formula) {
        check([&](Graph& g, Element e) { return formula(mask(g), input(g, "x", {6, keys}, e), input(g, "y", {6, keys}, e)); });
      };
      check_factors([&](Formula k, Formula x, Formula y) { return where(k, y, zero(y)) * where(k, 1.0 / x, zero(x)); });
      check_factors([&](Formula k, Formula x, Formula y) { return sum(where(k, y, zero(y)) * where(k, 1.0 / x, zero(x))); });
      check_factors([&](Formula k, Formula x, Formula y) { return sum(where(k, y / where(k, x, like(x, 1)), zero(x))); });
      check_factors([&](Formula k, Formula x, Formula) {  // an entropy
        const Formula p = softmax(where(k, x, minus_infinity(x)));
        return sum(where(k, p * where(k, log(p), zero(p)), zero(p)));
      });
      check_factors([&](Formula k, Formula x, Formula y) {
        const Formula p = where(k, exp(x), zero(x));
        return sum(p * y * where(k, log(p), zero(p)));
      });
    }
  }
}

TEST_CASE("fusion zero: queries that see no key") {
  const auto attention = [](Graph& g, Element e, int keys, bool is_masked_again) {
    const Formula q = input(g, "q", {6, 4}, e), k = input(g, "k", {4, keys}, e), v = input(g, "v", {keys, 3}, e);
    const Formula mask = input(g, "mask", {6, keys}, Element::boolean);
    const Formula s = where(mask, matmul(q, k), minus_infinity(q)), p = softmax(s);
    return matmul(is_masked_again ? where(mask, p, like(p, 0)) : p, v);
  };
  for (const int keys : {1, 2, 5})
    for (const bool again : {false, true}) {
      CAPTURE(keys);
      CAPTURE(again);
      check([&](Graph& g, Element e) { return attention(g, e, keys, again); });
    }
  for (const int keys : {1, 5}) {
    CAPTURE(keys);
    check([&](Graph& g, Element e) {
      const Formula s = input(g, "s", {6, keys}, e);
      return softmax(where(input(g, "mask", {6, keys}, Element::boolean), s, minus_infinity(s)));
    });
    check([&](Graph& g, Element e) {
      const Formula s = input(g, "s", {6, keys}, e), masked = where(input(g, "mask", {6, keys}, Element::boolean), s, minus_infinity(s));
      graph::GraphBuilder b = builder(g);
      return Formula{&g, graph::logsumexp(b, masked.id, std::vector<std::int64_t>{-1}, false)};
    });
  }
}

// Where a mask hides a whole row, its maximum p is -inf, and exp((m ? x : -inf) - p) is NaN, as the formula is written; nothing finite may be made
// of it. The mask is an input, is computed from data, or has -inf in its rows.
using Masked = std::function<Formula(Graph&, Element, int keys)>;
/// The mask of a graph, which is an input of it.
Formula mask_of(Graph& g, int keys) {
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).op == graph::Op::input && g.node({i}).text == "mask") return {&g, {i}};
  return input(g, "mask", {6, keys}, Element::boolean);
}
Formula by_input(Graph& g, Element e, int keys) {
  const Formula s = input(g, "s", {6, keys}, e);
  return where(mask_of(g, keys), s, minus_infinity(s));
}
Formula by_row(Graph& g, Element e, int keys) {
  const Formula s = input(g, "s", {6, keys}, e);
  return where(input(g, "row", {6, 1}, Element::boolean), s, minus_infinity(s));
}
Formula by_data(Graph& g, Element e, int keys) {
  const Formula s = input(g, "s", {6, keys}, e), t = input(g, "t", {6, keys}, e);
  return where(map(OpKind::gt_, {t, like(t, 0)}), s * 3.0, minus_infinity(s));
}
Formula by_input_bounded(Graph& g, Element e, int keys) {
  const Formula s = map(OpKind::tanh_, {input(g, "s", {6, keys}, e)}) * 5.0;
  return where(input(g, "mask", {6, keys}, Element::boolean), s, minus_infinity(s));
}
Formula of_one_row(Graph& g, Element e, int keys) {
  const Formula s = input(g, "s", {keys}, e);
  return where(input(g, "mask", {keys}, Element::boolean), s, minus_infinity(s));
}
Formula by_bias(Graph& g, Element e, int keys) { return input(g, "s", {6, keys}, e) + input(g, "bias", {6, keys}, e); }
Formula of_product(Graph& g, Element e, int keys) {
  const Formula s = matmul(input(g, "q", {6, 4}, e), input(g, "k", {4, keys}, e));
  return where(mask_of(g, keys), s, minus_infinity(s));
}

TEST_CASE("fusion zero: exponentials of rows that are hidden whole") {
  const auto values = [](Graph& g, Element e, int keys) { return input(g, "v", {keys, 3}, e); };
  const auto weight = [](Formula s) { return exp(s - max(s)); };
  for (const Masked& masked : {Masked(by_input), Masked(by_row), Masked(by_data), Masked(by_input_bounded), Masked(by_bias),
                               Masked(of_one_row), Masked(of_product)})
    for (const int keys : {1, 5}) {
      CAPTURE(keys);
      const auto check_scores = [&](const std::function<Formula(Graph&, Formula, Formula)>& formula) {
        check([&](Graph& g, Element e) {
          const Formula s = masked(g, e, keys);
          return formula(g, s, values(g, e, keys));
        });
      };
      const auto as_rows = [](Graph& g, Formula x) {
        return g.node(x.id).shape.size() > 1 ? x : Formula{&g, builder(g).reshape(x.id, {1, g.node(x.id).shape[0]})};
      };
      check_scores([&](Graph&, Formula s, Formula) { return weight(s); });
      check_scores([&](Graph&, Formula s, Formula) { return sum(weight(s)); });
      check_scores([&](Graph&, Formula s, Formula) { return mean(weight(s)) * 2.0; });
      check_scores([&](Graph& g, Formula s, Formula v) { return matmul(as_rows(g, weight(s)), v); });
      check_scores([&](Graph& g, Formula s, Formula v) {
        const Formula e = weight(s);
        return matmul(as_rows(g, e / sum(e)), v);
      });
      check_scores([&](Graph&, Formula s, Formula) { return 1.0 / (1.0 + sum(weight(s))); });
      check_scores([&](Graph&, Formula s, Formula) { return exp(-(1.0 / sum(weight(s)))); });
      check_scores([&](Graph&, Formula s, Formula) { return max(s) + log(sum(weight(s))); });
      check_scores([&](Graph&, Formula s, Formula) { return exp(s - max(s) - log(sum(weight(s)))); });
      check_scores([&](Graph&, Formula s, Formula) { return exp(s - (max(s) + log(sum(weight(s))))); });
      check_scores([&](Graph&, Formula s, Formula) { return sum(weight(s)) / sum(weight(s * 0.5)); });
      check_scores([&](Graph&, Formula s, Formula) {  // finite: the maximum is replaced
        const Formula m = max(s);
        return sum(exp(s - maximum(m, like(m, -30))));
      });
      check_scores([&](Graph&, Formula s, Formula) {
        const Formula m = max(s);
        return sum(exp(s - where(map(OpKind::gt_, {m, minus_infinity(m)}), m, like(m, 0))));
      });
      check_scores([&](Graph&, Formula s, Formula) {  // the maximum of other scores
        const Formula t = where(map(OpKind::gt_, {s, like(s, 0)}), s, minus_infinity(s));
        return 1.0 / (1.0 + exp(s - max(t)));
      });
    }
}

// A second mask gives 0, whatever it hides; what it does not hide stays NaN.
TEST_CASE("fusion zero: hidden rows under a second mask") {
  const auto zero_where_not = [](Formula condition, Formula x) { return where(condition, x, like(x, 0)); };
  const auto safe = [](Formula e) {
    const Formula l = sum(e);
    return sum(e * e) / maximum(l, like(l, 1e-6));
  };
  const auto weight = [](Formula s) { return exp(s - max(s)); };
  for (const int keys : {1, 5, 33}) {
    CAPTURE(keys);
    const auto mask = [&](Graph& g) { return mask_of(g, keys); };
    const auto other_mask = [&](Graph& g) { return input(g, "other", {6, keys}, Element::boolean); };
    const auto row = [&](Graph& g) { return input(g, "row", {6, 1}, Element::boolean); };
    const auto check_masked = [&](const Masked& masked, bool only_finite) {
      const std::initializer_list<Element> elements = {Element::f32, Element::f64, Element::bf16};
      check([&](Graph& g, Element e) { return safe(zero_where_not(mask(g), weight(masked(g, e, keys)))); }, false, elements, only_finite);
      check([&](Graph& g, Element e) { return sum(zero_where_not(mask(g), weight(masked(g, e, keys)))); }, false, elements, only_finite);
    };
    check_masked(by_input, false);
    check_masked(of_product, false);
    check_masked(by_bias, true);
    for (const Masked& masked : {Masked(by_input), Masked(by_data), Masked(of_product)}) {
      check([&](Graph& g, Element e) { return safe(zero_where_not(row(g), weight(masked(g, e, keys)))); });
      check([&](Graph& g, Element e) { return safe(zero_where_not(other_mask(g), weight(masked(g, e, keys)))); });
      check([&](Graph& g, Element e) {  // scaled by loaded numbers
        return safe(zero_where_not(row(g), weight(masked(g, e, keys) * exp(input(g, "scale", {6, 1}, e)))));
      });
      check([&](Graph& g, Element e) {
        return safe(zero_where_not(other_mask(g), weight(masked(g, e, keys) * exp(input(g, "scale", {1, keys}, e)))));
      });
    }
    check([&](Graph& g, Element e) {  // a mask that names what it hides
      const Formula s = input(g, "s", {6, keys}, e);
      return safe(zero_where_not(other_mask(g), weight(where(mask(g), minus_infinity(s), s))));
    });
    check([&](Graph& g, Element e) {
      const Formula s = input(g, "s", {6, keys}, e);
      return safe(zero_where_not(row(g), weight(where(map(OpKind::bit_or_, {mask(g), other_mask(g)}), s, minus_infinity(s)))));
    });
    check([&](Graph& g, Element e) {
      const Formula s = input(g, "s", {6, keys}, e);
      const Formula t = maximum(where(mask(g), s, minus_infinity(s)), where(other_mask(g), s * 0.5, minus_infinity(s)));
      return safe(zero_where_not(row(g), weight(t)));
    });
    check([&](Graph& g, Element e) {  // two parts of attention, merged
      const Formula s = by_input(g, e, keys), t = where(other_mask(g), input(g, "t", {6, keys}, e), minus_infinity(s));
      const Formula m = max(s), n = max(t), p = maximum(m, n);
      return sum(exp(s - m)) * exp(m - p) + sum(exp(t - n)) * exp(n - p);
    });
  }
}

TEST_CASE("fusion zero: hidden rows beside values of few axes") {
  for (const int keys : {1, 5, 33}) {
    CAPTURE(keys);
    const auto sink = [](Graph& g, Element e) {  // of some rows
      const Formula s = input(g, "sink", {6, 1}, e);
      return where(input(g, "has_sink", {6, 1}, Element::boolean), s, minus_infinity(s));
    };
    for (const Masked& masked : {Masked(by_row), Masked(by_input), Masked(by_data)})
      for (const bool is_scaled : {false, true}) {
        CAPTURE(is_scaled);
        check([&](Graph& g, Element e) {
          const Formula s = masked(g, e, keys), t = is_scaled ? s * input(g, "scale", {1, 1}, e) : s;
          return sum(exp(t - maximum(max(t), sink(g, e))));
        });
        check([&](Graph& g, Element e) {
          const Formula s = masked(g, e, keys), t = is_scaled ? s * exp(input(g, "scale", {1, 1}, e)) : s, rows = sink(g, e),
                        p = maximum(max(t), rows);
          return sum(exp(t - p)) + exp(rows - p);
        });
      }
    for (const std::vector<Dim>& shape : {std::vector<Dim>{1, 3, 1}, {1, 1, 1}, {2, 1, 1}})
      for (const std::vector<Dim>& second : {std::vector<Dim>{1, 1, 1}, {1, 3, 1}, {2, 3, 1}})
        check([&](Graph& g, Element e) {
          const Formula s = input(g, "s", {2, 3, keys}, e), t = where(input(g, "row", shape, Element::boolean), s, minus_infinity(s));
          const Formula w = exp(t - max(t));
          return sum(where(input(g, "second", second, Element::boolean), like(w, 0), w));
        });
  }
}

TEST_CASE("fusion zero: exponentials of the logarithm of a sum in which nothing counts") {
  for (const int keys : {1, 5, 33})
    for (const double shift : {-100.0, 0.0, 100.0}) {
      CAPTURE(keys);
      CAPTURE(shift);
      const auto log_sum = [&](Graph& g, Element e, Formula condition) {
        const Formula s = input(g, "s", {6, keys}, e), p = max(s), w = exp(s - p);
        return p + log(sum(where(condition, w, like(w, 0))));
      };
      const std::initializer_list<Element> elements = {Element::f32, Element::f64};
      for (const bool is_of_row : {false, true}) {
        const auto mask = [&](Graph& g) { return input(g, "mask", {6, is_of_row ? 1 : keys}, Element::boolean); };
        const auto check_exponent = [&](const std::function<Formula(Graph&, Element)>& exponent) {
          check([&](Graph& g, Element e) { return 1.0 / (1.0 + exp(exponent(g, e))); }, false, elements);
        };
        check_exponent([&](Graph& g, Element e) { return log_sum(g, e, mask(g)) + shift; });
        check_exponent([&](Graph& g, Element e) { return log_sum(g, e, mask(g)) - (input(g, "c", {6, 1}, e) + shift); });
        check_exponent([&](Graph& g, Element e) { return log_sum(g, e, mask(g)) * 0.5 + shift; });
      }
    }
}

// 0 times -inf is NaN: a loop goes on behind its bound where a formula has such products.
TEST_CASE("fusion zero: masks that are a loop's bound, and values that they do not hide") {
  for (const int keys : {5, 33, 3000}) {
    CAPTURE(keys);
    const auto seen = [&](Graph& g) {
      return map(OpKind::lt_, {Formula{&g, builder(g).iota(Element::i32, {6, keys}, 1)}, input(g, "length", {6, 1}, Element::i32)});
    };
    check([&](Graph& g, Element e) {
      const Formula m = seen(g), x = input(g, "x", {6, keys}, e), t = where(m, x, minus_infinity(x));
      return sum(cast(m, e) * t);
    });
    check([&](Graph& g, Element e) {
      const Formula m = seen(g), x = input(g, "x", {6, keys}, e), t = where(m, x, minus_infinity(x)), w = exp(t - max(t));
      return sum(w / sum(w) * (t - max(t)));
    });
  }
}

TEST_CASE("fusion zero: an exponential by itself") {
  for (const int keys : {1, 33, 3000}) {
    CAPTURE(keys);
    const auto weight = [](Formula s) { return exp(s - max(s)); };
    const auto check_weights = [&](const std::function<Formula(Formula, Formula)>& formula) {
      check([&](Graph& g, Element e) { return formula(weight(input(g, "x", {2, keys}, e)), input(g, "y", {2, keys}, e)); }, false,
            {Element::f32, Element::f64});
    };
    check_weights([](Formula e, Formula) { return sum(e / e); });
    check_weights([](Formula e, Formula y) { return sum(e * y / e); });
    check_weights([](Formula e, Formula y) { return sum(e * 2.0 * y / e) / sum(e); });
    check_weights([](Formula e, Formula y) {
      const Formula p = e / sum(e);
      return sum(p / p * y);
    });
    check_weights([](Formula e, Formula y) { return max(e / e * y); });
    check_weights([](Formula e, Formula y) { return sum(exp(log(e) - log(e)) * y); });
  }
}

TEST_CASE("fusion zero: limits of rows that are hidden whole") {
  for (const Masked& masked :
       {Masked(by_input), Masked(by_row), Masked(by_data), Masked(by_input_bounded), Masked(of_one_row), Masked(of_product)})
    for (const int keys : {1, 5}) {
      CAPTURE(keys);
      check([&](Graph& g, Element e) {
        const Formula s = masked(g, e, keys), l = max(s) + log(sum(exp(s - max(s))));
        return maximum(l, like(l, -20));
      });
      check([&](Graph& g, Element e) {
        const Formula s = masked(g, e, keys), d = s - max(s);
        return maximum(d, like(d, -20));
      });
    }
}

TEST_CASE("fusion zero: an axis of one element keeps NaN") {
  for (const int n : {1, 3}) {
    CAPTURE(n);
    check([&](Graph& g, Element e) { return softmax(input(g, "x", {6, n}, e)); }, true);
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, n}, e);
          return x - mean(x);
        },
        true, {Element::f32, Element::bf16});
    check(
        [&](Graph& g, Element e) {
          const Formula x = input(g, "x", {6, n}, e), d = x - mean(x);
          return d * rsqrt(mean(square(d)) + 1e-5);
        },
        true, {Element::f32, Element::bf16});
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
