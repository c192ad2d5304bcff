// Steps of solvers: residuals that are far smaller than what they are made of, against the graph in double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/formula.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Graph;
using ir::Element;

Formula dot(Formula x, Formula y) { return sum(x * y, {0}, false); }
Formula matvec(Formula a, Formula x) { return einsum("ij,j->i", {a, x}); }
// The product of a matrix and a vector, written as a sum of element-wise products.
Formula matvec_by_sum(Formula a, Formula x) { return reshape(sum(a * reshape(x, {1, x.shape()[0]})), {x.shape()[0]}); }

using Product = Formula (*)(Formula, Formula);

/// The squared residual of 8 steps.
void conjugate_gradients(Graph& g, Formula a, Formula b, Product product) {
  Formula r = b, p = b, rr = dot(r, r);
  for (int step = 0; step < 8; ++step) {
    const Formula ap = product(a, p);
    r = r - rr / dot(p, ap) * ap;
    const Formula next = dot(r, r);
    p = r + next / rr * p;
    rr = next;
  }
  builder(g).output("y", rr.id);
}

/// Vectors of a Krylov space, each orthogonal to the two before it.
void lanczos(Graph& g, Formula a, Formula b, Product product) {
  Formula before = b * 0.0, v = b * rsqrt(dot(b, b));
  for (int step = 0; step < 4; ++step) {
    Formula w = product(a, v);
    w = w - dot(v, w) * v;
    w = w - dot(before, w) * before;
    before = v;
    v = w * rsqrt(dot(w, w));
  }
  builder(g).output("y", v.id);
}

/// x + w (b - A x), and the last change of x.
void richardson(Graph& g, Formula a, Formula b, Product product) {
  Formula x = b * 0.3, change = x;
  for (int step = 0; step < 12; ++step) {
    change = (b - product(a, x)) * 0.4;
    x = x + change;
  }
  builder(g).output("y", change.id);
}

/// Products of a matrix, made orthogonal twice.
void gram_schmidt(Graph& g, Formula a, Formula b, Product product) {
  Formula first = product(a, b);
  first = first * rsqrt(dot(first, first));
  const Formula second = product(a, first);
  Formula left = second;
  for (int time = 0; time < 2; ++time) left = left - dot(first, left) * first;
  const Formula next = product(a, left);
  builder(g).output("y", (next - dot(first, next) * first - dot(left, next) / dot(left, left) * left).id);
}

// A symmetric positive definite matrix of condition 5 or less.
void make_definite(std::vector<std::uint64_t>& bits, std::size_t n, Element e) {
  std::vector<double> m(n * n);
  for (std::size_t i = 0; i < n * n; ++i) m[i] = ir::float_value(e, bits[i]);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = i == j ? 1 : 0;
      for (std::size_t k = 0; k < n; ++k) sum += m[i * n + k] * m[j * n + k] / static_cast<double>(n);
      bits[i * n + j] = ir::element_bits(e, sum);
    }
}

struct Case {
  const char* name;
  void (*build)(Graph&, Formula, Formula, Product);
};
const Case kCases[] = {
    {"conjugate gradients", conjugate_gradients}, {"lanczos", lanczos}, {"richardson", richardson}, {"gram_schmidt", gram_schmidt}};

void check(const Case& c, Element e, std::int64_t n, bool is_symbolic, Product product, const ir::TargetDesc& target) {
  CAPTURE(std::string(c.name) + " " + std::string(ir::text(e)) + " " + target.name);
  CAPTURE(n);
  CAPTURE(is_symbolic);
  Graph g;
  const Dim d = is_symbolic ? builder(g).dim("n", {}) : Dim(n);
  const Formula a = input(g, "a", {d, d}, e), b = input(g, "b", {d}, e);
  c.build(g, a, b, product);
  graph::Arguments arguments =
      random_arguments(g, is_symbolic ? std::map<std::string, std::int64_t>{{"n", n}} : std::map<std::string, std::int64_t>{}, 7);
  make_definite(arguments.arrays["a"], static_cast<std::size_t>(n), e);
  const KernelSequence p = build_sequence(g, {}, target);
  FusionOptions by_node;
  by_node.fuse = false;
  const double fused = errors_of(g, p, arguments).at("y"), unfused = errors_of(g, build_sequence(g, by_node, target), arguments).at("y");
  CAPTURE(unfused);
  CHECK(p.proof.exact);
  CHECK(fused <= 4 * unfused + (e == Element::f64 ? 1e-12 : 2e-6));
}

TEST_CASE("solvers: a residual has the error of the formulas as they are written") {
  for (const Case& c : kCases)
    for (const Element e : {Element::f32, Element::f64})
      for (const ir::TargetDesc& target : {ir::TargetDesc{}, kAmpere}) {
        check(c, e, 61, true, matvec, target);
        check(c, e, 61, false, matvec, target);
        check(c, e, 17, false, matvec_by_sum, target);
      }
}

TEST_CASE("solvers: what a sum takes beside its product is stored, and a norm of one row is not") {
  Graph g;
  const Formula a = input(g, "a", {40, 40}), b = input(g, "b", {40});
  conjugate_gradients(g, a, b, matvec);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(std::any_of(p.not_fused.begin(), p.not_fused.end(), [](const std::string& line) {
    return line.find("is stored, because it is added to what is computed from all of it") != std::string::npos;
  }));
  // x at (row, column) and at (row, inner) holds one mean of squares.
  Graph norms;
  const Formula x = input(norms, "x", {8, 40}), y = x * rsqrt(sum(x * x) / 40.0 + 1e-5);
  builder(norms).output("y", (y + einsum("ij,jk->ik", {y, input(norms, "w", {40, 40})})).id);
  CHECK(build_sequence(norms, {}, {}).not_fused.empty());
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
