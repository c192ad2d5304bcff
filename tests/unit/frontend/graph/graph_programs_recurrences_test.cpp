// Steps that are repeated: Newton's method, maps, solvers of differential equations, descents. Many of them correct the errors of the steps
// before, but only if a step uses one value of the step before: two values of it that were rounded differently move apart.
#include <type_traits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

// What a step has: its state q and p, and the data a, b and the mask. V: tensors or numbers; T: the type of the elements.
template <class V, class M, class T>
struct State {
  V q, p, a, b;
  M mask;
  /// A constant of the formula, which has the type of the elements.
  static auto c(double value) {
    const T rounded = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
    if constexpr (std::is_arithmetic_v<V>)
      return V(number_of(rounded));
    else
      return rounded;
  }
  V where_masked(V x, V other) const {
    if constexpr (std::is_arithmetic_v<V>)
      return mask ? x : other;
    else
      return tw::where(mask, x, other);
  }
  static V root(V x) {
    if constexpr (std::is_arithmetic_v<V>)
      return std::sqrt(x);
    else
      return tw::sqrt(x);
  }
};
template <class T>
using Tensors = State<tw::Tensor<T>, tw::Tensor<bool>, T>;
template <class V, class T>
using Loop = State<V, bool, T>;  // one element in a plain loop of V, with the constants that T has

struct Recurrence {
  const char* name;
  std::function<void(Tensors<float>&)> tensors;
  std::function<void(Tensors<double>&)> tensors_double;
  std::function<void(Tensors<tw::f16>&)> tensors_half;
  std::function<void(Loop<float, float>&)> loop;
  std::function<void(Loop<double, double>&)> loop_double;
  // In higher precision.
  std::function<void(Loop<double, float>&)> exact;
  std::function<void(Loop<long double, double>&)> exact_double;
  std::function<void(Loop<double, tw::f16>&)> exact_half;
};
template <class F>
Recurrence recurrence(const char* name, F f) {
  return {name, f, f, f, f, f, f, f, f};
}

