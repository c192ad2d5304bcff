// The families: chains, solvers, layers, many outputs, many inputs.
#include "tests/unit/passes/fusion/families.h"

#include <iterator>

namespace tilewright::passes::fusion::test {

namespace {

using graph::Graph;
using ir::Element;

Formula sine(Formula x) { return map(ir::OpKind::sin_, {x}); }
void output(Graph& g, const std::string& name, Formula f) { builder(g).output(name, f.id); }

void chain(Graph& g, int steps) {
  Formula x = input(g, "x", {64, 32});
  for (int i = 0; i < steps; ++i) x = sine(x);
  output(g, "y", x);
}

// Rows and columns are divided by their sums in turn.
void sinkhorn(Graph& g, int steps) {
  Formula k = exp(input(g, "x", {64, 32}));
  for (int i = 0; i < steps; ++i) {
    k = k / sum(k, {1});
    k = k / sum(k, {0});
  }
  output(g, "y", k);
}

// The method of Runge and Kutta of order four.
void runge_kutta(Graph& g, int steps) {
  Formula y = input(g, "y0", {64, 32});
  const auto f = [](Formula x) { return sine(x) - x * x * x * 0.125; };
  constexpr double kStep = 0.0625;
  for (int i = 0; i < steps; ++i) {
    const Formula k1 = f(y), k2 = f(y + k1 * (kStep / 2)), k3 = f(y + k2 * (kStep / 2)), k4 = f(y + k3 * kStep);
    y = y + (k1 + k2 * 2 + k3 * 2 + k4) * (kStep / 6);
  }
  output(g, "y", y);
}

// Each layer has weights of its own.
void layers(Graph& g, int steps) {
  Formula x = input(g, "x", {16, 32});
  for (int i = 0; i < steps; ++i) {
    const std::string number = std::to_string(i);
    const Formula norm = x / sqrt(sum(x * x) / 32.0 + 1e-6);
    const Formula hidden = tanh(einsum("rk,kn->rn", {norm, input(g, "up" + number, {32, 64})}));
    x = x + einsum("rk,kn->rn", {hidden, input(g, "down" + number, {64, 32})});
  }
  output(g, "y", x);
}

void outputs(Graph& g, int steps) {
  const Formula x = input(g, "x", {64, 32});
  for (int i = 0; i < steps; ++i) output(g, "y" + std::to_string(i), sine(x * (1.0 + i)) + 1.0);
}

// Outputs that use one value: a product, a reduction, a value that is computed element by element.
void outputs_of(Graph& g, Formula value, int steps) {
  for (int i = 0; i < steps; ++i) output(g, "y" + std::to_string(i), value * input(g, "c" + std::to_string(i), {64, 32}));
}
void outputs_of_product(Graph& g, int steps) {
  outputs_of(g, einsum("rk,kn->rn", {input(g, "a", {64, 48}), input(g, "b", {48, 32})}), steps);
}
void outputs_of_reduction(Graph& g, int steps) { outputs_of(g, sum(input(g, "a", {64, 48})), steps); }
void outputs_of_function(Graph& g, int steps) { outputs_of(g, exp(input(g, "a", {64, 32})), steps); }

// Concatenates pairs, then pairs of pairs, and so on.
void join(Graph& g, int steps) {
  std::vector<Formula> level;
  for (int i = 0; i < steps; ++i) level.push_back(sine(input(g, "x" + std::to_string(i), {64, 32})));
  while (level.size() > 1) {
    std::vector<Formula> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] * 0.5 + level[i + 1] * level[i]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  output(g, "y", level[0]);
}

void norms(Graph& g, int steps) {
  Formula x = input(g, "x", {64, 32});
  for (int i = 0; i < steps; ++i) {
    const Formula centered = x - sum(x) / 32.0;
    x = tanh(centered / sqrt(sum(centered * centered) / 32.0 + 1e-5));
  }
  output(g, "y", x);
}

void softmaxes(Graph& g, int steps) {
  Formula x = input(g, "x", {64, 32});
  for (int i = 0; i < steps; ++i) {
    const Formula e = exp(x - max(x));
    x = e / sum(e);
  }
  output(g, "y", x);
}

void conjugate_gradients(Graph& g, int steps) {
  const Formula a = input(g, "a", {32, 32}), b = input(g, "b", {32});
  const auto dot = [](Formula x, Formula y) { return einsum("i,i->", {x, y}); };
  Formula x = b * 0.0, r = b, p = b, rr = dot(r, r);
  for (int i = 0; i < steps; ++i) {
    const Formula ap = p * 16.0 + einsum("ij,j->i", {a, p}), alpha = rr / dot(p, ap);
    x = x + alpha * p;
    r = r - alpha * ap;
    const Formula next = dot(r, r);
    p = r + (next / rr) * p;
    rr = next;
  }
  output(g, "x", x);
}

// Each value reads all of the last eight.
void dense(Graph& g, int steps) {
  constexpr std::size_t kReach = 8;
  std::vector<Formula> all{input(g, "x", {64, 32})};
  for (int i = 0; i < steps; ++i) {
    Formula total = all.back() * 0.5;
    for (std::size_t k = 2; k <= std::min(kReach, all.size()); ++k) total = total + all[all.size() - k] * (0.5 / static_cast<double>(k));
    all.push_back(sine(total));
  }
  output(g, "y", all.back());
}

// The steps of a hash, or of Collatz: both branches use the value.
void branches(Graph& g, int steps) {
  const auto integer = [&](double v) { return number(g, v, Element::i32); };
  Formula x = input(g, "x", {64, 32}, Element::i32);
  for (int i = 0; i < steps; ++i) {
    const Formula is_odd = equal(map(ir::OpKind::bit_and_, {x, integer(1)}), integer(1));
    x = where(is_odd, x * integer(3) + integer(1), map(ir::OpKind::shr_, {x, integer(1)}));
  }
  output(g, "y", x);
}

// Two values that use each other.
void ladder(Graph& g, int steps) {
  Formula a = input(g, "a", {64, 32}), b = input(g, "b", {64, 32});
  for (int i = 0; i < steps; ++i) {
    const Formula next = a * 0.5 + sine(b) * 0.5;
    b = b * 0.5 - map(ir::OpKind::cos_, {a}) * 0.5;
    a = next;
  }
  output(g, "y", a);
  output(g, "z", b);
}

// The scheme of Horner, with other numbers at each step.
void horner(Graph& g, int steps) {
  const Formula x = tanh(input(g, "x", {64, 32})) * 0.5;
  Formula y = x;
  for (int i = 0; i < steps; ++i) y = y * x + (1.0 / (i + 3.0));
  output(g, "y", y);
}

// The method of Euler, with a time of its own for each step.
void euler(Graph& g, int steps) {
  constexpr double kStep = 0.03125;
  Formula y = input(g, "y0", {64, 32});
  for (int i = 0; i < steps; ++i) y = y + sine(y + (0.01 + i * kStep)) * kStep;
  output(g, "y", y);
}

// Each step adds noise of another scale.
void diffusion(Graph& g, int steps) {
  Formula y = input(g, "x", {64, 32});
  const Formula noise = input(g, "noise", {64, 32});
  for (int i = 0; i < steps; ++i) y = y - tanh(y) * ((i + 512) * 0x1p-14) + noise * ((i + 3) * 0x1p-16);
  output(g, "y", y);
}

// A recurrent layer, of which each step reads another row of its input.
void recurrence(Graph& g, int steps) {
  const Formula x = input(g, "x", {steps, 16, 32});
  Formula y = input(g, "y0", {16, 32});
  for (int i = 0; i < steps; ++i) y = tanh(y * 0.5 + reshape(slice(x, 0, i, i + 1), {16, 32}));
  output(g, "y", y);
}

// Attention whose loop over blocks of keys is written out.
void blocks_of_keys(Graph& g, int steps) {
  constexpr std::int64_t kBlock = 16;
  const Formula q = input(g, "q", {16, 32}), k = input(g, "k", {steps * kBlock, 32}), v = input(g, "v", {steps * kBlock, 32});
  Formula greatest, total, weighted;
  for (int i = 0; i < steps; ++i) {
    const auto block = [&](Formula x) { return slice(x, 0, i * kBlock, (i + 1) * kBlock); };
    const Formula scores = einsum("id,jd->ij", {q, block(k)}), own = max(scores);
    const Formula next = i == 0 ? own : maximum(greatest, own), e = exp(scores - next);
    const Formula of_block = einsum("ij,jd->id", {e, block(v)});
    if (i > 0) {
      const Formula change = exp(greatest - next);
      total = total * change + sum(e);
      weighted = weighted * change + of_block;
    } else {
      total = sum(e);
      weighted = of_block;
    }
    greatest = next;
  }
  output(g, "y", weighted / total);
}

// Rows of many tensors, one below the other.
void concatenation(Graph& g, int steps) {
  std::vector<Formula> rows;
  for (int i = 0; i < steps; ++i) rows.push_back(sine(input(g, "x" + std::to_string(i), {1 + i % 7, 32})));
  output(g, "y", concat(rows, 0));
}

// Concatenates two tensors, then the result and another tensor, and so on.
void joined_twice(Graph& g, int steps) {
  const Formula x = input(g, "x", {3, 4}), z = input(g, "z", {3, 4});
  std::vector<Formula> inner, outer;
  for (int i = 0; i < steps; ++i) inner.push_back(i % 2 == 0 ? x : z);
  const Formula joined = concat(inner, 0);
  for (int i = 0; i < steps; ++i) outer.push_back(i % 2 == 0 ? joined : slice(joined, 0, i % 3, 3 + i % 3) + 1.0);
  output(g, "y", concat(outer, 0));
}

// Adds rows to a tensor one by one.
void rows_added(Graph& g, int steps) {
  Formula y = input(g, "x", {3, 32});
  for (int i = 0; i < steps; ++i) y = concat({y, sine(input(g, "x" + std::to_string(i), {1 + i % 4, 32}))}, 0);
  output(g, "y", y);
}

// Rows of many functions that differ in a number.
void scaled_rows(Graph& g, int steps) {
  std::vector<Formula> rows;
  for (int i = 0; i < steps; ++i) rows.push_back(sine(input(g, "x" + std::to_string(i), {4, 32}) * (1.0 + (i + 3) * 0x1p-10)));
  output(g, "y", concat(rows, 0));
}

// Each step divides the elements in another way, and exchanges the two axes.
void reshapes(Graph& g, int steps) {
  constexpr std::int64_t kElements = 2520, kDivisors[] = {2, 24, 63, 5, 140, 36, 8, 315, 9, 280, 7, 120};
  Formula x = input(g, "x", {kElements});
  for (int i = 0; i < steps; ++i) {
    const std::int64_t d = kDivisors[i % std::size(kDivisors)];
    x = reshape(permute(reshape(x, {d, kElements / d}), {1, 0}), {kElements});
  }
  output(g, "y", x);
}

// Each step puts the first rows behind the others.
void rotations(Graph& g, int steps) {
  constexpr std::int64_t kRows = 64;
  Formula x = input(g, "x", {kRows, 32});
  for (int i = 0; i < steps; ++i) x = concat({slice(x, 0, 1 + i % 63, kRows), slice(x, 0, 0, 1 + i % 63)}, 0);
  output(g, "y", x);
}

// The logistic map, where it goes to and fro between two values.
void logistic_map(Graph& g, int steps) {
  Formula x = tanh(input(g, "x", {64, 32})) * 0.25 + 0.5;
  for (int i = 0; i < steps; ++i) x = x * (like(x, 1) - x) * 3.25;
  output(g, "y", x);
}

// The method of Sinkhorn with a row and a column of factors, of which the matrix is made at the end.
void sinkhorn_factors(Graph& g, int steps) {
  const Formula k = exp(input(g, "x", {64, 32}) * 0.25);
  const Formula a = exp(input(g, "a", {64})), b = exp(input(g, "b", {32}));
  Formula u = a, v = b;
  for (int i = 0; i < steps; ++i) {
    u = a / einsum("ij,j->i", {k, v});
    v = b / einsum("ij,i->j", {k, u});
  }
  output(g, "y", k * expand(u, 1) * v);
}

// The average of three neighbours, with zeros beyond both ends.
void stencil(Graph& g, int steps) {
  constexpr std::int64_t kLength = 512;
  Formula x = input(g, "x", {kLength});
  for (int i = 0; i < steps; ++i) {
    const Formula p = pad(x, 0, 1, 1);
    x = (slice(p, 0, 0, kLength) + x + slice(p, 0, 2, kLength + 2)) * (1.0 / 3);
  }
  output(g, "y", x);
}

// A stencil without padding: each step makes the result two elements shorter.
void valid_stencil(Graph& g, int steps) {
  std::int64_t length = 2 * steps + 32;
  Formula x = input(g, "x", {length});
  for (int i = 0; i < steps; ++i) {
    x = slice(x, 0, 0, length - 2) * 0.25 + slice(x, 0, 1, length - 1) * 0.5 + slice(x, 0, 2, length) * 0.25;
    length -= 2;
  }
  output(g, "y", x);
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {"chain", chain},
      {"sinkhorn", sinkhorn},
      {"runge_kutta", runge_kutta},
      {"layers", layers},
      {"outputs", outputs},
      {"outputs_of_product", outputs_of_product},
      {"outputs_of_reduction", outputs_of_reduction},
      {"outputs_of_function", outputs_of_function},
      {"join", join},
      {"norms", norms},
      {"softmaxes", softmaxes},
      {"conjugate_gradients", conjugate_gradients},
      {"dense", dense},
      {"branches", branches},
      {"ladder", ladder},
      {"horner", horner},
      {"euler", euler},
      {"diffusion", diffusion},
      {"recurrence", recurrence},
      {"blocks_of_keys", blocks_of_keys},
      {"concatenation", concatenation},
      {"joined_twice", joined_twice},
      {"rows_added", rows_added},
      {"scaled_rows", scaled_rows},
      {"reshapes", reshapes},
      {"rotations", rotations},
      {"logistic_map", logistic_map},
      {"sinkhorn_factors", sinkhorn_factors},
      {"stencil", stencil},
      {"valid_stencil", valid_stencil},
  };
  return kFamilies;
}

void build_family(const Family& family, Graph& g, std::size_t nodes) {
  // A family adds the same number of nodes at each step.
  const auto nodes_of = [&](int steps) {
    Graph trial;
    family.build(trial, steps);
    return trial.size();
  };
  constexpr int kSample = 16;
  const std::size_t some = nodes_of(kSample), more = nodes_of(2 * kSample);
  const double each = static_cast<double>(more - some) / kSample;
  const double steps = kSample + (static_cast<double>(nodes) - static_cast<double>(some)) / each;
  family.build(g, std::max(1, static_cast<int>(steps + 0.999)));
}

}  // namespace tilewright::passes::fusion::test
