// The candidates of the kernel library and the models that rank them.
#include <cmath>

#include "frontend/kernels/configuration_space.h"
#include "tests/tuner/tuning.h"

namespace {

using namespace tw::kernels::host;
using tw::kernels::Configuration;

const char* const kDevices[] = {"cpu", "emulator:sm_75", "emulator:sm_80", "emulator:sm_90a"};

Machine machine(const std::string& name) { return machine_of(tw::Device::open(name)); }
Configuration first(const Machine& m, const Problem& p) { return ranked_candidates(m, p).front(); }

std::vector<Problem> problems_of(std::int64_t n, int bytes) {
  const int few = static_cast<int>(std::min<std::int64_t>(n, 256));
  return {ProductShape{1, n, 3, n, bytes, true},
          ProductShape{2, 3, n, 17, bytes, true, 2, 32},
          MatvecShape{1, n, 5, bytes},
          MatvecShape{1, 5, n, bytes},
          RowsShape{n, 3, bytes, 2, 2},
          RowsShape{3, n, bytes, 1, 2, 1, true},
          ElementsShape{1, n, 3, bytes},
          ElementsShape{3, 1, n, bytes, 50},
          ElementsShape{1, n, n, bytes, 1, n * bytes},
          ElementsShape{.matrices = n, .rows = 7, .columns = 9, .element_bytes = bytes, .whole_rows = true},
          ReductionShape{1, n, 1, bytes},
          ReductionShape{1, 1, n, bytes},
          ReductionShape{3, 5, n, bytes, true},
          ScanShape{n, bytes},
          SparseShape{n, 3 * n, bytes},
          SparseShape{n, 0, bytes},
          FftShape{n, bytes},
          AttentionShape{2, n, 100, few, 64, bytes, true},
          AttentionShape{2, 1, n, 256, 256, bytes, false, true},
          DecodeShape{n, 1000, 1000, 4, 256, bytes},
          DecodeShape{2, n, 16, 80, 64, bytes}};
}

TEST_CASE("model: every problem has candidates, with times") {
  for (const char* name : kDevices) {
    const Machine m = machine(name);
    for (const std::int64_t n : {1, 2, 3, 17, 100, 1000, 50257, 10000019})
      for (const int bytes : {1, 2, 4, 8})
        for (const Problem& p : problems_of(n, bytes)) {
          CAPTURE(key_of(p));
          const std::vector<Configuration> all = ranked_candidates(m, p);
          REQUIRE_FALSE(all.empty());
          CHECK(all.size() < 1000);
          double least = 0;
          for (const Configuration& c : all) {
            const double seconds = estimated_seconds(m, p, c);
            CHECK(std::isfinite(seconds));
            CHECK(seconds >= least);
            least = seconds;
          }
          CHECK(least > 0);
        }
  }
}

TEST_CASE("model: candidates of GPUs fit in shared memory and registers") {
  const Machine m = machine("emulator:sm_75");
  for (const Configuration& c : candidates_of(m, ProductShape{1, 4096, 4096, 4096, 2})) {
    CHECK((c.bm + c.bn) * c.bk * 2 * c.num_stages <= m.target.shared_bytes);
    CHECK(c.bm * c.bn / (32 * c.num_warps) <= 128);
  }
}

TEST_CASE("model: large products take large tiles, small ones keep all multiprocessors busy") {
  for (const char* name : {"emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    const Machine m = machine(name);
    const Configuration large = first(m, ProductShape{1, 8192, 8192, 8192, 2, true});
    CHECK(large.bm * large.bn >= 128 * 128);
    CHECK(large.splits == 1);
    const Configuration small = first(m, ProductShape{1, 256, 256, 256, 2, true});
    CHECK(small.bm * small.bn <= 64 * 64);
    CHECK(first(m, ProductShape{1, 64, 64, 65536, 2, true}).splits > 1);
  }
}

TEST_CASE("model: a batch-invariant choice is the same for every number of rows") {
  for (const char* name : kDevices) {
    const Machine m = machine(name);
    for (const Problem& p : {Problem(ProductShape{1, 2, 512, 512, 4, true}), Problem(RowsShape{2, 1000, 4, 1, 2, 1, true}),
                             Problem(ReductionShape{1, 2, 1000, 4}), Problem(AttentionShape{2, 2, 300, 64, 64, 4})}) {
      Problem more = p;
      std::visit(
          []<class S>(S& s) {
            if constexpr (std::is_same_v<S, ProductShape> || std::is_same_v<S, ReductionShape>) s.m = 4000;
            if constexpr (std::is_same_v<S, RowsShape>) s.rows = 4000;
            if constexpr (std::is_same_v<S, AttentionShape>) s.queries = 4000;
          },
          more);
      CHECK(tw::detail::text_of_constant(first(m, without_batch(p))) == tw::detail::text_of_constant(first(m, without_batch(more))));
    }
  }
}

TEST_CASE("model: rows of a batch have one key, other extents and the axis that is contiguous do not") {
  CHECK(key_of(ProductShape{1, 100, 64, 32, 4}) == key_of(ProductShape{1, 128, 64, 32, 4}));
  CHECK(key_of(ProductShape{1, 100, 64, 32, 4}) != key_of(ProductShape{1, 100, 65, 32, 4}));
  CHECK(key_of(ReductionShape{1, 64, 64, 4, false}) != key_of(ReductionShape{1, 64, 64, 4, true}));
}

}  // namespace
