// Mistakes in graphs: each names the user's line, what was seen and expected, and the lines of the other parties.
#include <regex>

#include "tests/messages.h"
#include "tests/unit/frontend/graph/graph_run.h"

namespace graph_run {
namespace {

/// The text of the error, with the names of files without their folders.
std::string error_of(auto&& body) {
  try {
    body();
  } catch (const tw::Error& e) {
    return std::regex_replace(e.what(), std::regex("(^|\n)[^\n]*/(graph_mistakes_test.cpp:)"), "$1$2");
  }
  return "no error";
}

/// The message without its location and its notes.
std::string message_of(auto&& body) {
  const std::string text = error_of(body), mark = "error: ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  return text.substr(at + mark.size(), text.find('\n') - at - mark.size());
}

#define GRAPH_MISTAKE(TEXT, ...) CHECK(message_of([&] { __VA_ARGS__; }) == TEXT)

using tilewright::test::has;
std::string location(int line) { return "graph_mistakes_test.cpp:" + std::to_string(line) + ":"; }

struct Fixture {
  Fixture() {
    a_line = __LINE__ + 1;
    a = graph.input<float>("a", {4, 8});
    b_line = __LINE__ + 1;
    b = graph.input<float>("b", {4, 7});
    n = graph.dim("n", {.min = 2, .max = 64});
    p = graph.input<float>("p", {n, 8});
    i = graph.input<int32_t>("i", {4});
  }
  tw::Graph graph;
  int a_line, b_line;
  tw::Dim n;
  tw::Tensor<float> a, b, p;
  tw::Tensor<int32_t> i;
};

TEST_CASE("graph mistakes: shapes that do not fit, with the lines of both") {
  Fixture f;
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { f.a* f.b; });
  CAPTURE(text);
  CHECK(text.starts_with(location(line)));
  CHECK(has(text,
            "error: operator*: 'a' is [4, 8] and 'b' is [4, 7]; extents must be equal or 1, aligned from the right, but 8 and 7 differ"));
  CHECK(has(text, location(f.a_line)));
  CHECK(has(text, "note: 'a' defined here"));
  CHECK(has(text, location(f.b_line)));
  CHECK(has(text, "note: 'b' defined here"));
  GRAPH_MISTAKE("operator+: 'a' is [4, 8] and 'b' is [n, 8]; extents must be equal or 1, aligned from the right, but 4 and n differ",
                f.a + f.p);
  GRAPH_MISTAKE("where: 'condition' is [4, 8] and 'b' is [4, 7]; extents must be equal or 1, aligned from the right, but 8 and 7 differ",
                tw::where(f.a > 0.0f, 0.0f, f.b));
}

TEST_CASE("graph mistakes: products") {
  Fixture f;
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { tw::matmul(f.a, f.b); });
  CHECK(text.starts_with(location(line)));
  CHECK(has(text, "matmul: 'a' is [4, 8] and 'b' is [4, 7]; the last extent 8 of 'a' must equal the last but one, 4, of 'b'"));
  CHECK(has(text, location(f.a_line)));
  CHECK(has(text, location(f.b_line)));
  GRAPH_MISTAKE("matmul: 'a' is [4]; it must have two axes or more", tw::matmul(f.i.to<float>(), f.a));
  auto batches = f.graph.input<float>("batches", {3, 4, 8}), others = f.graph.input<float>("others", {2, 8, 4});
  GRAPH_MISTAKE(
      "matmul: 'a' is [3, 4, 8] and 'b' is [2, 8, 4]; extents before the last two must be equal or 1, aligned from the right, but 3 and "
      "2 differ",
      tw::matmul(batches, others));
  GRAPH_MISTAKE("matmul: precision = 9; it must be an enumerator of Precision, 0 to 4",
                tw::matmul(f.a, tw::transpose(f.a), static_cast<tw::Precision>(9)));
  GRAPH_MISTAKE("einsum: equation 'ij,ij' has no '->'", tw::einsum("ij,ij", f.a, f.b));
  GRAPH_MISTAKE("einsum: 'operand 1' is [4, 8] and 'operand 2' is [4, 7]; the extents 8 and 7 of label 'j' must be equal",
                tw::einsum("ij,ij->i", f.a, f.b));
  GRAPH_MISTAKE("einsum: equation 'ij->k': label 'k' of the result is in no operand", tw::einsum("ij->k", f.a));
  GRAPH_MISTAKE("einsum: equation 'ij->ii': the result has label 'i' twice", tw::einsum("ij->ii", f.a));
  GRAPH_MISTAKE("einsum: equation 'i1->i': '1' is not a label; labels are letters", tw::einsum("i1->i", f.a));
  GRAPH_MISTAKE("einsum: 'operand 1' is [4, 8]; its labels 'i' must be one for each of its 2 axes", tw::einsum("i->i", f.a));
  GRAPH_MISTAKE("einsum: equation 'ij,jk->ik' has 2 operands; there are 1", tw::einsum("ij,jk->ik", f.a));
  GRAPH_MISTAKE("einsum: equation 'ij->...': the result has '...', and no operand has", tw::einsum("ij->...", f.a));
}

