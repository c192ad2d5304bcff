// Loop distribution: which chains of ops are cut, and where.
#include "backend/host/loop_distribution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

namespace {

// The nests of y = f(x) on tiles of `extent` elements, for vectors of 8 lanes. f is a chain of ops; each "add" adds the two values before it.
// There are `width` such chains beside each other.
std::vector<std::string> nests_of_chain(const std::vector<std::string>& ops, int extent, int width = 1) {
  const std::string tile = '[' + std::to_string(extent) + ']';
  std::string text =
      "kernel @chain(%x: ptr<const f32>, %y: ptr<f32> {disjoint}) {\n    %i = arange {lo = 0, hi = " + std::to_string(extent) + "} : i32" +
      tile + "\n    %xb = broadcast %x : ptr<const f32>" + tile + "\n    %xp = add_ptr %xb, %i : ptr<const f32>" + tile +
      "\n    %yb = broadcast %y : ptr<f32>" + tile + "\n    %yp = add_ptr %yb, %i : ptr<f32>" + tile + '\n';
  for (std::size_t n = 0; n <= ops.size() + 1; ++n)
    for (int chain = 0; chain < width; ++chain) {
      const auto value = [&](std::size_t back) { return "%v" + std::to_string(n - std::min(back, n)) + '_' + std::to_string(chain); };
      if (n == 0)
        text += "    " + value(0) + " = load %xp : f32" + tile + '\n';
      else if (n > ops.size())
        text += "    store %yp, " + value(1) + '\n';
      else
        text +=
            "    " + value(0) + " = " + ops[n - 1] + ' ' + value(1) + (ops[n - 1] == "add" ? ", " + value(2) : "") + " : f32" + tile + '\n';
    }
  const ir::Function f = ir::parse(text + "  }", "test.tile").functions.at(0);
  const passes::AxisInfoAnalysis info(f);
  const EvaluationPlan plan(f, MemoryAxes{info, 8});
  std::vector<std::string> nests;
  for (const Step& step : plan.block(f.body()).steps) {
    if (!step.is_loops) continue;
    std::string names;
    for (const Item& item : step.items) names += (names.empty() ? "" : " ") + std::string(ir::text(f.kind(item.op)));
    nests.push_back(names);
  }
  return nests;
}

}  // namespace

TEST_CASE("loop_distribution: a chain that fills a processor's window is distributed over nests, cut where the fewest values cross") {
  using Nests = std::vector<std::string>;
  const auto times = [](int count, const std::vector<std::string>& ops) {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i) out.insert(out.end(), ops.begin(), ops.end());
    return out;
  };
  const std::string five = "sqrt sqrt sqrt sqrt sqrt";
  CHECK(nests_of_chain(times(5, {"sqrt"}), 256) == Nests{"load " + five + " store"});
  CHECK(nests_of_chain(times(12, {"sqrt"}), 256) == Nests{"load " + five, five, "sqrt sqrt store"});
  // Two values are live before each addition, and one after it.
  std::vector<std::string> pairs = times(8, {"sqrt", "add"});
  pairs.insert(pairs.begin(), {"neg", "abs", "ceil", "floor"});
  CHECK(nests_of_chain(pairs, 256) ==
        Nests{"load neg abs ceil floor sqrt add sqrt add sqrt add", "sqrt add sqrt add sqrt add sqrt add", "sqrt add store"});
}

TEST_CASE("loop_distribution: a long chain stays in one nest if there are few vectors, or much to do beside it") {
  const std::vector<std::string> ops(12, "sqrt");
  CHECK(nests_of_chain(ops, 256).size() == 3);
  CHECK(nests_of_chain(ops, 32).size() == 1);
  CHECK(nests_of_chain(ops, 256, 2).size() == 3);
  CHECK(nests_of_chain(ops, 256, 32).size() == 1);
}

}  // namespace tilewright::backend::host
