// Mistakes in graphs: each names the user's line, what was seen and expected, and the lines of the other parties.
#include <regex>

#include "tests/unit/frontend/graph_run.h"

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

/// The message without its place and its notes.
std::string message_of(auto&& body) {
  const std::string text = error_of(body), mark = "error: ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  return text.substr(at + mark.size(), text.find('\n') - at - mark.size());
}

bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }
std::string place(int line) { return "graph_mistakes_test.cpp:" + std::to_string(line) + ":"; }

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
  CHECK(text.starts_with(place(line)));
  CHECK(has(text,
            "error: operator*: 'a' is [4, 8] and 'b' is [4, 7]; extents must be equal or 1, aligned from the right, but 8 and 7 differ"));
  CHECK(has(text, place(f.a_line)));
  CHECK(has(text, "note: 'a' defined here"));
  CHECK(has(text, place(f.b_line)));
  CHECK(has(text, "note: 'b' defined here"));
  CHECK(message_of([&] { f.a + f.p; }) ==
        "operator+: 'a' is [4, 8] and 'b' is [n, 8]; extents must be equal or 1, aligned from the right, but 4 and n differ");
  CHECK(message_of([&] { tw::where(f.a > 0.0f, 0.0f, f.b); }) ==
        "where: 'condition' is [4, 8] and 'b' is [4, 7]; extents must be equal or 1, aligned from the right, but 8 and 7 differ");
}

TEST_CASE("graph mistakes: products") {
  Fixture f;
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { tw::matmul(f.a, f.b); });
  CHECK(text.starts_with(place(line)));
  CHECK(has(text, "matmul: 'a' is [4, 8] and 'b' is [4, 7]; the last extent 8 of 'a' must equal the last but one, 4, of 'b'"));
  CHECK(has(text, place(f.a_line)));
  CHECK(has(text, place(f.b_line)));
  CHECK(message_of([&] { tw::matmul(f.i.to<float>(), f.a); }) == "matmul: 'a' is [4]; it must have two axes or more");
  auto batches = f.graph.input<float>("batches", {3, 4, 8}), others = f.graph.input<float>("others", {2, 8, 4});
  CHECK(message_of([&] { tw::matmul(batches, others); }) ==
        "matmul: 'a' is [3, 4, 8] and 'b' is [2, 8, 4]; extents before the last two must be equal or 1, aligned from the right, but 3 and "
        "2 differ");
  CHECK(message_of([&] { tw::einsum("ij,ij", f.a, f.b); }) == "einsum: equation 'ij,ij' has no '->'");
  CHECK(message_of([&] { tw::einsum("ij,ij->i", f.a, f.b); }) ==
        "einsum: 'operand 1' is [4, 8] and 'operand 2' is [4, 7]; the extents 8 and 7 of label 'j' must be equal");
  CHECK(message_of([&] { tw::einsum("ij->k", f.a); }) == "einsum: equation 'ij->k': label 'k' of the result is in no operand");
  CHECK(message_of([&] { tw::einsum("ij->ii", f.a); }) == "einsum: equation 'ij->ii': the result has label 'i' twice");
  CHECK(message_of([&] { tw::einsum("i1->i", f.a); }) == "einsum: equation 'i1->i': '1' is no label; labels are letters");
  CHECK(message_of([&] { tw::einsum("i->i", f.a); }) == "einsum: 'x' is [4, 8]; its labels 'i' must be one for each of its 2 axes");
  CHECK(message_of([&] { tw::einsum("ij,jk->ik", f.a); }) == "einsum: equation 'ij,jk->ik' has 2 operands; there are 1");
  CHECK(message_of([&] { tw::einsum("ij->...", f.a); }) == "einsum: equation 'ij->...': the result has '...', and no operand has");
}

