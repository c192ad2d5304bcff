// Checked mode of graphs: an index outside of a tensor is an Error of the run, whatever the index is computed from and whatever becomes of
// the value; in another plan it gives some value, and no memory beside the tensor's is read or written.
#include <cstdlib>
#include <optional>

#include "tests/unit/frontend/graph/graph_program.h"

using namespace graph_program;

namespace {

/// Where every graph is checked, there is nothing to compare with.
bool all_are_checked() { return std::getenv("TILEWRIGHT_CHECK") != nullptr; }

constexpr int kRows = 4, kColumns = 6;

/// A formula of a table [rows, 6] of f32 and an index [4]; the index leads into the axis of rows.
template <class I>
struct Formula {
  std::string name;
  std::function<tw::Tensor<float>(const tw::Tensor<float>& table, const tw::Tensor<I>& index)> make;
  std::string function = "gather";  // the function that the message names
};

template <class I>
tw::Tensor<I> spread(const tw::Tensor<I>& index) {
  return tw::broadcast_to(tw::expand_dims(index, 1), {index.shape()[0], kColumns});
}

/// Indices as they come, in what is fused with gathers.
template <class I>
std::vector<Formula<I>> uses() {
  using T = const tw::Tensor<float>&;
  using X = const tw::Tensor<I>&;
  return {
      {"gather", [](T t, X i) { return tw::gather(t, i); }},
      {"gather of columns", [](T t, X i) { return tw::gather(tw::transpose(t), i, 1); }},
      {"take_along", [](T t, X i) { return tw::take_along(t, spread<I>(i), 0); }, "take_along"},
      {"a pad of it", [](T t, X i) { return tw::pad(tw::gather(t, i), 0, 2, 1); }},
      {"a part of it", [](T t, X i) { return tw::slice(tw::gather(t, i), 0, 1, 3); }},
      {"a part without it", [](T t, X i) { return tw::slice(tw::gather(t, i), 0, 3, 4); }},
      {"joined with the table", [](T t, X i) { return tw::concat({tw::gather(t, i), t}, 0); }},
      {"turned round", [](T t, X i) { return tw::flip(tw::gather(t, i), 0); }},
      {"where a mask hides it", [](T t, X i) { return tw::where(tw::expand_dims(i < I(0) || i > I(3), 1), 0.0f, tw::gather(t, i)); }},
      {"a sum of it", [](T t, X i) { return tw::sum(tw::gather(t, i), 1); }},
      {"softmax of it", [](T t, X i) { return tw::softmax(tw::gather(t, i), -1); }},
      {"a product with it", [](T t, X i) { return tw::matmul(tw::gather(t, i), tw::transpose(t)); }},
      {"from what is computed", [](T t, X i) { return tw::gather(tw::exp(t) + 1.0f, i); }},
      {"from a product", [](T t, X i) { return tw::gather(tw::matmul(t, tw::transpose(t)), i); }},
      {"from a pad", [](T t, X i) { return tw::gather(tw::slice(tw::pad(t, 0, 1, 1), 0, 1, t.shape()[0] + 1), i); }},
      {"from what was joined",
       [](T t, X i) { return tw::gather(tw::concat({tw::slice(t, 0, 0, 1), tw::slice(t, 0, 1, t.shape()[0])}, 0), i); }},
      {"from no memory", [](T t, X i) { return tw::gather(tw::broadcast_to(tw::sum(t, 0, true), t.shape()), i); }},
      {"scatter_add", [](T t, X i) { return tw::scatter_add(t, i, tw::slice(t * 2.0f, 0, 0, i.shape()[0])); }, "scatter_add"},
      {"scatter_add to columns",
       [](T t, X i) { return tw::scatter_add(tw::transpose(t), i, tw::slice(tw::transpose(t), 1, 0, i.shape()[0]), 1); }, "scatter_add"},
      {"cross_entropy", [](T t, X i) { return tw::cross_entropy(tw::slice(tw::transpose(t), 0, 0, i.shape()[0]), i); }, "cross_entropy"},
      {"two in a row", [](T t, X i) { return tw::gather(tw::gather(t, i), tw::where(i < I(2), i, I(1))); }},
  };
}

/// Indices that are computed, of which the given one -- or a part of it -- is the value.
template <class I>
std::vector<Formula<I>> computed_indices() {
  using T = const tw::Tensor<float>&;
  using X = const tw::Tensor<I>&;
  return {
      {"i + 1 - 1", [](T t, X i) { return tw::gather(t, i + I(1) - I(1)); }},
      {"where(k, i, -1)", [](T t, X i) { return tw::gather(t, tw::where(i < I(4), i, I(-1))); }},
      {"cat(i, i)", [](T t, X i) { return tw::sum(tw::gather(t, tw::concat({tw::slice(i, 0, 0, 1), i}, 0)), 1); }},
      {"max(i) - count", [](T t, X i) { return tw::gather(t, tw::cumsum(i * I(0) + I(1), 0) + tw::max(i, 0, true) - I(4)); }},
      {"i of i", [](T t, X i) { return tw::gather(t, tw::gather(i, tw::where(i < I(0) || i > I(3), I(1), i))); }},
      {"a sum", [](T t, X i) { return tw::gather(t, tw::sum(spread<I>(i), 1) / I(kColumns)); }},
  };
}

struct Found {
  std::optional<std::string> error;
  std::vector<float> values;
};

/// Runs a formula on an index. The buffers are exactly the tensors: an emulator finds any access beside them.
template <class I>
class Runner {
 public:
  Runner(tw::Device& device, const Formula<I>& formula, const tw::PlanOptions& options, bool has_symbols) : device_(device) {
    tw::Graph g;
    const tw::Dim rows = has_symbols ? g.dim("rows") : tw::Dim(kRows), count = has_symbols ? g.dim("count") : tw::Dim(4);
    const auto table = g.input<float>("table", {rows, kColumns});
    const auto index = g.input<I>("index", {count});
    const auto result = formula.make(table, index);
    g.output("result", result);
    plan_ = g.compile(device, options);
    elements_ = 1;
    for (const tw::Dim& d : result.shape()) elements_ *= *d.evaluate({kRows, 4});
  }
  Found run(const std::vector<I>& indices) {
    const auto t = device_.upload(normal(kRows * kColumns, 3));
    const auto i = device_.upload(indices);
    auto out = device_.upload(std::vector<float>(static_cast<std::size_t>(elements_), -77));
    Found found;
    try {
      plan_.run({{"table", t}, {"index", i}, {"result", out}});
      device_.synchronize();
      found.values = out.download();
    } catch (const tw::Error& e) {
      found.error = e.what();
    }
    return found;
  }