TEST_CASE("graph mistakes: tensors of another graph, and of none") {
  Fixture f;
  tw::Graph other;
  const int there = __LINE__ + 1;
  auto foreign = other.input<float>("a", {4, 8});
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { f.a + foreign; });
  CHECK(text.starts_with(location(line)));
  CHECK(has(text, "error: operator+: 'b' is a tensor of another graph than 'a'"));
  CHECK(has(text, location(there)));
  CHECK(has(text, location(f.a_line)));
  GRAPH_MISTAKE("output: 'y' is a tensor of another graph", f.graph.output("y", foreign));
  GRAPH_MISTAKE("operator+: 'a' is empty: it names no tensor", tw::Tensor<float>() + f.a);
  GRAPH_MISTAKE("shape: 't' is empty: it names no tensor", tw::Tensor<float>().shape());
  GRAPH_MISTAKE("materialize: 't' is empty: it names no tensor", tw::materialize(tw::Tensor<float>()));
  GRAPH_MISTAKE("output: 'y' is empty: it names no tensor", f.graph.output("y", tw::Tensor<float>()));
  GRAPH_MISTAKE("concat: 'operand 2' is a tensor of another graph than 'operand 1'", tw::concat({f.a, foreign}, 0));
  GRAPH_MISTAKE("input: extent 'n' has symbols of another graph", other.input<float>("q", {f.n}));
  GRAPH_MISTAKE("extents 'n' and 'm' have symbols of two graphs", f.n + other.dim("m"));
  GRAPH_MISTAKE("operator*: extent 'n' has symbols of another graph", foreign * f.n);
  GRAPH_MISTAKE("extent: extent 'n' has symbols of another graph", tw::extent<float>(other, f.n));
  GRAPH_MISTAKE("full: extent 'n' has symbols of another graph", tw::full<float>(other, {f.n}, 1));
  GRAPH_MISTAKE("input: shape [9223372036854775807, 8] has more than 2^63 - 1 elements", other.input<float>("q", {INT64_MAX, 8}));
  auto eight = other.input<float>("eight", {8, 8});
  GRAPH_MISTAKE("slice: extent 'n' has symbols of another graph", tw::slice(eight, 0, 0, f.n));
  GRAPH_MISTAKE("pad: extent 'n' has symbols of another graph", tw::pad(eight, 0, 0, f.n, 0.0f));
  GRAPH_MISTAKE("rotate: extent 'n' has symbols of another graph", tw::rotate(eight, 0, f.n));
  GRAPH_MISTAKE("window: extent 'n' has symbols of another graph", tw::window(eight, 0, f.n));
  GRAPH_MISTAKE("broadcast_to: extent 'n' has symbols of another graph", tw::broadcast_to(eight, {f.n, 8, 8}));
  GRAPH_MISTAKE("reshape: extent '8 n' has symbols of another graph", tw::reshape(eight, {8 * f.n, 8}));
  GRAPH_MISTAKE("split: extent 'n' has symbols of another graph", tw::split(eight, {f.n, 8 - f.n}, 0));
  tw::Graph moved = std::move(other);
  GRAPH_MISTAKE("input: the graph was moved from", other.input<float>("x", {1}));
}