TEST_CASE("graph mistakes: tensors of another graph, and of none") {
  Fixture f;
  tw::Graph other;
  const int there = __LINE__ + 1;
  auto foreign = other.input<float>("a", {4, 8});
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { f.a + foreign; });
  CHECK(text.starts_with(place(line)));
  CHECK(has(text, "error: operator+: 'b' is a tensor of another graph than 'a'"));
  CHECK(has(text, place(there)));
  CHECK(has(text, place(f.a_line)));
  CHECK(message_of([&] { f.graph.output("y", foreign); }) == "output: 'y' is a tensor of another graph");
  CHECK(message_of([&] { tw::Tensor<float>() + f.a; }) == "operator+: 'a' is empty: it names no tensor");
  CHECK(message_of([&] { tw::Tensor<float>().shape(); }) == "shape: 't' is empty: it names no tensor");
  CHECK(message_of([&] { f.graph.output("y", tw::Tensor<float>()); }) == "output: 'y' is empty: it names no tensor");
  CHECK(message_of([&] { tw::concat({f.a, foreign}, 0); }) == "concat: 'operand 2' is a tensor of another graph than 'operand 1'");
  CHECK(message_of([&] { other.input<float>("q", {f.n}); }) == "input: extent 'n' has symbols of another graph");
  CHECK(message_of([&] { f.n + other.dim("m"); }) == "extents 'n' and 'm' have symbols of two graphs");
  tw::Graph moved = std::move(other);
  CHECK(message_of([&] { other.input<float>("x", {1}); }) == "input: the graph was moved from");
}

TEST_CASE("graph mistakes: a name given twice") {
  Fixture f;
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { f.graph.input<float>("a", {4}); });
  CHECK(text.starts_with(place(line)));
  CHECK(has(text, "error: input: the name 'a' is given twice in this graph"));
  CHECK(has(text, place(f.a_line)));
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
  CHECK(message_of([&] { f.graph.output("", f.a); }) == "output: the name is empty");
}

TEST_CASE("graph mistakes: shapes and symbols") {
  Fixture f;
  CHECK(message_of([&] { f.graph.input<float>("x", {4, 0}); }) == "input: extent 0 of shape [4, 0] must be positive");
  CHECK(message_of([&] { f.graph.input<float>("x", {f.n - 64}); }) == "input: extent n - 64 of shape [n - 64] must be positive");
  CHECK(message_of([&] { f.graph.input<float>("x", {1, 1, 1, 1, 1, 1, 2}); }) ==
        "input: shape [1, 1, 1, 1, 1, 1, 2] has 7 axes; a tensor has at most 6");
  CHECK(message_of([&] { f.graph.input<float>("x", {4, 4}, {4}); }) ==
        "input: 1 strides for shape [4, 4]; there must be one for each axis");
  CHECK(message_of([&] { f.graph.input<float>("x", {4, 4}, {4, -1}); }) == "input: stride -1 must not be negative");
  CHECK(message_of([&] { f.graph.constant(std::vector<float>{1, 2}, {3}); }) == "constant: 2 elements for shape [3], which has 3");
  CHECK(message_of([&] { f.graph.constant(std::vector<float>{1}, {3}); }) == "constant: 1 elements for shape [3], which has 3");
  CHECK(message_of([&] { f.graph.dim("m", {.min = -1}); }) == "dim: min = -1 of 'm' must not be negative");
  CHECK(message_of([&] { f.graph.dim("m", {.multiple_of = 0}); }) == "dim: multiple_of = 0 of 'm' must be 1 or more");
  CHECK(message_of([&] { f.graph.dim("m", {.min = 5, .max = 7, .multiple_of = 4}); }) ==
        "dim: no multiple of 4 is from min = 5 to max = 7 of 'm'");
  CHECK(message_of([&] { f.graph.input<float>("x", {f.n * INT64_MAX * INT64_MAX * INT64_MAX}); }).ends_with("overflows"));
  CHECK(message_of([&] { tw::iota<int32_t>(f.graph, {4}, 1); }) == "iota: axis 1 is out of range for shape [4]");
}

