// Makes random graphs over all element types.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;
using ir::OpKind;

constexpr Element kTypes[] = {Element::i8,  Element::u8,  Element::i16, Element::u16, Element::i32,
                              Element::u32, Element::i64, Element::u64, Element::f32, Element::f64};

class Maker {
 public:
  Maker(Graph& g, std::uint64_t seed) : g_(g), engine_(seed), least_(seed % 2 == 0 ? 1 : 0) {}

  void run() {
    n_ = builder(g_).dim("n", {.min = least_});
    for (int i = 0; i < 2; ++i)
      for (const Element e : {any_type(), any_type()})
        values_.push_back(input(g_, "x" + std::to_string(values_.size()), pick(3) == 0 ? rows() : all(), e));
    for (int i = 0; i < 2; ++i) masks_.push_back(input(g_, "k" + std::to_string(i), all(), Element::boolean));
    const int steps = 5 + pick(9);
    for (int i = 0; i < steps; ++i) {
      const Formula x = values_[values_.size() - 1 - static_cast<std::size_t>(pick(4))];
      values_.push_back(ir::is_float(type(x)) ? float_step(x) : integer_step(x));
    }
    builder(g_).output("y", values_.back().id);
    builder(g_).output("z", values_[values_.size() - 2].id);
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  Element any_type() { return kTypes[pick(10)]; }
  Element type(Formula x) const { return g_.node(x.id).element; }
  graph::TensorShape all() const { return {5, n_}; }
  graph::TensorShape rows() const { return {5, 1}; }
  Formula mask() { return masks_[static_cast<std::size_t>(pick(static_cast<int>(masks_.size())))]; }
  bool is_whole(Formula x) const { return x.shape()[1] == n_; }

  /// A number of the type: of integers any one, or a small one.
  Formula number_like(Formula x) {
    if (ir::is_float(type(x))) return like(x, static_cast<double>(pick(9) - 4) / (1 + pick(7)));
    const std::uint64_t bits = pick(2) == 0 ? static_cast<std::uint64_t>(pick(7)) : engine_();
    const int width = ir::bits(type(x));
    return {&g_, builder(g_).constant(type(x), {}, {width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1)})};
  }
  /// Another value in the type of x.
  Formula partner(Formula x) {
    if (pick(4) == 0) return number_like(x);
    const Formula y = values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))];
    return converted(y, type(x));
  }
  /// Floats are bounded: they become floats only.
  Formula converted(Formula y, Element to) {
    if (type(y) == to) return y;
    if (!ir::is_float(to)) return ir::is_float(type(y)) ? cast(mask(), to) : cast(y, to);
    if (ir::is_float(type(y))) return cast(y, to);
    return cast(y, to) * std::ldexp(1.0, -ir::bits(type(y)));
  }

  Formula reduced(Combine kind, Formula x) { return reduce(kind, x, {pick(2) == 0 ? 1 : 0}, true); }

  Formula fold(Formula x) {
    const Element e = type(x);
    const Formula earlier{&g_, builder(g_).argument(e, 0)}, later{&g_, builder(g_).argument(e, 1)};
    const bool is_last = pick(2) == 0;
    const Formula tested = is_last ? later : earlier, other = is_last ? earlier : later;
    const Formula f = where(equal(tested, like(x, 0)), other, tested);
    const Formula result{&g_, builder(g_).reduce_by(x.id, std::vector<std::int64_t>{1}, 0, f.id)};
    return reshape(result, {x.shape()[0], 1});
  }

  Formula integer_step(Formula x) {
    const Formula y = partner(x), k = mask();
    switch (pick(18)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * y;
      case 3: return -x;
      case 4: return maximum(x, y);
      case 5: return map(OpKind::minimum_, {x, y});
      case 6: return map(pick(2) == 0 ? OpKind::div_ : OpKind::rem_, {x, maximum(y, like(x, 1))});
      case 7: return where(k, x, y);
      case 8: return where(pick(2) == 0 ? less(x, y) : greater_equal(x, y), x, y);
      case 9: return where(equal(x, y), number_like(x), y);
      case 10: return x * cast(k, type(x));
      case 11: {
        static constexpr Combine kKinds[] = {Combine::sum, Combine::prod, Combine::max, Combine::min};
        return reduced(kKinds[pick(4)], pick(2) == 0 ? x : where(k, x, y));
      }
      case 12: return reduced(Combine::sum, x * cast(k, type(x)));
      case 13: return converted(x, any_type());
      case 14: return cast(reduced(pick(2) == 0 ? Combine::argmax : Combine::argmin, x), any_integer());
      case 15: return is_whole(x) ? Formula{&g_, builder(g_).scan(Combine::sum, x.id, 1, pick(2) == 0)} : x + y;
      case 16: return is_whole(x) ? fold(x) : cast(k, type(x));
      default: return where(less(number_like(x), x), cast(map(OpKind::popcount_, {x}), type(x)), y);
    }
  }
  Element any_integer() { return kTypes[pick(8)]; }

  Formula float_step(Formula given) {
    const Formula x = tanh(given), y = tanh(partner(given)), k = mask();
    const Formula count{&g_, builder(g_).extent(type(x), n_)};
    switch (pick(16)) {
      case 0: return x + y;
      case 1: return x * y - like(x, 0.25);
      case 2: return x / (abs(y) + 1.0);
      case 3: return x / count;
      case 4: return x + y * tanh(count * 0.05);
      case 5: return x - count / (count + 3.0);
      case 6: {  // as-written formulas within the range of the type
        const double large = std::pow(10.0, 2 + pick(type(x) == Element::f64 ? 120 : 17)), small = 1 / large;
        switch (pick(3)) {
          case 0: return square(x * small) * large * large;
          case 1: return (x * large + y) * small;
          default: return x * small * (y * large) * large / large;
        }
      }
      case 7: return where(k, x, y);
      case 8: return where(k, number_like(x), number_like(x)) * x;
      case 9: return x * cast(k, type(x));
      case 10: return is_whole(x) ? sum(x) / count : x + y;
      case 11: {
        const Formula e = exp(where(k, x, y));
        return e / sum(e);
      }
      case 12: {
        if (!is_whole(x)) return x * 0.5;
        const Formula centred = x - sum(x) / count;
        return centred / sqrt(sum(square(centred)) / count + 0.1) + x;  // alone, of values that are nearly equal, it is noise
      }
      case 13: return map(OpKind::exp2_, {x}) - map(OpKind::log2_, {abs(y) + 1.0});
      case 14: return reduced(pick(2) == 0 ? Combine::max : Combine::min, where(k, x, y));
      default: return converted(x, pick(2) == 0 ? Element::f32 : Element::f64);
    }
  }

  Graph& g_;
  std::mt19937_64 engine_;
  std::int64_t least_;  // the least value of n
  Dim n_;
  std::vector<Formula> values_, masks_;
};

}  // namespace

void random_graph_of_all_types(Graph& g, std::uint64_t seed) { Maker(g, seed).run(); }

}  // namespace tilewright::passes::fusion::test
