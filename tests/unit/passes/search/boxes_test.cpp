// Partial equivalence: boxes against all positions in the interpreter.
#include "passes/search/partial/boxes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "passes/search/partial/box_values.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
using Element = ir::Element;

/// The values of two nodes with random integers, which wrap.
struct Values {
  graph::Array a, b;
};
Values values_of(const Graph& g, NodeId a, NodeId b, std::uint64_t seed) {
  graph::Arguments arguments = fusion::test::random_arguments(g, {}, seed);
  std::mt19937_64 engine(seed);
  for (auto& [name, bits] : arguments.arrays)
    for (std::uint64_t& x : bits) x = engine();
  return {graph::interpret(g, a, arguments, graph::Rounding::as_typed), graph::interpret(g, b, arguments, graph::Rounding::as_typed)};
}

/// How many positions are in boxes that are equal; checks boxes against all positions.
std::int64_t check_boxes(const Graph& g, NodeId a, NodeId b, std::uint64_t seed) {
  const auto compared = compare_boxes(g, a, b);
  REQUIRE(compared);
  CHECK(compared->is_complete);
  const Values v = values_of(g, a, b, seed);
  std::vector<int> covered(v.a.bits.size());
  std::int64_t equal = 0;
  for (const ComparedBox& c : compared->boxes) {
    CAPTURE(text(c));
    std::int64_t count = 1, different = 0;
    for (const Interval& i : c.box) count *= i.length();
    for (std::int64_t n = 0; n < count; ++n) {
      std::size_t offset = 0;
      std::int64_t rest = n, inner = count;
      for (std::size_t k = 0; k < c.box.size(); ++k) {
        inner /= c.box[k].length();
        offset = offset * static_cast<std::size_t>(v.a.shape[k]) + static_cast<std::size_t>(c.box[k].begin + rest / inner);
        rest %= inner;
      }
      ++covered[offset];
      different += v.a.bits[offset] != v.b.bits[offset] ? 1 : 0;
    }
    CHECK(c.is_equal == (different == 0));
    if (c.is_equal) equal += count;
  }
  CHECK(std::all_of(covered.begin(), covered.end(), [](int times) { return times == 1; }));
  return equal;
}

/// Builds a formula and another one that may differ from it at borders. Steps of both keep the shapes alike.
class RandomPair {
 public:
  explicit RandomPair(std::uint64_t seed) : engine_(seed), build_(g_, "test", {}, graph::kMaxRank) {
    graph::TensorShape shape;
    const int rank = 1 + pick(3);
    for (int i = 0; i < rank; ++i) shape.push_back(2 + pick(rank == 1 ? 15 : rank == 2 ? 11 : 5));
    a_ = b_ = build_.input("x", Element::i64, shape);
    for (int steps = 1 + pick(3); steps > 0; --steps) step();
  }

  /// Makes b wrong by a shift of one along some axis.
  void shift_by_one() { b_ = shift(b_, pick(rank()), pick(2) == 0 ? 1 : -1, pick(2) == 0); }
  const Graph& graph() const { return g_; }
  NodeId a() const { return a_; }
  NodeId b() const { return b_; }