TEST_CASE("graph mistakes: shape functions") {
  Fixture f;
  CHECK(message_of([&] { tw::reshape(f.a, {5, 7}); }) == "reshape: 'x' is [4, 8] with 32 elements; shape [5, 7] has 35");
  CHECK(message_of([&] { tw::reshape(f.p, {f.n, 7}); }) == "reshape: 'x' is [n, 8] with 8 n elements; shape [n, 7] has 7 n");
  CHECK(message_of([&] { tw::permute(f.a, {0}); }) ==
        "permute: axes are [0]; each of the 2 axes of 'x', which is [4, 8], must be named once");
  CHECK(message_of([&] { tw::permute(f.a, {0, 2}); }) == "permute: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1");
  CHECK(message_of([&] { tw::transpose(f.i); }) == "transpose: 't' is [4]; it must have two axes or more");
  CHECK(message_of([&] { tw::expand_dims(f.a, 3); }) == "expand_dims: axis 3 is out of range: 't' is [4, 8], so it must be from -3 to 2");
  CHECK(message_of([&] { tw::squeeze(f.a, 0); }) == "squeeze: extent 4 of axis 0 of 't', which is [4, 8], must be 1");
  CHECK(message_of([&] { tw::broadcast_to(f.a, {4, 4, 9}); }) == "broadcast_to: 'x' is [4, 8] and does not broadcast to [4, 4, 9]");
  CHECK(message_of([&] { tw::slice(f.a, 0, 2, 5); }) ==
        "slice: from 2 to 5 of axis 0, which has extent 4; it must be 0 <= begin < end <= extent");
  CHECK(message_of([&] { tw::slice(f.a, 0, 2, 2); }) ==
        "slice: from 2 to 2 of axis 0, which has extent 4; it must be 0 <= begin < end <= extent");
  CHECK(message_of([&] { tw::slice(f.p, 0, 1, f.n + 1); }) ==
        "slice: from 1 to n + 1 of axis 0, which has extent n; it must be 0 <= begin < end <= extent");
  CHECK(message_of([&] { tw::slice(f.a, 0, 0, 2, 0); }) == "slice: step 0 must be 1 or more");
  CHECK(message_of([&] { tw::concat({f.a, f.b}, 0); }) ==
        "concat: 'operand 1' is [4, 8] and 'operand 2' is [4, 7]; they must be alike but for axis 0");
  CHECK(message_of([&] { tw::concat(std::vector<tw::Tensor<float>>(), 0); }) == "concat: there are no tensors");
  CHECK(message_of([&] { tw::pad(f.a, 0, -1, 0); }) == "pad: length -1 must not be negative");
  CHECK(message_of([&] { tw::flip(f.a, 2); }) == "flip: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1");
  CHECK(message_of([&] { tw::pad(f.i, 0, 1, 1, 5000000000); }) == "pad: constant 5000000000 does not fit i32 (-2147483648 to 2147483647)");
}

TEST_CASE("graph mistakes: reductions") {
  Fixture f;
  CHECK(message_of([&] { tw::sum(f.a, 2); }) == "sum: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1");
  CHECK(message_of([&] { tw::max(f.a, {0, -2}); }) == "max: axes [0, -2] name axis 0 twice");
  CHECK(message_of([&] { tw::sum(tw::sum(f.a), 0); }) == "sum: axis 0 of 't', which is a scalar and has no axes");
  CHECK(message_of([&] { tw::cumsum(f.a, 2); }) == "cumsum: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1");
  CHECK(message_of([&] { tw::reduce(f.a, 0, 0.0f, [&](auto x, auto y) { return x + y * f.b; }); }) ==
        "reduce: the function computes with a tensor [4, 7]; it may compute with its two scalars and constants only, element by element");
  auto scale = f.graph.scalar<float>("scale");
  CHECK(message_of([&] { tw::reduce(f.a, 0, 0.0f, [&](auto x, auto y) { return x + y * scale; }); }) ==
        "reduce: the function computes with 'scalar'; it may compute with its two scalars and constants only, element by element");
  CHECK(message_of([&] { tw::reduce(f.i, 0, 5000000000, [&](auto x, auto y) { return x + y; }); }) ==
        "reduce: constant 5000000000 does not fit i32 (-2147483648 to 2147483647)");
}