 private:
  tw::Device& device_;
  tw::Plan plan_;
  std::int64_t elements_ = 0;
};

template <class I>
void check_formula(tw::Device& device, const Formula<I>& formula, const tw::PlanOptions& options, bool has_symbols,
                   const std::vector<I>& wrong) {
  INFO(device.name(), " ", formula.name, " symbols ", has_symbols, " fused ", options.fuse);
  const std::vector<I> good = {0, 3, 1, 2};
  tw::PlanOptions checked = options;
  checked.check = true;
  Runner<I> with(device, formula, checked, has_symbols), without(device, formula, options, has_symbols);
  const Found right = with.run(good);
  CHECK_MESSAGE(!right.error, right.error.value_or(""));
  CHECK(relative_error(numbers_of(right.values), numbers_of(without.run(good).values)) < 1e-6);
  for (const I bad : wrong) {
    std::vector<I> indices = good;
    indices[1] = bad;
    const Found found = with.run(indices), unchecked = without.run(indices), again = without.run(indices);
    REQUIRE_MESSAGE(found.error, "index " << bad << ": no error");
    CHECK_MESSAGE(found.error->starts_with(__FILE__), *found.error);
    const std::string last = has_symbols ? "rows - 1" : "3", range = formula.function + ": an index is outside of 0 to ";
    CHECK_MESSAGE(found.error->find(range + last + ": ") != std::string::npos, *found.error);
    CHECK_MESSAGE(!unchecked.error, unchecked.error.value_or(""));
    CHECK(unchecked.values == again.values);
    for (const float x : unchecked.values) CHECK(x != -77);
  }
}

}  // namespace