 private:
  int pick(int below) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(below)); }
  int rank() const { return build_.rank(a_); }
  std::int64_t extent(NodeId x, int axis) const { return build_.shape(x)[static_cast<std::size_t>(axis)].value(); }
  NodeId zero() { return build_.number(Element::i64, 0); }

  /// Element i becomes element i + by; behind the border are zeros, or the elements of the other end.
  NodeId shift(NodeId x, int axis, std::int64_t by, bool wraps) {
    if (wraps) return build_.rotate(x, axis, by);
    const std::int64_t n = extent(x, axis), before = std::max<std::int64_t>(by, 0), after = std::max<std::int64_t>(-by, 0);
    return build_.slice(build_.pad(x, axis, before, after, zero()), axis, after, after + n, 1);
  }

  /// The axis and the next one as one, shifted, and as two again.
  NodeId shift_merged(NodeId x, int axis, std::int64_t by, bool wraps) {
    const graph::TensorShape apart = build_.shape(x);
    graph::TensorShape merged = apart;
    const auto at = static_cast<std::size_t>(axis);
    merged[at] = merged[at] * merged[at + 1];
    merged.erase(merged.begin() + axis + 1);
    return build_.reshape(shift(build_.reshape(x, merged), axis, by, wraps), apart);
  }

  /// Weighted sums of `size` elements; taps are slices, or elements of a window.
  NodeId sums(NodeId x, int axis, int size, int by, int dilation, bool by_windows, NodeId weights) {
    if (by_windows) {
      const NodeId w = build_.window(x, axis, size, by, dilation);
      return build_.reduce(graph::Combine::sum, build_.map(ir::OpKind::mul_, {w, weights}), {{-1}}, false);
    }
    const std::int64_t positions = (extent(x, axis) - static_cast<std::int64_t>(dilation) * (size - 1) - 1) / by + 1;
    NodeId sum;
    for (int u = 0; u < size; ++u) {
      const std::int64_t begin = static_cast<std::int64_t>(u) * dilation;
      const NodeId tap = build_.slice(x, axis, begin, begin + (positions - 1) * by + 1, by);
      const NodeId weighted = build_.map(ir::OpKind::mul_, {tap, build_.reshape(build_.slice(weights, 0, u, u + 1, 1), {})});
      sum = sum.valid() ? build_.map(ir::OpKind::add_, {sum, weighted}) : weighted;
    }
    return sum;
  }

  void convolve() {
    const int axis = pick(rank()), size = 1 + pick(3), dilation = 1 + pick(2), by = 1 + pick(2), pad = pick(3);
    const std::int64_t reach = static_cast<std::int64_t>(dilation) * (size - 1);
    if (extent(a_, axis) + pad <= reach) return;
    const NodeId w = build_.input("w" + std::to_string(inputs_++), Element::i64, {size});
    const auto padded = [&](NodeId x) {
      // Zeros before, or the end of the axis before the beginning.
      if (pick(2) == 0) return build_.pad(x, axis, pad, 0, zero());
      const std::int64_t n = extent(x, axis), taken = std::min<std::int64_t>(pad, n);
      const NodeId end = build_.slice(x, axis, n - taken, n, 1);
      return build_.pad(build_.concat({end, x}, axis), axis, pad - taken, 0, zero());
    };
    a_ = sums(padded(a_), axis, size, by, dilation, true, w);
    b_ = sums(padded(b_), axis, size, by, dilation, pick(2) == 0, w);
  }

  /// A dilated sum as a dense one on each residue of the positions.
  void convolve_residues() {
    const int axis = pick(rank());
    const std::int64_t n = extent(a_, axis);
    if (n % 2 != 0 || n < 4 || rank() > 4) return;
    const NodeId w = build_.input("w" + std::to_string(inputs_++), Element::i64, {2});
    const NodeId padded = build_.pad(a_, axis, 0, 2, zero());
    a_ = sums(padded, axis, 2, 1, 2, true, w);
    const graph::TensorShape whole = build_.shape(b_);
    graph::TensorShape parts = whole;
    parts[static_cast<std::size_t>(axis)] = n / 2;
    parts.insert(parts.begin() + axis + 1, 2);
    // Positions of both residues one after the other: the second half reads over the end of the first one.
    std::vector<std::int64_t> order;
    for (int i = 0; i < rank() + 1; ++i) order.push_back(i == axis ? axis + 1 : i == axis + 1 ? axis : i);
    const NodeId residues = build_.permute(build_.reshape(b_, parts), order);
    const NodeId sum = sums(build_.pad(build_.reshape(residues, whole), axis, 0, 1, zero()), axis, 2, 1, 1, true, w);
    std::swap(parts[static_cast<std::size_t>(axis)], parts[static_cast<std::size_t>(axis) + 1]);
    b_ = build_.reshape(build_.permute(build_.reshape(sum, parts), order), whole);
  }

  void step() {
    const int axis = pick(rank());
    switch (pick(8)) {
      case 0:
      case 1: return convolve();
      case 2: return convolve_residues();
      case 3: {
        const std::int64_t by = pick(5) - 2;
        if (std::abs(by) > extent(a_, axis)) return;
        a_ = shift(a_, axis, by, false);
        b_ = shift(b_, axis, by, pick(3) != 0);
        return;
      }
      case 4: {
        if (axis + 1 == rank() || std::abs(extent(a_, axis + 1)) < 2) return;
        const std::int64_t by = pick(3) - 1, rows = pick(2);
        a_ = shift(shift(a_, axis + 1, by, false), axis, rows, false);
        b_ = shift_merged(b_, axis, by + rows * extent(b_, axis + 1), pick(2) == 0);
        return;
      }
      case 5: {
        std::vector<std::int64_t> order;
        for (int i = 0; i < rank(); ++i) order.push_back((i + 1) % rank());
        a_ = build_.flip(build_.permute(a_, order), axis);
        b_ = build_.permute(build_.flip(b_, static_cast<std::int64_t>(order[static_cast<std::size_t>(axis)])), order);
        return;
      }
      case 6: {  // equal at the first position, from which b goes the other way
        if (pick(2) == 0) b_ = build_.rotate(build_.flip(b_, axis), axis, 1);
        return;
      }
      default: {
        const NodeId scale = build_.input("s" + std::to_string(inputs_++), Element::i64, {extent(a_, rank() - 1)});
        a_ = build_.map(ir::OpKind::mul_, {a_, scale});
        b_ = build_.map(ir::OpKind::mul_, {pick(2) == 0 ? b_ : build_.map(ir::OpKind::neg_, {b_}), scale});
        return;
      }
    }
  }

  std::mt19937_64 engine_;
  Graph g_;
  GraphBuilder build_;
  NodeId a_, b_;
  int inputs_ = 0;
};