TEST_CASE("graph mistakes: a name given twice") {
  Fixture f;
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { f.graph.input<float>("a", {4}); });
  CHECK(text.starts_with(location(line)));
  CHECK(has(text, "error: input: the name 'a' is given twice in this graph"));
  CHECK(has(text, location(f.a_line)));
  CHECK(has(text, "note: input 'a' defined here"));
  f.graph.output("y", f.a);
  f.graph.scalar<float>("s");
  for (const char* name : {"a", "n", "y", "s"}) {
    CAPTURE(name);
    const std::string expected = "the name '" + std::string(name) + "' is given twice in this graph";
    CHECK(message_of([&] { f.graph.input<float>(name, {4}); }) == "input: " + expected);
    CHECK(message_of([&] { f.graph.parameter<float>(name, {4}); }) == "parameter: " + expected);
    CHECK(message_of([&] { f.graph.scalar<float>(name); }) == "scalar: " + expected);
    CHECK(message_of([&] { f.graph.dim(name); }) == "dim: " + expected);
    CHECK(message_of([&] { f.graph.output(name, f.a); }) == "output: " + expected);
  }
  GRAPH_MISTAKE("output: the name is empty", f.graph.output("", f.a));
}

TEST_CASE("graph mistakes: shapes and symbols") {
  Fixture f;
  GRAPH_MISTAKE("input: extent -1 of shape [4, -1] must not be negative", f.graph.input<float>("x", {4, -1}));
  GRAPH_MISTAKE("reshape: extent -1 of shape [-1] must not be negative; unlike in NumPy, no extent follows from the others",
                tw::reshape(f.a, {-1}));
  GRAPH_MISTAKE("full: shape [1, 1, 1, 1, 1, 1, 2] has 7 axes; a tensor has at most 6", tw::full<float>(f.graph, {1, 1, 1, 1, 1, 1, 2}, 1));
  GRAPH_MISTAKE("extent n / 0: a division by zero", f.n / 0);
  GRAPH_MISTAKE("extent cdiv(n, 0): a division by zero", tw::cdiv(f.n, 0));
  GRAPH_MISTAKE("input: extent n - 65 of shape [n - 65] must not be negative", f.graph.input<float>("x", {f.n - 65}));
  GRAPH_MISTAKE("input: shape [1, 1, 1, 1, 1, 1, 2] has 7 axes; a tensor has at most 6", f.graph.input<float>("x", {1, 1, 1, 1, 1, 1, 2}));
  GRAPH_MISTAKE("input: 1 strides for shape [4, 4]; there must be one for each axis", f.graph.input<float>("x", {4, 4}, {4}));
  GRAPH_MISTAKE("input: stride -1 must not be negative", f.graph.input<float>("x", {4, 4}, {4, -1}));
  GRAPH_MISTAKE("constant: 2 elements for shape [3], which has 3", f.graph.constant(std::vector<float>{1, 2}, {3}));
  GRAPH_MISTAKE("constant: 1 element for shape [3], which has 3", f.graph.constant(std::vector<float>{1}, {3}));
  GRAPH_MISTAKE("constant: 2 elements for shape [n], which has a symbol; the extents of a constant must be numbers",
                f.graph.constant(std::vector<float>{1, 2}, {f.n}));
  GRAPH_MISTAKE("dim: min = -1 of 'm' must not be negative", f.graph.dim("m", {.min = -1}));
  GRAPH_MISTAKE("dim: multiple_of = 0 of 'm' must be 1 or more", f.graph.dim("m", {.multiple_of = 0}));
  GRAPH_MISTAKE("dim: min = 5 of 'm' is above max = 4", f.graph.dim("m", {.min = 5, .max = 4}));
  GRAPH_MISTAKE("dim: no multiple of 4 is from min = 5 to max = 7 of 'm'", f.graph.dim("m", {.min = 5, .max = 7, .multiple_of = 4}));
  CHECK(message_of([&] { f.graph.input<float>("x", {f.n * INT64_MAX * INT64_MAX * INT64_MAX}); }).ends_with("overflows"));
  GRAPH_MISTAKE("iota: axis 1 is out of range for shape [4]", tw::iota<int32_t>(f.graph, {4}, 1));
}

