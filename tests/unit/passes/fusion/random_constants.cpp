// Makes random graphs of constants.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tileir/builder.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;
using ir::OpKind;

constexpr double kValues[] = {HUGE_VAL, -HUGE_VAL, NAN, -0.0, 0, 65504, 70000, 1e-10, 1e30, 3e38, 257, 0x1p63, -1, 0.1, 3, -2.5};
constexpr Element kElements[] = {Element::i8,  Element::u8,  Element::i16, Element::u16, Element::i32,  Element::u32,    Element::i64,
                                 Element::u64, Element::f16, Element::f32, Element::f64, Element::bf16, Element::f8e4m3, Element::f8e5m2};

class Maker {
 public:
  Maker(Graph& g, std::uint64_t seed) : g_(g), engine_(seed) {}

  void run() {
    const Formula x = input(g_, "x", {3, 4}), k = input(g_, "k", {3, 4}, Element::boolean);
    for (int i = 0; i < 3; ++i) values_.push_back(leaf());
    for (int i = 3 + pick(8); i > 0; --i) values_.push_back(step(values_[values_.size() - 1 - static_cast<std::size_t>(pick(3))]));
    const Formula last = values_.back(), other = cast(values_[values_.size() - 2], type(last));
    static constexpr Element kNarrow[] = {Element::f16, Element::bf16, Element::f8e4m3, Element::f8e5m2};
    const Element narrow = kNarrow[pick(4)];
    builder(g_).output("value", cast(last, Element::f64).id);
    builder(g_).output("product", (x * cast(cast(last, narrow), Element::f32)).id);
    builder(g_).output("choice", cast(cast(where(k, last, other), narrow), any_type()).id);
    builder(g_).output("padded", cast(cast(pad(where(k, last, other), pick(2), 1, 2, kValues[pick(16)]), narrow), Element::f32).id);
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  Element type(Formula x) const { return g_.node(x.id).element; }
  Element any_type() { return kElements[pick(14)]; }
  /// Whether each op on constants of the type is computed in it; formulas know more of results of f32 and f64.
  static bool is_typed(Element e) { return !ir::is_float(e) || ir::bits(e) <= 16; }

  std::uint64_t bits(Element e) {
    const std::uint64_t value = ir::element_bits(Element::f64, kValues[pick(16)]);
    return e == Element::f64 ? value
                             : ir::evaluate_scalar(OpKind::cast_, std::array{ir::Type(Element::f64)}, std::array{value}, ir::Type(e));
  }
  Formula leaf() {
    const Element e = any_type();
    const graph::TensorShape shape = {3, 4};
    switch (pick(4)) {
      case 0: return broadcast_to({&g_, builder(g_).constant(e, {}, {bits(e)})}, shape);
      case 1: {
        std::vector<std::uint64_t> row;
        for (int i = 0; i < 4; ++i) row.push_back(bits(e));
        return broadcast_to({&g_, builder(g_).constant(e, {4}, row)}, shape);
      }
      default: {
        std::vector<std::uint64_t> all(12, bits(e));
        for (std::uint64_t& b : all)
          if (pick(3) != 0) b = bits(e);
        return {&g_, builder(g_).constant(e, shape, all)};
      }
    }
  }

  Formula step(Formula given) {
    // Floats of 8 bits are only converted.
    const Formula x = ir::is_fp8(type(given)) ? cast(given, Element::f16) : given;
    const Element e = type(x);
    const Formula y = cast(pick(3) == 0 ? leaf() : values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))], e);
    const std::int64_t axis = pick(2);
    const std::int64_t extent = axis == 0 ? 3 : 4;
    switch (pick(16)) {
      case 0: return x * y;
      case 1: return ir::is_float(e) ? x / y : map(OpKind::bit_xor_, {x, y});
      case 2: return is_typed(e) ? x + y : maximum(x, y);
      case 3: return is_typed(e) ? x - y : map(OpKind::minimum_, {x, y});
      case 4: return ir::is_float(e) ? sqrt(abs(x)) : -x;
      case 5: return where(pick(2) == 0 ? less(x, y) : equal(x, y), x, y);
      case 6: return {&g_, builder(g_).flip(x.id, axis)};
      case 7: return concat({slice(x, axis, 0, 1), slice(y, axis, 0, extent - 1)}, axis);
      case 8: return pad(slice(x, axis, 0, extent - 2), axis, 1, 1, ir::is_float(e) ? kValues[pick(16)] : 3);
      case 9: return broadcast_to(max(x, {axis}), {3, 4});
      case 10: return broadcast_to(accumulated(x, [&](Formula of) { return sum(of, {axis}); }), {3, 4});
      case 11: return accumulated(x, [&](Formula of) { return Formula{&g_, builder(g_).scan(Combine::sum, of.id, axis, pick(2) == 0)}; });
      case 12: return broadcast_to(reduce(Combine::prod, is_typed(e) && ir::is_float(e) ? cast(x, Element::f32) : x, {axis}, true), {3, 4});
      case 13: return broadcast_to(cast(reduce(Combine::argmax, x, {axis}, true), e), {3, 4});
      default: return cast(x, any_type());
    }
  }
  /// Sums of floats accumulate in f32, in any order: terms of one sign do not cancel.
  template <class F>
  Formula accumulated(Formula x, F&& f) {
    const Element e = type(x);
    if (!ir::is_float(e)) return f(x);
    return cast(f(abs(cast(x, e == Element::f64 ? e : Element::f32))), e);
  }

  Graph& g_;
  std::mt19937_64 engine_;
  std::vector<Formula> values_;
};

}  // namespace

void random_graph_of_constants(Graph& g, std::uint64_t seed) { Maker(g, seed).run(); }

}  // namespace tilewright::passes::fusion::test