TEST_CASE("boxes: they are equal exactly if the values are, for random pairs of graphs") {
  int partly = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const RandomPair pair(seed);
    const std::int64_t in_equal = check_boxes(pair.graph(), pair.a(), pair.b(), seed);
    std::int64_t all = 1;
    for (const Dim& d : pair.graph().node(pair.a()).shape) all *= d.value();
    if (in_equal == all)
      ++equal;
    else if (in_equal > 0)
      ++partly;
  }
  CHECK(equal > 50);
  CHECK(partly > 100);
}

TEST_CASE("boxes: mutants that are shifted by one are equal where their values are, and nowhere else") {
  int different = 0;
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    CAPTURE(seed);
    RandomPair pair(seed);
    pair.shift_by_one();
    std::int64_t all = 1;
    for (const Dim& d : pair.graph().node(pair.a()).shape) all *= d.value();
    different += check_boxes(pair.graph(), pair.a(), pair.b(), seed) < all ? 1 : 0;
  }
  CHECK(different > 180);
}

struct Named {
  NodeId a, b;
  Graph graph;
};
/// The outputs "a" and "b".
Named parse(const char* text) {
  Named n{{}, {}, graph::parse(text, "boxes")};
  for (const graph::Output& o : n.graph.outputs()) (o.name == "a" ? n.a : n.b) = o.node;
  return n;
}

std::string texts(const BoxComparison& c) {
  std::string all;
  for (const ComparedBox& b : c.boxes) all += text(b) + "\n";
  return all;
}

// The pixels of images of `size` rows and columns as one axis: the borders of rows differ.
std::string flattened(int size) {
  return fmt::format(R"(graph {{
  %x = input : f32[8, {n}, {n}, 4]
  %w = input : f32[3, 3, 4, 2]
  %z = constant {{data = [0.0]}} : f32
  %0 = pad %x, %z {{axes = [1], lengths = [1, 1]}} : f32[8, {padded}, {n}, 4]
  %1 = pad %0, %z {{axes = [2], lengths = [1, 1]}} : f32[8, {padded}, {padded}, 4]
  %2 = window %1 {{axes = [1], lengths = [3, 1, 1]}} : f32[8, {n}, {padded}, 4, 3]
  %3 = window %2 {{axes = [2], lengths = [3, 1, 1]}} : f32[8, {n}, {n}, 4, 3, 3]
  %4 = einsum %3, %w {{text = "bhwcuv,uvco->bhwo"}} : f32[8, {n}, {n}, 2]
  output "a" %4
  %5 = reshape %x : f32[8, {pixels}, 4]
  %6 = pad %5, %z {{axes = [1], lengths = [{border}, {border}]}} : f32[8, {wide}, 4]
  %7 = window %6 {{axes = [1], lengths = [3, 1, {n}]}} : f32[8, {positions}, 4, 3]
  %8 = window %7 {{axes = [1], lengths = [3, 1, 1]}} : f32[8, {pixels}, 4, 3, 3]
  %9 = einsum %8, %w {{text = "bpcuv,uvco->bpo"}} : f32[8, {pixels}, 2]
  %10 = reshape %9 : f32[8, {n}, {n}, 2]
  output "b" %10
}})",
                     fmt::arg("n", size), fmt::arg("padded", size + 2), fmt::arg("pixels", size * size), fmt::arg("border", size + 1),
                     fmt::arg("wide", size * size + 2 * size + 2), fmt::arg("positions", size * size + 2));
}

