// Kernels that are emitted from plans compute what the formulas say.
#include <doctest/doctest.h>

#include "passes/fusion/emit/configuration.h"
#include "tests/unit/passes/fusion/derive.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr double kTolerance = 2e-6;

TEST_CASE("fusion emit: kernels compute their formulas, in one tile and in loops") {
  for (const Workload& w : workloads())
    for (const std::int64_t loop : {0, 4, 16}) {  // 0: as chosen
      CAPTURE(w.name);
      CAPTURE(loop);
      Variants plain;
      Derived d = derive(w, plain);
      const Plan plan = plan_of(d);
      TileSizes sizes = choose_tiles(plan, *d.exprs, {});
      if (loop != 0) sizes.loop = loop;
      for (const auto& [name, error] : errors_of(d, plan, sizes, 7)) {
        CAPTURE(name);
        CHECK(error < kTolerance);
      }
    }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