TEST_CASE("graph mistakes: shape functions") {
  Fixture f;
  GRAPH_MISTAKE("reshape: 't' is [4, 8] with 32 elements; shape [5, 7] has 35", tw::reshape(f.a, {5, 7}));
  GRAPH_MISTAKE("reshape: 't' is [n, 8] with 8 n elements; shape [n, 7] has 7 n", tw::reshape(f.p, {f.n, 7}));
  GRAPH_MISTAKE("permute: axes are [0]; each of the 2 axes of 't', which is [4, 8], must be named once", tw::permute(f.a, {0}));
  GRAPH_MISTAKE("permute: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::permute(f.a, {0, 2}));
  GRAPH_MISTAKE("transpose: 't' is [4]; it must have two axes or more", tw::transpose(f.i));
  GRAPH_MISTAKE("expand_dims: axis 3 is out of range: 't' is [4, 8], so it must be from -3 to 2", tw::expand_dims(f.a, 3));
  GRAPH_MISTAKE("squeeze: extent 4 of axis 0 of 't', which is [4, 8], must be 1", tw::squeeze(f.a, 0));
  GRAPH_MISTAKE("broadcast_to: 't' is [4, 8] and does not broadcast to [4, 4, 9]", tw::broadcast_to(f.a, {4, 4, 9}));
  GRAPH_MISTAKE("slice: from 2 to 5 of axis 0, which has extent 4; it must be 0 <= begin <= end <= extent", tw::slice(f.a, 0, 2, 5));
  GRAPH_MISTAKE("slice: from 3 to 2 of axis 0, which has extent 4; it must be 0 <= begin <= end <= extent", tw::slice(f.a, 0, 3, 2));
  GRAPH_MISTAKE("slice: from 1 to n + 1 of axis 0, which has extent n; it must be 0 <= begin <= end <= extent",
                tw::slice(f.p, 0, 1, f.n + 1));
  GRAPH_MISTAKE("slice: step 0 must be 1 or more", tw::slice(f.a, 0, 0, 2, 0));
  GRAPH_MISTAKE("concat: 'operand 1' is [4, 8] and 'operand 2' is [4, 7]; they must be alike but for axis 0", tw::concat({f.a, f.b}, 0));
  GRAPH_MISTAKE("concat: there are no tensors", tw::concat(std::vector<tw::Tensor<float>>(), 0));
  GRAPH_MISTAKE("pad: length -1 must not be negative", tw::pad(f.a, 0, -1, 0));
  GRAPH_MISTAKE("flip: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::flip(f.a, 2));
  GRAPH_MISTAKE("rotate: axis -3 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::rotate(f.a, -3, 1));
  GRAPH_MISTAKE("rotate: axis 0 of 't', which is a scalar and has no axes", tw::rotate(tw::sum(f.a), 0, 1));
  GRAPH_MISTAKE("window: a window of 10 elements is longer than axis 1, which has extent 8", tw::window(f.a, 1, 10));
  GRAPH_MISTAKE("window: a window of 3 elements with dilation 4 is longer than axis 1, which has extent 8", tw::window(f.a, 1, 3, 1, 4));
  GRAPH_MISTAKE("window: a window of n + 1 elements is longer than axis 0, which has extent n", tw::window(f.p, 0, f.n + 1));
  GRAPH_MISTAKE("window: size 0 must be 1 or more", tw::window(f.a, 1, 0));
  GRAPH_MISTAKE("window: step 0 must be 1 or more", tw::window(f.a, 1, 2, 0));
  GRAPH_MISTAKE("window: dilation -1 must be 1 or more", tw::window(f.a, 1, 2, 1, -1));
  GRAPH_MISTAKE("window: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::window(f.a, 2, 1));
  GRAPH_MISTAKE("window: axis 0 of 't', which is a scalar and has no axes", tw::window(tw::sum(f.a), 0, 1));
  GRAPH_MISTAKE("window: shape [4, 1, 1, 1, 1, 7, 2] has 7 axes; a tensor has at most 6",
                tw::window(tw::reshape(f.a, {4, 1, 1, 1, 1, 8}), 5, 2));
  GRAPH_MISTAKE("pad: constant 5000000000 does not fit i32 (-2147483648 to 2147483647)", tw::pad(f.i, 0, 1, 1, 5000000000));
}

TEST_CASE("graph mistakes: pieces of axes, convolutions, pools") {
  Fixture f;
  const auto x = f.graph.input<float>("x", {1, 9, 9, 6}), rows = f.graph.input<float>("rows", {9, 6});
  const auto w = f.graph.input<float>("w", {3, 3, 6, 4}), v = f.graph.input<float>("v", {6});
  GRAPH_MISTAKE("split: sizes [1, 2] add up to 3; axis 0 of 't' has extent 4", tw::split(f.a, {1, 2}, 0));
  GRAPH_MISTAKE("split: sizes [] add up to 0; axis 1 of 't' has extent 8", tw::split(f.a, {}, -1));
  GRAPH_MISTAKE("split: sizes [n, 1] add up to n + 1; axis 0 of 't' has extent n", tw::split(f.p, {f.n, 1}, 0));
  GRAPH_MISTAKE("split: size -1 must not be negative", tw::split(f.a, {5, -1}, 0));
  GRAPH_MISTAKE("split: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::split(f.a, {4}, 2));
  GRAPH_MISTAKE("conv: 'x' is [1, 9, 9, 5] with 5 channels, its last axis; 'w' is [3, 3, 6, 4] and takes 6, its last axis but one",
                tw::conv(tw::slice(x, 3, 0, 5), w));
  GRAPH_MISTAKE(
      "conv: 'x' is [1, 9, 9, 6] with 3 channels in each group, its last axis; 'w' is [3, 3, 6, 4] and takes 6, its last axis but one",
      tw::conv(x, w, {.groups = 2}));
  GRAPH_MISTAKE("conv: groups = 4 does not divide the 6 channels of 'x', which is [1, 9, 9, 6]", tw::conv(x, w, {.groups = 4}));
  GRAPH_MISTAKE("conv: groups = 3 does not divide the 4 channels of 'w', which is [3, 3, 6, 4]", tw::conv(x, w, {.groups = 3}));
  GRAPH_MISTAKE("conv: groups = 0 must be 1 or more", tw::conv(x, w, {.groups = 0}));
  GRAPH_MISTAKE("conv: axis 1 of 'w', which is [3, 0, 6, 4], has extent 0; it must be 1 or more",
                tw::conv(x, f.graph.input<float>("no_filter", {3, 0, 6, 4})));
  GRAPH_MISTAKE("conv: stride 0 must be 1 or more", tw::conv(x, w, {.stride = 0}));
  GRAPH_MISTAKE("conv: dilation 0 must be 1 or more", tw::conv(x, w, {.dilation = 0}));
  GRAPH_MISTAKE("conv: pad -1 must not be negative", tw::conv(x, w, {.pad = -1}));
  GRAPH_MISTAKE(
      "conv: a window of 3 elements with dilation 6 is longer than axis 1 of 'x', which is [1, 9, 9, 6] and has a border of 1 on "
      "both sides",
      tw::conv(x, w, {.pad = 1, .dilation = 6}));
  GRAPH_MISTAKE(
      "conv: 'w' is [4, 8]; it must have 3 to 5 axes: one to three of positions, the channels of 'x' in a group, and those of the "
      "result",
      tw::conv(x, f.a));
  GRAPH_MISTAKE("conv: 'x' is [9, 6] and 'w' is [3, 3, 6, 4]; 'x' must have 3 axes or more", tw::conv(rows, w));
  GRAPH_MISTAKE("max_pool: a window of 10 elements is longer than axis 1 of 'x', which is [1, 9, 9, 6]", tw::max_pool(x, 10));
  GRAPH_MISTAKE("max_pool: size 0 must be 1 or more", tw::max_pool(x, 0));
  GRAPH_MISTAKE("max_pool: pad 2 must be less than size 2: some windows would have no element of 'x'", tw::max_pool(x, 2, {.pad = 2}));
  GRAPH_MISTAKE("avg_pool: stride 0 must be 1 or more", tw::avg_pool(x, 2, {.stride = 0}));
  GRAPH_MISTAKE("avg_pool: 'x' is [9, 6]; it must have three axes or more", tw::avg_pool(rows, 2));
  GRAPH_MISTAKE("batch_norm: 'variance' is [4, 8] and does not broadcast to the shape of 'x', which is [9, 6]",
                tw::batch_norm(rows, v, f.a, v, v));
}

TEST_CASE("graph mistakes: reductions") {
  Fixture f;
  GRAPH_MISTAKE("sum: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::sum(f.a, 2));
  GRAPH_MISTAKE("max: axes [0, -2] name axis 0 twice", tw::max(f.a, {0, -2}));
  GRAPH_MISTAKE("sum: axis 0 of 't', which is a scalar and has no axes", tw::sum(tw::sum(f.a), 0));
  GRAPH_MISTAKE("cumsum: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::cumsum(f.a, 2));
  GRAPH_MISTAKE(
      "reduce: the function computes with 'b', a tensor [4, 7]; it may compute with its two scalars and constants only, element by element",
      tw::reduce(f.a, 0, 0.0f, [&](auto x, auto y) { return x + y * f.b; }));
  auto scale = f.graph.scalar<float>("scale");
  GRAPH_MISTAKE("reduce: the function computes with 'scale'; it may compute with its two scalars and constants only, element by element",
                tw::reduce(f.a, 0, 0.0f, [&](auto x, auto y) { return x + y * scale; }));
  GRAPH_MISTAKE("reduce: constant 5000000000 does not fit i32 (-2147483648 to 2147483647)",
                tw::reduce(f.i, 0, 5000000000, [&](auto x, auto y) { return x + y; }));
}

TEST_CASE("graph mistakes: composite functions name the call and their own operands") {
  Fixture f;
  const int line = __LINE__ + 1;
  CHECK(error_of([&] { tw::softmax(f.a, 2); }).starts_with(location(line)));
  GRAPH_MISTAKE("rms_norm: 'gamma' is [4, 7] and does not broadcast to the shape of 'x', which is [4, 8]", tw::rms_norm(f.a, f.b));
  GRAPH_MISTAKE("layer_norm: 'beta' is [4, 7] and does not broadcast to the shape of 'x', which is [4, 8]", tw::layer_norm(f.a, f.a, f.b));
  GRAPH_MISTAKE("cross_entropy: 'targets' is [4]; with 'logits', which is [n, 8], it must be [n]", tw::cross_entropy(f.p, f.i));
  GRAPH_MISTAKE("rope: the last extent of 'x', which is [4, 7], must be even", tw::rope(f.b, f.i));
  GRAPH_MISTAKE("rope: 'positions' is [4] and does not broadcast to [n], the shape of 'x' without its last axis", tw::rope(f.p, f.i));
  GRAPH_MISTAKE("rope: base -1 must be a positive number", tw::rope(f.a, f.i, -1));
  GRAPH_MISTAKE("dropout: p = 1.5 must be from 0 to 1", tw::dropout(f.a, 1.5, 5));
  GRAPH_MISTAKE("rms_norm: 'x' is a scalar; it must have an axis", tw::rms_norm(tw::sum(f.a), tw::sum(f.a)));
}

TEST_CASE("graph mistakes: indexed functions") {
  Fixture f;
  GRAPH_MISTAKE("gather: axis 2 is out of range: 'table' is [4, 8], so it must be from -2 to 1", tw::gather(f.a, f.i, 2));
  GRAPH_MISTAKE("take_along: 't' is [4, 8] and 'index' is [4]; they must be alike but for axis 0", tw::take_along(f.a, f.i, 0));
  GRAPH_MISTAKE("scatter_add: 'updates' is [4, 7]; with 't', which is [4, 8], and 'index', which is [4], it must be [4, 8]",
                tw::scatter_add(f.a, f.i, f.b));
}

TEST_CASE("graph mistakes: the graph works on") {
  Fixture f;
  CHECK(message_of([&] { f.a* f.b; }) != "no error");
  CHECK(message_of([&] { f.graph.output("a", f.a); }) != "no error");
  auto y = f.a + 1.0f;
  f.graph.output("y", y);
  Values values;
  values.set("a", std::vector<float>(32, 2));
  CHECK(numbers(y, values) == std::vector<double>(32, 3));
  CHECK(interpret(*y.nodes(), values, Rounding::as_typed).size() == 1);
}

TEST_CASE("graph mistakes: what a run reports") {
  Fixture f;
  auto y = tw::gather(f.a, f.i);
  Values values;
  GRAPH_MISTAKE("input: 'a' is not given", numbers(y, values));
  values.set("a", std::vector<float>(31));
  GRAPH_MISTAKE("input: 'a' has 31 elements; [4, 8] needs 32", numbers(y, values));
  values.set("a", std::vector<float>(32)).set("i", std::vector<int32_t>{0, 1, 2, 4});
  GRAPH_MISTAKE("gather: index 4 is out of range: the extent is 4", numbers(y, values));
  values.set("p", std::vector<float>(24));
  GRAPH_MISTAKE("input: symbol 'n' has no value", numbers(f.p, values));
  values.symbol("n", 65);
  GRAPH_MISTAKE("symbol 'n' is 65; it must be a multiple of 1 from 2 to 64", numbers(f.p, values));
  values.symbol("n", 3);
  auto halves = tw::slice(f.p, 0, 0, f.n, 2);
  GRAPH_MISTAKE("slice: n / 2 is not an integer", numbers(halves, values));
  CHECK(numbers(f.p, values).size() == 24);
}

}  // namespace
}  // namespace graph_run