std::vector<Recurrence> recurrences() {
  std::vector<Recurrence> all;
  const auto add = [&](const char* name, auto step) { all.push_back(recurrence(name, step)); };
  // Newton's method
  add("2 q - a q q", [](auto& s) { s.q = s.c(2) * s.q - s.a * s.q * s.q; });
  add("q 2 - q q a", [](auto& s) { s.q = s.q * s.c(2) - s.q * s.q * s.a; });
  add("q + (q - a q q)", [](auto& s) { s.q = s.q + (s.q - s.a * s.q * s.q); });
  add("q + q (1 - a q)", [](auto& s) { s.q = s.q + s.q * (s.c(1) - s.a * s.q); });
  add("3 q - 3 a q q + a a q q q", [](auto& s) { s.q = s.c(3) * s.q - s.c(3) * s.a * s.q * s.q + s.a * s.a * s.q * s.q * s.q; });
  add("(q + a / q) / 2", [](auto& s) { s.q = s.c(0.5) * (s.q + s.a / s.q); });
  add("q (1.5 - a q q / 2)", [](auto& s) { s.q = s.q * (s.c(1.5) - s.c(0.5) * s.a * s.q * s.q); });
  add("1.5 q - a q q q / 2", [](auto& s) { s.q = s.c(1.5) * s.q - s.c(0.5) * s.a * s.q * s.q * s.q; });
  add("q + (q - q q q)", [](auto& s) { s.q = s.q + (s.q - s.q * s.q * s.q); });
  add("q - (q q q - a) / (3 q q)", [](auto& s) { s.q = s.q - (s.q * s.q * s.q - s.a) / (s.c(3) * s.q * s.q); });
  // maps
  add("2.3 q - 2.3 q q", [](auto& s) { s.q = s.c(2.3) * s.q - s.c(2.3) * s.q * s.q; });
  add("2 q - 2 q q", [](auto& s) { s.q = s.c(2) * s.q - s.c(2) * s.q * s.q; });
  add("3 q - 3 q q", [](auto& s) { s.q = s.c(3) * s.q - s.c(3) * s.q * s.q; });
  add("0.7 q - 0.7 q q", [](auto& s) { s.q = s.c(0.7) * s.q - s.c(0.7) * s.q * s.q; });
  add("q / 3 - q q / 3", [](auto& s) { s.q = s.c(1.0 / 3) * s.q - s.c(1.0 / 3) * s.q * s.q; });
  add("2.3 (q - q q)", [](auto& s) { s.q = s.c(2.3) * (s.q - s.q * s.q); });
  add("3 (q - q q)", [](auto& s) { s.q = s.c(3) * (s.q - s.q * s.q); });
  add("2.3 q - 1.7 q q", [](auto& s) { s.q = s.c(2.3) * s.q - s.c(1.7) * s.q * s.q; });
  add("b q - b q q", [](auto& s) { s.q = s.b * s.q - s.b * s.q * s.q; });
  add("2.3 q - 2.3 q q under a mask", [](auto& s) { s.q = s.where_masked(s.c(2.3) * s.q - s.c(2.3) * s.q * s.q, s.q); });
  add("q + 0.3 (q - q q) under a mask", [](auto& s) { s.q = s.q + s.where_masked(s.c(0.3) * (s.q - s.q * s.q), s.q * s.c(0)); });
  add("1 - 0.2 q q + p", [](auto& s) {
    const auto q = s.q;
    s.q = s.c(1) - s.c(0.2) * q * q + s.p, s.p = s.c(0.3) * q;
  });
  // polynomials in Horner's form
  add("((0.3 q - 0.7) q + 0.9) q + 0.1", [](auto& s) { s.q = ((s.c(0.3) * s.q - s.c(0.7)) * s.q + s.c(0.9)) * s.q + s.c(0.1); });
  add("((1.3 - 0.5 q) q - 0.4) q + 0.3", [](auto& s) { s.q = ((s.c(1.3) - s.c(0.5) * s.q) * s.q - s.c(0.4)) * s.q + s.c(0.3); });
  // differential equations
  add("q + 0.1 (q - q q q)", [](auto& s) { s.q = s.q + s.c(0.1) * (s.q - s.q * s.q * s.q); });
  add("1.1 q - 0.1 q q q", [](auto& s) { s.q = s.c(1.1) * s.q - s.c(0.1) * s.q * s.q * s.q; });
  add("predator and prey", [](auto& s) {
    const auto q = s.q, p = s.p;
    s.q = q + s.c(0.01) * q * (s.c(1.1) - s.c(0.4) * p);
    s.p = p + s.c(0.01) * p * (s.c(0.1) * q - s.c(0.4));
  });
  add("predator and prey, expanded", [](auto& s) {
    const auto q = s.q, p = s.p;
    s.q = q + s.c(0.1) * (s.c(1.1) * q - s.c(0.4) * q * p);
    s.p = p + s.c(0.1) * (s.c(0.1) * q * p - s.c(0.4) * p);
  });
  add("leapfrog", [](auto& s) {
    s.p = s.p - s.c(0.005) * s.q;
    s.q = s.q + s.c(0.01) * s.p;
    s.p = s.p - s.c(0.005) * s.q;
  });
  add("Verlet in a double well", [](auto& s) {
    s.p = s.p - s.c(0.01) * (s.q * s.q * s.q - s.q);
    s.q = s.q + s.c(0.01) * s.p;
  });
  add("Verlet of positions", [](auto& s) {
    const auto next = s.c(2) * s.q - s.p - s.c(0.01) * s.a * s.q;
    s.p = s.q, s.q = next;
  });
  add("two stages", [](auto& s) {
    const auto half = s.q + s.c(0.15) * (s.q - s.q * s.q);
    s.q = s.q + s.c(0.3) * (half - half * half);
  });
  add("reaction of two", [](auto& s) {
    const auto q = s.q, p = s.p, r = q * p * p;
    s.q = q - s.c(0.1) * r + s.c(0.03) * (s.c(1) - q);
    s.p = p + s.c(0.1) * r - s.c(0.09) * p;
  });
  // linear systems
  add("a rotation", [](auto& s) {
    const auto q = s.q, p = s.p;
    s.q = s.c(0.6) * q - s.c(0.8) * p, s.p = s.c(0.8) * q + s.c(0.6) * p;
  });
  add("a linear pair", [](auto& s) {
    const auto q = s.q, p = s.p;
    s.q = s.c(0.7) * q + s.c(0.4) * p, s.p = s.c(0.9) * p - s.c(0.3) * q;
  });
  add("2 a q - p", [](auto& s) {
    const auto next = s.c(2) * s.a * s.q - s.p;
    s.p = s.q, s.q = next;
  });
  // descents
  add("momentum", [](auto& s) { s.p = s.c(0.9) * s.p - s.c(0.1) * (s.q - s.a), s.q = s.q + s.p; });
  add("momentum on a quartic", [](auto& s) {
    s.p = s.c(0.9) * s.p + (s.c(4) * s.q * s.q * s.q - s.c(4) * s.a * s.q);
    s.q = s.q - s.c(0.01) * s.p;
  });
  add("momentum of scaled squares", [](auto& s) {
    const auto from = s.q - s.a;
    s.p = s.c(0.9) * s.p + s.c(0.1) * from * from;
    s.q = s.q - s.c(0.1) * from / (s.root(s.p) + s.c(0.1));
  });
  return all;
}