TEST_CASE("graph mistakes: composite functions name the call and their own operands") {
  Fixture f;
  const int line = __LINE__ + 1;
  CHECK(error_of([&] { tw::softmax(f.a, 2); }).starts_with(place(line)));
  CHECK(message_of([&] { tw::rms_norm(f.a, f.b); }) ==
        "rms_norm: 'gamma' is [4, 7] and does not broadcast to the shape of 'x', which is [4, 8]");
  CHECK(message_of([&] { tw::layer_norm(f.a, f.a, f.b); }) ==
        "layer_norm: 'beta' is [4, 7] and does not broadcast to the shape of 'x', which is [4, 8]");
  CHECK(message_of([&] { tw::cross_entropy(f.p, f.i); }) ==
        "cross_entropy: 'targets' is [4]; with 'logits', which is [n, 8], it must be [n]");
  CHECK(message_of([&] { tw::rope(f.b, f.i); }) == "rope: the last extent of 'x', which is [4, 7], must be even");
  CHECK(message_of([&] { tw::rope(f.p, f.i); }) ==
        "rope: 'positions' is [4] and does not broadcast to [n], the shape of 'x' without its last axis");
  CHECK(message_of([&] { tw::rope(f.a, f.i, -1); }) == "rope: base -1 must be a positive number");
  CHECK(message_of([&] { tw::dropout(f.a, 1.0, 5); }) == "dropout: p = 1 must be from 0 to below 1");
  CHECK(message_of([&] { tw::rms_norm(tw::sum(f.a), tw::sum(f.a)); }) == "rms_norm: 'x' is a scalar; it must have an axis");
}

TEST_CASE("graph mistakes: indexed functions") {
  Fixture f;
  CHECK(message_of([&] { tw::gather(f.a, f.i, 2); }) == "gather: axis 2 is out of range: 'table' is [4, 8], so it must be from -2 to 1");
  CHECK(message_of([&] { tw::take_along(f.a, f.i, 0); }) ==
        "take_along: 'x' is [4, 8] and 'index' is [4]; they must be alike but for axis 0");
  CHECK(message_of([&] { tw::scatter_add(f.a, f.i, f.b); }) ==
        "scatter_add: 'updates' is [4, 7]; with 'x' is [4, 8] and 'index' is [4] it must be [4, 8]");
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
  CHECK(message_of([&] { numbers(y, values); }) == "input: 'a' is not given");
  values.set("a", std::vector<float>(31));
  CHECK(message_of([&] { numbers(y, values); }) == "input: 'a' has 31 elements; [4, 8] needs 32");
  values.set("a", std::vector<float>(32)).set("i", std::vector<int32_t>{0, 1, 2, 4});
  CHECK(message_of([&] { numbers(y, values); }) == "gather: index 4 is out of range: the extent is 4");
  values.set("p", std::vector<float>(24));
  CHECK(message_of([&] { numbers(f.p, values); }) == "input: symbol 'n' has no value");
  values.symbol("n", 65);
  CHECK(message_of([&] { numbers(f.p, values); }) == "symbol 'n' is 65; it must be a multiple of 1 from 2 to 64");
  values.symbol("n", 3);
  auto halves = tw::slice(f.p, 0, 0, f.n, 2);
  CHECK(message_of([&] { numbers(halves, values); }) == "slice: n / 2 is no integer");
  CHECK(numbers(f.p, values).size() == 24);
}

}  // namespace
}  // namespace graph_run
