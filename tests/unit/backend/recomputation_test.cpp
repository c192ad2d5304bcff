// Which values a loop nest of the host computes again, and which it reads from a buffer.
#include "backend/host/recomputation.h"

#include <doctest/doctest.h>

#include <string>

#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

using ir::OpKind;

namespace {

/// The ops that a second nest computes again: of y = work(x) - sum(work(x)), where %w: f32[columns] is computed from %x.
std::string recomputed(const std::string& work, int columns = 4096, const std::string& of_load = "",
                       const std::string& of_memory = " {disjoint}", int lanes = 16) {
  std::string text = "kernel @k(%a: ptr<const f32>" + of_memory + ", %o: ptr<f32>" + of_memory + R"(, %n: i32) {
    %i = arange {lo = 0, hi = $} : i32[$]
    %nb = broadcast %n : i32[$]
    %m = lt %i, %nb : i1[$]
    %ab = broadcast %a : ptr<const f32>[$]
    %p = add_ptr %ab, %i : ptr<const f32>[$]
    %x = load %p, %m)" +
                     of_load + R"( : f32[$]
)" + work + R"(
    %sum = reduce %w {axis = 0, commutative} : f32 (%s: f32, %t: f32) {
      %u = add %s, %t : f32
      yield %u
    }
    %sums = broadcast %sum : f32[$]
    %y = sub %w, %sums : f32[$]
    %ob = broadcast %o : ptr<f32>[$]
    %q = add_ptr %ob, %i : ptr<f32>[$]
    store %q, %y, %m
  })";
  const std::string extent = std::to_string(columns);
  for (std::size_t at = 0; (at = text.find('$', at)) != std::string::npos; at += extent.size()) text.replace(at, 1, extent);
  const ir::Function f = ir::parse(text, "test.tile").functions.at(0);
  const passes::AxisInfoAnalysis axes(f);
  const EvaluationPlan plan(f, MemoryAxes{axes, lanes});
  std::string out;
  for (const Step& step : plan.block(f.body()).steps)
    for (const Item& item : step.items)
      if (item.is_recomputed) out += (out.empty() ? "" : " ") + std::string(ir::text(f.kind(item.op)));
  return out;
}

const std::string kScaled = "    %w = mul %x, %x : f32[$]";

}  // namespace

TEST_CASE("recomputation: a long row of few cheap ops is loaded again") {
  CHECK(recomputed(kScaled) == "load mul");
  CHECK(recomputed("    %z = mul %x, %x : f32[$]\n    %w = add %z, %x : f32[$]") == "load mul add");
  CHECK(recomputed(kScaled, 1024) == "");
  CHECK(recomputed(kScaled, 4096, "", " {disjoint}", 4) == "");
}

TEST_CASE("recomputation: a value that takes longer to compute than to read has a buffer") {
  CHECK(recomputed("    %w = exp %x : f32[$]") == "");
  CHECK(recomputed("    %z = sqrt %x : f32[$]\n    %w = add %z, %x : f32[$]") == "");
}

TEST_CASE("recomputation: memory that may change is loaded once") {
  CHECK(recomputed(kScaled, 4096, " {is_volatile}") == "");
  CHECK(recomputed(kScaled, 4096, "", "") == "");
}

}  // namespace tilewright::backend::host