constexpr int kElements = 32;

struct Inputs {
  std::vector<float> q, p, a, b;
  std::vector<bool> mask;
};
Inputs inputs() {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> draw(0, 1);
  Inputs in;
  for (int i = 0; i < kElements; ++i) {
    in.q.push_back(0.3f + 0.5f * draw(engine)), in.p.push_back(0.2f + 0.3f * draw(engine));
    in.a.push_back(0.55f + 0.4f * draw(engine)), in.b.push_back(1.4f + 1.2f * draw(engine));
    in.mask.push_back(draw(engine) < 0.5f);
  }
  return in;
}

struct Results {
  Numbers q, p;
};
// The steps in a plain loop of V.
template <class V, class T>
Results looped(const std::function<void(Loop<V, T>&)>& step, const Inputs& in, int steps) {
  Results results;
  for (int i = 0; i < kElements; ++i) {
    const auto given = [&](const std::vector<float>& x) { return V(number_of(T(x[i]))); };
    Loop<V, T> s{given(in.q), given(in.p), given(in.a), given(in.b), in.mask[i]};
    for (int k = 0; k < steps; ++k) step(s);
    results.q.push_back(static_cast<double>(s.q)), results.p.push_back(static_cast<double>(s.p));
  }
  return results;
}

// Compares the state after some steps, as each device computes it, with exact results. The error may be a few units in the last place, or a
// few times that of a loop in the same type.
template <class T>
void check(const std::function<void(Tensors<T>&)>& step, const Results& exact, const Results& loop, int steps, bool is_symbolic,
           const Devices& devices) {
  constexpr double kUnits = 16, kTimes = 8;
  const double unit = std::is_same_v<T, double> ? std::ldexp(1, -53) : std::is_same_v<T, float> ? std::ldexp(1, -24) : std::ldexp(1, -11);
  const Inputs in = inputs();
  Program p;
  const tw::Dim n = is_symbolic ? p.graph.dim("n") : tw::Dim(kElements);
  const auto input = [&](const char* name, const std::vector<float>& x) { return p.input(name, {n}, rounded_to<T>(x)); };
  Tensors<T> s{input("q", in.q), input("p", in.p), input("a", in.a), input("b", in.b), p.input("mask", {n}, in.mask)};
  // All inputs are used, whatever the step reads.
  Numbers all;
  for (int i = 0; i < kElements; ++i) all.push_back(in.mask[i] ? double(in.q[i]) + in.p[i] + in.a[i] + in.b[i] : double(in.q[i]));
  p.output("all", tw::where(s.mask, s.q + s.p + s.a + s.b, s.q), all, 4 * unit);
  for (int k = 0; k < steps; ++k) step(s);
  p.output("after, q", s.q, exact.q, std::max(kUnits * unit, kTimes * relative_error(loop.q, exact.q)));
  p.output("after, p", s.p, exact.p, std::max(kUnits * unit, kTimes * relative_error(loop.p, exact.p)));
  for (const std::string& name : devices) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    p.check(device, p.graph.compile(device));
  }
}

