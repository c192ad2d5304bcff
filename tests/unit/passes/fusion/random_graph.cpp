// Makes random graphs op by op.
#include "tests/unit/passes/fusion/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::passes::fusion::test {

namespace {

using graph::Combine;
using graph::Graph;
using graph::TensorShape;
using ir::Element;

class Maker {
 public:
  Maker(Graph& g, std::uint64_t seed, RandomExtents extents, bool has_multiples)
      : g_(g), extents_(extents), has_multiples_(has_multiples), engine_(seed) {}

  void run() {
    const int inputs = 2 + pick(3);
    for (int i = 0; i < inputs; ++i) values_.push_back(input(g_, "x" + std::to_string(i), random_shape()));
    const int ops = 4 + pick(10);
    for (int i = 0; i < ops; ++i) values_.push_back(has_multiples_ && pick(2) == 0 ? multiples() : step());
    builder(g_).output("y", values_.back().id);
    if (pick(3) == 0) builder(g_).output("z", any().id);
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  Formula any() {
    return values_[values_.size() - 1 - static_cast<std::size_t>(pick(static_cast<int>(std::min<std::size_t>(values_.size(), 4))))];
  }
  int rank(const Formula& x) const { return static_cast<int>(x.shape().size()); }
  std::int64_t extent(const Formula& x, int axis) const { return x.shape()[static_cast<std::size_t>(axis)].value(); }

  TensorShape random_shape() {
    static constexpr int kExtents[] = {1, 2, 3, 6, 12, 5};
    TensorShape shape;
    const int n = 1 + pick(3);
    for (int i = 0; i < n; ++i) shape.push_back(extents_ == RandomExtents::some_zero && pick(5) == 0 ? 0 : kExtents[pick(6)]);
    return shape;
  }

  // A tensor that broadcasts with x: one of the values, or x's own mean along an axis.
  Formula partner(const Formula& x) {
    for (int tries = 0; tries < 4; ++tries) {
      const Formula y = any();
      bool fits = rank(y) <= rank(x);
      for (int i = 0; fits && i < rank(y); ++i) {
        const std::int64_t a = extent(x, rank(x) - 1 - i), b = extent(y, rank(y) - 1 - i);
        fits = a == b || b == 1;
      }
      if (fits) return y;
    }
    return {&g_, builder(g_).mean(x.id, std::vector<std::int64_t>{pick(rank(x))}, true)};
  }

  Formula bounded(Formula x) { return tanh(x); }

  Formula sum_of_multiples(const Formula& a, const Formula& b, std::int64_t axis) {
    switch (pick(7)) {
      case 0: return a + b;
      case 1: return a - like(a, 1.5);
      case 2: return a - max(a, {axis});
      case 3: return a - Formula{&g_, builder(g_).mean(a.id, std::vector<std::int64_t>{axis}, true)};
      case 4: return a - b + max(a, {axis}) * 3.0;
      default: return a - b;
    }
  }

  // A sum or a difference of multiples, or what is computed of one. The multiples and the sum may have other users, too.
  Formula multiples() {
    static constexpr double kNumbers[] = {1.5, 3, 0.625, -0.75, 7, 23.0 / 16};
    const Formula x = pick(2) == 0 ? any() : bounded(any());
    if (rank(x) == 0) return bounded(x);
    const double c = kNumbers[pick(6)], d = pick(3) == 0 ? kNumbers[pick(6)] : c;
    const std::int64_t axis = pick(rank(x));
    const Formula a = pick(2) == 0 ? x * c : x / c, y = partner(x), b = pick(2) == 0 ? y * d : y / d;
    for (const Formula& multiple : {a, b})
      if (pick(2) == 0) values_.push_back(multiple);
    const Formula sum = sum_of_multiples(a, b, axis);
    if (pick(2) == 0) values_.push_back(sum);
    switch (pick(6)) {
      case 0: return sum;
      case 1: return sum * d;
      case 2: return sum * bounded(partner(x));
      case 3: return bounded(partner(sum)) * sum;
      case 4: return sum / (abs(partner(x)) + 1.0);
      default: return exp(bounded(sum));
    }
  }

  Formula step() {
    const Formula x = any();
    const int n = rank(x);
    if (n == 0) return bounded(x);
    const int axis = pick(n);
    switch (pick(22)) {
      case 0: return x + partner(x);
      case 1: return bounded(x) * partner(x);
      case 2: return x - partner(x);
      case 3: return x / (abs(partner(x)) + 1.0);
      case 4: return exp(bounded(x));
      case 5: return maximum(x, partner(x));
      case 6: return {&g_, builder(g_).mean(x.id, std::vector<std::int64_t>{axis}, pick(2) == 0)};
      case 7: return max(x, {axis}, pick(2) == 0);
      case 8: return bounded(sum(x, {axis}, pick(2) == 0));
      case 9: {  // softmax
        const Formula e = exp(x - max(x, {axis}));
        return e / sum(e, {axis});
      }
      case 10: {
        std::vector<std::int64_t> p(static_cast<std::size_t>(n));
        std::iota(p.begin(), p.end(), 0);
        std::shuffle(p.begin(), p.end(), engine_);
        return permute(x, p);
      }
      case 11: return reshape(x, reshaped(x));
      case 12: {
        if (extent(x, axis) < 2) return bounded(x);
        const int begin = pick(static_cast<int>(extent(x, axis)) - 1);
        return slice(x, axis, begin, begin + 1 + pick(static_cast<int>(extent(x, axis)) - begin));
      }
      case 13: return rank(x) < 4 ? concat({x, bounded(x)}, axis) : bounded(x);
      case 14:
        switch (pick(4)) {
          case 0: return {&g_, builder(g_).flip(x.id, axis)};
          case 2: {  // overlapping windows, windows side by side, or with gaps
            if (extent(x, axis) < 3 || n > 3) return bounded(x);
            const Formula windows{&g_, builder(g_).window(x.id, axis, 2, 1 + pick(3), 1 + pick(2))};
            return pick(2) == 0 ? windows : bounded(sum(windows, {n}, false));
          }
          case 1: return {&g_, builder(g_).rotate(x.id, axis, pick(9) - 4)};
          default: return {&g_, builder(g_).pad(x.id, axis, 1, pick(3), builder(g_).number(Element::f32, 0.5))};
        }
      case 15: {  // a product of x with itself, or with its transpose, along an axis
        if (n < 2) return bounded(x);
        const std::string labels = "abcd", own = labels.substr(0, static_cast<std::size_t>(n));
        std::string other = own, result;
        other[static_cast<std::size_t>(axis == 0 ? 1 : 0)] = 'e';
        for (char c : own + "e")
          if (c != own[static_cast<std::size_t>(axis)]) result += c;
        return bounded(einsum(own + "," + other + "->" + result, {x, x}));
      }
      case 16: {
        static constexpr Combine kKinds[] = {Combine::sum, Combine::prod, Combine::max, Combine::min};
        const Combine kind = kKinds[pick(4)];
        const Formula y = kind == Combine::prod ? bounded(x) : x;
        const Formula running{&g_, builder(g_).scan(kind, y.id, axis, pick(2) == 0)};
        return kind == Combine::sum ? bounded(running) : running;
      }
      case 17: {  // (1 + a) (1 + b) - 1
        const Formula a{&g_, builder(g_).argument(Element::f32, 0)}, b{&g_, builder(g_).argument(Element::f32, 1)};
        // |y| is at most 1 / n: the product of n factors 1 + y is at most e, and no partial result overflows.
        const Formula y = bounded(x) / static_cast<double>(extent(x, axis)), f = a + b + a * b;
        return bounded({&g_, builder(g_).reduce_by(y.id, std::vector<std::int64_t>{axis}, 0, f.id)});
      }
      case 18: {  // every third position of an axis in one row
        TensorShape rows = x.shape();
        rows[static_cast<std::size_t>(axis)] = 3;
        const Formula i = iota(g_, {extent(x, axis)}, 0), target = map(ir::OpKind::rem_, {i, like(i, 3)});
        const Formula start = broadcast_to(number(g_, 0.5), rows);
        return bounded({&g_, builder(g_).scatter_add(start.id, target.id, x.id, axis)});
      }
      case 19: return {&g_, builder(g_).materialize(x.id)};
      default: {
        const Formula i = iota(g_, x.shape(), axis);
        const Formula mask = pick(2) == 0 ? greater_equal(i, like(i, pick(4))) : less(i, like(i, 1 + pick(6)));
        return where(mask, x, pick(2) == 0 ? like(x, 0) : partner(x));
      }
    }
  }

  TensorShape reshaped(const Formula& x) {
    std::int64_t total = 1;
    for (const Dim& d : x.shape()) total *= d.value();
    for (const std::int64_t first : {2, 3, 4, 6})
      if (total % first == 0 && pick(2) == 0) return pick(2) == 0 ? TensorShape{first, total / first} : TensorShape{total / first, first};
    return {total};
  }

  Graph& g_;
  RandomExtents extents_;
  bool has_multiples_;
  std::mt19937_64 engine_;
  std::vector<Formula> values_;
};

}  // namespace

void random_graph(Graph& g, std::uint64_t seed, RandomExtents extents) { Maker(g, seed, extents, false).run(); }

void random_graph_of_multiples(Graph& g, std::uint64_t seed) { Maker(g, seed, RandomExtents::positive, true).run(); }

void random_graph_of_each_kind(Graph& g, std::uint64_t seed) {
  if (seed % 3 == 2)
    random_graph_of_multiples(g, seed);
  else
    random_graph(g, seed, seed % 3 == 0 ? RandomExtents::positive : RandomExtents::some_zero);
}

}  // namespace tilewright::passes::fusion::test