TEST_CASE("boxes: of a convolution of flattened pixels the first and the last column differ") {
  for (const int size : {14, 56}) {
    const Named n = parse(flattened(size).c_str());
    const auto compared = compare_boxes(n.graph, n.a, n.b);
    REQUIRE(compared);
    CHECK(compared->is_complete);
    CHECK(texts(*compared) == fmt::format("[0:8, 0:{0}, 0:1, 0:2] differs\n"
                                          "[0:8, 0:{0}, 1:{1}, 0:2] equal\n"
                                          "[0:8, 0:{0}, {1}:{0}, 0:2] differs\n",
                                          size, size - 1));
    // The positions of nine boxes stand for all.
    CHECK(compared->visits < 60'000);
  }
}

// Agreement at m + 1 positions is not enough: x[3 i] + x[2 i + 2] and x[4 i] + x[i + 2] agree at 0 and 1.
TEST_CASE("boxes: sums with different steps are compared as maps, not at two positions") {
  const Named n = parse(R"(graph {
  %x = input : i64[16]
  %0 = slice %x {axes = [0], lengths = [0, 10, 3]} : i64[4]
  %1 = slice %x {axes = [0], lengths = [2, 9, 2]} : i64[4]
  %2 = add %0, %1 : i64[4]
  output "a" %2
  %3 = slice %x {axes = [0], lengths = [0, 13, 4]} : i64[4]
  %4 = slice %x {axes = [0], lengths = [2, 6, 1]} : i64[4]
  %5 = add %3, %4 : i64[4]
  output "b" %5
})");
  CHECK(check_boxes(n.graph, n.a, n.b, 1) == 0);
  const auto compared = compare_boxes(n.graph, n.a, n.b);
  REQUIRE(compared);
  CHECK(texts(*compared) == "[0:4] differs\n");
}

// x[i] + x[1 - i] and x[0] + x[1] are different polynomials of maps, and equal at both positions.
TEST_CASE("boxes: values that are equal at each position are, though no polynomials of maps are") {
  const Named n = parse(R"(graph {
  %x = input : i64[2]
  %0 = flip %x {axes = [0]} : i64[2]
  %1 = add %x, %0 : i64[2]
  output "a" %1
  %2 = reduce %x {kind = sum, axes = [0]} : i64
  %3 = broadcast %2 : i64[2]
  output "b" %3
})");
  const auto compared = compare_boxes(n.graph, n.a, n.b);
  REQUIRE(compared);
  CHECK(texts(*compared) == "[0:2] equal\n");
}

TEST_CASE("boxes: functions, divisions, positions and floats are equal where their operands are") {
  const Named n = parse(R"(graph {
  %x = input : f32[12]
  %z = constant {data = [0.0]} : f32
  %h = constant {data = [0.5]} : f32
  %t = constant {data = [2.0]} : f32
  %i = iota {axes = [0]} : f32[12]
  %0 = mul %x, %h : f32[12]
  %1 = exp %0 : f32[12]
  %2 = maximum %1, %i : f32[12]
  output "a" %2
  %3 = rotate %x {axes = [0], lengths = [3]} : f32[12]
  %4 = pad %3, %z {axes = [0], lengths = [0, 3]} : f32[15]
  %5 = slice %4 {axes = [0], lengths = [3, 15, 1]} : f32[12]
  %6 = div %5, %t : f32[12]
  %7 = exp %6 : f32[12]
  %8 = add %i, %t : f32[12]
  %9 = sub %8, %t : f32[12]
  %10 = maximum %9, %7 : f32[12]
  output "b" %10
})");
  const auto compared = compare_boxes(n.graph, n.a, n.b);
  REQUIRE(compared);
  CHECK(texts(*compared) == "[0:9] equal\n[9:12] differs\n");
}

TEST_CASE("boxes: limits leave the rest as different, and symbols have no boxes") {
  const Named n = parse(flattened(14).c_str());
  const auto compared = compare_boxes(n.graph, n.a, n.b, {.boxes = 3});
  REQUIRE(compared);
  CHECK(!compared->is_complete);
  CHECK(std::any_of(compared->boxes.begin(), compared->boxes.end(), [](const ComparedBox& b) { return !b.is_equal; }));
  const Graph symbols = graph::parse("graph {\n  symbol n {min = 1}\n  %x = input : f32[n]\n  output \"a\" %x\n}", "symbols");
  CHECK(!compare_boxes(symbols, symbols.outputs()[0].node, symbols.outputs()[0].node));
}

}  // namespace
}  // namespace tilewright::passes::search