void check_floats(int steps, bool is_symbolic, const Devices& devices) {
  const Inputs in = inputs();
  for (const Recurrence& r : recurrences()) {
    CAPTURE(std::string(r.name));
    check<float>(r.tensors, looped<double, float>(r.exact, in, steps), looped<float, float>(r.loop, in, steps), steps, is_symbolic,
                 devices);
  }
}

TEST_CASE("graph programs: recurrences of 20 steps") { check_floats(20, false, devices()); }
TEST_CASE("graph programs: recurrences of 30 steps over symbolic extents") { check_floats(30, true, {"cpu"}); }

TEST_CASE("graph programs: recurrences of doubles") {
  const Inputs in = inputs();
  for (const Recurrence& r : recurrences())
    for (const int steps : {20, 30}) {
      CAPTURE(std::string(r.name));
      CAPTURE(steps);
      const Results exact = looped<long double, double>(r.exact_double, in, steps);
      check<double>(r.tensors_double, exact, looped<double, double>(r.loop_double, in, steps), steps, steps == 30, {"cpu"});
    }
}

TEST_CASE("graph programs: recurrences of f16") {
  const Inputs in = inputs();
  constexpr int kSteps = 5;
  for (const Recurrence& r : recurrences()) {
    CAPTURE(std::string(r.name));
    const Results exact = looped<double, tw::f16>(r.exact_half, in, kSteps);
    check<tw::f16>(r.tensors_half, exact, exact, kSteps, false, devices());
  }
}

// The means of one step cancel those of the step before: nothing is left of them but 0 times a sum.
template <class T>
void check_means(double tolerance) {
  const Inputs in = inputs();
  for (const int steps : {2, 7, 8, 12}) {
    CAPTURE(steps);
    Program p;
    const std::vector<T> hq = rounded_to<T>(in.q), hp = rounded_to<T>(in.p), hb = rounded_to<T>(in.b);
    auto q = p.input("q", {kElements}, hq), r = p.input("p", {kElements}, hp), b = p.input("b", {kElements}, hb);
    Numbers want_q = numbers_of(hq), want_r = numbers_of(hp);
    const T c = T(1.125f);
    for (int k = 0; k < steps; ++k) {
      const auto sum = q + r, from_b = b - q;
      q = sum - (c - sum), r = from_b - tw::mean(from_b, 0, true);
      double mean = 0;
      for (int i = 0; i < kElements; ++i) mean += (number_of(hb[i]) - want_q[i]) / kElements;
      for (int i = 0; i < kElements; ++i) {
        const double next = 2 * (want_q[i] + want_r[i]) - number_of(c);
        want_r[i] = number_of(hb[i]) - want_q[i] - mean, want_q[i] = next;
      }
    }
    p.output("after, q", q, want_q, tolerance);
    p.output("after, p", r, want_r, tolerance);
    p.check();
  }
}

TEST_CASE("graph programs: recurrences with means that cancel") {
  check_means<float>(1e-5);
  check_means<double>(1e-13);
}

}  // namespace
}  // namespace graph_program