TEST_CASE("graph programs: checked mode finds an index outside of a tensor, whatever is fused with it" * doctest::skip(all_are_checked())) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    tw::Device device = tw::Device::open(name);
    std::size_t k = 0;
    for (const Formula<int>& f : uses<int>()) {
      check_formula<int>(device, f, {}, k % 2 == 0, {k % 3 == 0 ? 4 : k % 3 == 1 ? -1 : INT32_MAX});
      ++k;
    }
  }
}

TEST_CASE("graph programs: checked mode finds an index of 64 bits, and those of plans that are not fused" *
          doctest::skip(all_are_checked())) {
  tw::Device device = tw::Device::open("cpu");
  std::size_t k = 0;
  for (const Formula<std::int64_t>& f : uses<std::int64_t>()) {
    check_formula<std::int64_t>(device, f, {.fuse = k % 2 == 0}, k % 2 != 0, {k % 3 == 0 ? INT64_MIN : (std::int64_t{1} << 40) + 1});
    ++k;
  }
}

TEST_CASE("graph programs: checked mode finds an index that is computed" * doctest::skip(all_are_checked())) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    tw::Device device = tw::Device::open(name);
    for (const Formula<int>& f : computed_indices<int>()) check_formula<int>(device, f, {}, true, {4});
  }
}

TEST_CASE("graph programs: checked mode names the index and the line, once for each index" * doctest::skip(all_are_checked())) {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph g;
  const auto table = g.input<float>("table", {kRows, kColumns});
  const auto index = g.input<std::uint8_t>("index", {3});
  const auto picked = tw::gather(table, index);
  const int line = __LINE__ - 1;
  g.output("picked", picked);
  g.output("again", tw::sum(tw::gather(table, index)));
  const tw::Plan plan = g.compile(device, {.check = true});
  CHECK(plan.proof().exact);
  const auto t = device.upload(normal(kRows * kColumns, 3));
  const auto i = device.upload(std::vector<std::uint8_t>{0, 3, 200});
  auto out = device.allocate<float>(3 * kColumns), sum = device.allocate<float>(1);
  std::string text;
  try {
    plan.run({{"table", t}, {"index", i}, {"picked", out}, {"again", sum}});
  } catch (const tw::Error& e) {
    text = e.what();
  }
  CHECK_MESSAGE(text.starts_with(std::string(__FILE__) + ":" + std::to_string(line) + ":"), text);
  CHECK_MESSAGE(text.find("gather: an index is outside of 0 to 3: 200 (program (0, 0, 0), element [2])") != std::string::npos, text);
  // Indices that no requested output needs are not checked.
  CHECK(g.compile(device).kernels().size() < plan.kernels().size());
}

TEST_CASE("graph programs: checked mode says that it is what needs a workspace" * doctest::skip(all_are_checked())) {
  tw::Graph g;
  g.output("picked", tw::gather(g.input<float>("table", {kRows, kColumns}), g.input<int>("index", {3})));
  CHECK(g.compile("cpu", {.max_workspace = 0}).workspace_bytes() == 0);
  CHECK_THROWS_WITH_AS(g.compile("cpu", {.max_workspace = 0, .check = true}),
                       doctest::Contains("bytes, in which checked mode stores the indices that it tests; max_workspace is 0"), tw::Error);
}
