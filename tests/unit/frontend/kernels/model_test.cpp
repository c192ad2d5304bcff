// The candidates of the kernel library and the models that rank them.
#include <doctest/doctest.h>
#include <tilewright/tilewright.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "frontend/kernels/configuration_space.h"

namespace tw = tilewright;

namespace {

using namespace tw::kernels::host;
using tw::kernels::Configuration;

const char* const kDevices[] = {"cpu", "emulator:sm_75", "emulator:sm_80", "emulator:sm_90a"};

Machine machine(const std::string& name) { return machine_of(tw::Device::open(name)); }
Configuration first(const Machine& m, const Problem& p) { return ranked_candidates(m, p).front(); }

std::vector<Problem> problems_of(std::int64_t n, int bytes) {
  const int few = static_cast<int>(std::min<std::int64_t>(n, 256));
  return {ProductShape{.batch = 1, .m = n, .n = 3, .k = n, .element_bytes = bytes, .can_split = true},
          ProductShape{.batch = 2, .m = 3, .n = n, .k = 17, .element_bytes = bytes, .can_split = true, .products = 2, .least_k = 32},
          MatvecShape{.batch = 1, .m = n, .k = 5, .element_bytes = bytes},
          MatvecShape{.batch = 1, .m = 5, .k = n, .element_bytes = bytes},
          RowsShape{.rows = n, .n = 3, .element_bytes = bytes, .arrays = 2, .passes = 2},
          RowsShape{.rows = 3, .n = n, .element_bytes = bytes, .passes = 2, .exponentials = 1, .once = true},
          TopKShape{.rows = 3, .n = n, .kept = static_cast<int>(std::bit_floor(static_cast<unsigned>(few))), .element_bytes = bytes},
          TopKShape{.rows = n, .n = 5000, .kept = 4096, .element_bytes = bytes},
          ElementsShape{.matrices = 1, .rows = n, .columns = 3, .element_bytes = bytes},
          ElementsShape{.matrices = 3, .rows = 1, .columns = n, .element_bytes = bytes, .work = 50},
          ElementsShape{.matrices = 1, .rows = n, .columns = n, .element_bytes = bytes, .transposed_stride = n * bytes},
          ElementsShape{.matrices = n, .rows = 7, .columns = 9, .element_bytes = bytes, .whole_rows = true},
          ReductionShape{.matrices = 1, .m = n, .k = 1, .element_bytes = bytes},
          ReductionShape{.matrices = 1, .m = 1, .k = n, .element_bytes = bytes},
          ReductionShape{.matrices = 3, .m = 5, .k = n, .element_bytes = bytes, .transposed = true},
          ReductionShape{.matrices = 1, .m = n, .k = 77, .element_bytes = bytes, .transposed = true, .most_step = 1},
          ScanShape{.n = n, .element_bytes = bytes},
          ScanShape{.n = n, .element_bytes = bytes, .work = 4, .most_block = 1024, .counters = 256},
          SparseShape{.rows = n, .nonzeros = 3 * n, .element_bytes = bytes},
          SparseShape{.rows = n, .nonzeros = 0, .element_bytes = bytes},
          FftShape{.transforms = n, .element_bytes = bytes},
          AttentionShape{.heads = 2, .queries = n, .keys = 100, .depth = few, .value_depth = 64, .element_bytes = bytes, .causal = true},
          AttentionShape{.heads = 2, .queries = 1, .keys = n, .depth = 256, .value_depth = 256, .element_bytes = bytes, .backward = true},
          DecodeShape{.sequences = n, .capacity = 1000, .page_size = 1000, .group = 4, .depth = 256, .element_bytes = bytes},
          DecodeShape{.sequences = 2, .capacity = n, .page_size = 16, .group = 80, .depth = 64, .element_bytes = bytes}};
}

TEST_CASE("model: the problems of these tests are of every kind") {
  std::set<std::size_t> kinds;
  for (const Problem& p : problems_of(100, 4)) kinds.insert(p.index());
  CHECK(kinds.size() == std::variant_size_v<Problem>);
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

TEST_CASE("model: a host reads large arrays row after row, and computes the largest of a row in few steps") {
  const Machine m = machine("cpu");
  const auto rows = ReductionShape{.matrices = 1, .m = 4096, .k = 1000, .element_bytes = 4};
  const Configuration of_rows = first(m, rows), of_few = first(m, TopKShape{.rows = 512, .n = 32768, .kept = 64, .element_bytes = 4});
  CHECK((of_rows.bm == 1 || of_rows.bk >= 1000));
  CHECK(of_few.bn >= 16384);
}

TEST_CASE("model: a host counts many elements for each time that it clears the counters") {
  const Machine m = machine("cpu"), gpu = machine("emulator:sm_80");
  for (const int counters : {64, 256, 4096}) {
    const ScanShape s{.n = 1 << 22, .element_bytes = 4, .work = 4, .most_block = 1024, .counters = counters};
    CHECK(first(m, s).bn >= 4 * std::min(counters, 4096));
    CHECK(first(gpu, s).bn <= 1024);
  }
}

TEST_CASE("model: a host keeps whole rows that it uses for many matrices in registers") {
  const Machine m = machine("cpu");
  for (const int heads : {8, 32}) {
    const ElementsShape s{
        .matrices = 1, .rows = 1000, .columns = 2 * m.target.lanes(), .element_bytes = 4, .work = 50 + 5 * heads, .whole_rows = true};
    CHECK(first(m, s).bm <= 2);
  }
}

TEST_CASE("model: a host computes few rows in tiles of few rows, where no tile register needs 16") {
  const Machine m = machine("cpu");
  const auto product = [](std::int64_t rows, int bytes) {
    return ProductShape{.batch = 1, .m = rows, .n = 1024, .k = 1024, .element_bytes = bytes};
  };
  for (const int rows : {2, 3, 4, 5, 8}) {
    CHECK(first(m, product(rows, 4)).bm == std::max(4, static_cast<int>(std::bit_ceil(static_cast<unsigned>(rows)))));
    for (const int bytes : {1, 2}) CHECK(first(m, product(rows, bytes)).bm == 16);
  }
}

TEST_CASE("model: a host's blocks of large products leave room in the second cache") {
  const Machine m = machine("cpu");
  for (const std::int64_t n : {1000, 1024, 2048}) {
    const Configuration c = first(m, ProductShape{.batch = 1, .m = n, .n = n, .k = n, .element_bytes = 4});
    CHECK(c.bm >= 64);
    CHECK(c.bm * c.bn >= 64 * 128);
    CHECK((512 + c.bm) * c.bn * 4 <= 512 << 10);
  }
}

TEST_CASE("model: candidates of GPUs fit in shared memory and registers") {
  const Machine m = machine("emulator:sm_75");
  for (const Configuration& c : candidates_of(m, ProductShape{.batch = 1, .m = 4096, .n = 4096, .k = 4096, .element_bytes = 2})) {
    CHECK((c.bm + c.bn) * c.bk * 2 * c.num_stages <= m.target.shared_bytes);
    CHECK(c.bm * c.bn / (32 * c.num_warps) <= 128);
  }
}

TEST_CASE("model: large products take large tiles, small ones keep all multiprocessors busy") {
  for (const char* name : {"emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    const Machine m = machine(name);
    const Configuration large = first(m, ProductShape{.batch = 1, .m = 8192, .n = 8192, .k = 8192, .element_bytes = 2, .can_split = true});
    CHECK(large.bm * large.bn >= 128 * 128);
    CHECK(large.splits == 1);
    const Configuration small = first(m, ProductShape{.batch = 1, .m = 256, .n = 256, .k = 256, .element_bytes = 2, .can_split = true});
    CHECK(small.bm * small.bn <= 64 * 64);
    CHECK(first(m, ProductShape{.batch = 1, .m = 64, .n = 64, .k = 65536, .element_bytes = 2, .can_split = true}).splits > 1);
  }
}

TEST_CASE("model: rows that go through registers cost time, and their loops load no more than registers hold") {
  for (const char* name : {"emulator:sm_75", "emulator:sm_80", "emulator:sm_90a"}) {
    CAPTURE(name);
    const Machine m = machine(name);
    const ProductShape whole{.batch = 1, .m = 1024, .n = 1024, .k = 1024, .element_bytes = 2, .can_split = true};
    ProductShape odd = whole;
    odd.a_alignment = odd.b_alignment = 2;
    const Configuration c = first(m, odd);
    CHECK(estimated_seconds(m, odd, c) > estimated_seconds(m, whole, first(m, whole)));
    CHECK((c.bm + c.bn) * c.bk <= 160 * 32 * c.num_warps);
  }
}

TEST_CASE("model: how many stages a loop has is a part of the choice where loads are asynchronous") {
  const Problem problems[] = {ProductShape{.batch = 1, .m = 2048, .n = 2048, .k = 2048, .element_bytes = 2},
                              AttentionShape{.heads = 8, .queries = 512, .keys = 512, .depth = 64, .value_depth = 64, .element_bytes = 2}};
  const auto stages = [&](const char* name, const Problem& p) {
    std::set<int> all;
    for (const Configuration& c : candidates_of(machine(name), p)) all.insert(c.num_stages);
    return all;
  };
  for (const Problem& p : problems) {
    CHECK(stages("cpu", p) == std::set{1});
    CHECK(stages("emulator:sm_75", p) == std::set{2});
    CHECK(stages("emulator:sm_80", p) == std::set{2, 3, 4});
    CHECK(stages("emulator:sm_90a", p) == std::set{2, 3, 4});
  }
}

TEST_CASE("model: a batch-invariant choice is the same for every number of rows") {
  for (const char* name : kDevices) {
    const Machine m = machine(name);
    for (const Problem& p :
         {Problem(ProductShape{.batch = 1, .m = 2, .n = 512, .k = 512, .element_bytes = 4, .can_split = true}),
          Problem(RowsShape{.rows = 2, .n = 1000, .element_bytes = 4, .passes = 2, .exponentials = 1, .once = true}),
          Problem(ReductionShape{.matrices = 1, .m = 2, .k = 1000, .element_bytes = 4}),
          Problem(AttentionShape{.heads = 2, .queries = 2, .keys = 300, .depth = 64, .value_depth = 64, .element_bytes = 4})}) {
      Problem more = p;
      std::visit(
          []<class S>(S& s) {
            if constexpr (std::is_same_v<S, ProductShape> || std::is_same_v<S, ReductionShape>) s.m = 4000;
            // For a transposed factor: its columns are contiguous, and their length is the number of rows.
            if constexpr (std::is_same_v<S, ProductShape>) s.a_alignment = 4;
            if constexpr (std::is_same_v<S, RowsShape>) s.rows = 4000;
            if constexpr (std::is_same_v<S, AttentionShape>) s.queries = 4000;
          },
          more);
      CHECK(tw::detail::text_of_constant(first(m, without_batch(p))) == tw::detail::text_of_constant(first(m, without_batch(more))));
    }
  }
}

TEST_CASE("model: rows of a batch have one key, other extents and the axis that is contiguous do not") {
  CHECK(key_of(ProductShape{.batch = 1, .m = 100, .n = 64, .k = 32, .element_bytes = 4}) ==
        key_of(ProductShape{.batch = 1, .m = 128, .n = 64, .k = 32, .element_bytes = 4}));
  CHECK(key_of(ProductShape{.batch = 1, .m = 100, .n = 64, .k = 32, .element_bytes = 4}) !=
        key_of(ProductShape{.batch = 1, .m = 100, .n = 65, .k = 32, .element_bytes = 4}));
  CHECK(key_of(ProductShape{.batch = 1, .m = 64, .n = 64, .k = 64, .element_bytes = 4}) !=
        key_of(ProductShape{.batch = 1, .m = 64, .n = 64, .k = 64, .element_bytes = 4, .b_alignment = 4}));
  CHECK(key_of(ProductShape{.batch = 1, .m = 1, .n = 64, .k = 64, .element_bytes = 4}) !=
        key_of(ProductShape{.batch = 1, .m = 1, .n = 64, .k = 64, .element_bytes = 4, .b_is_transposed = true}));
  CHECK(key_of(ReductionShape{.matrices = 1, .m = 64, .k = 64, .element_bytes = 4}) !=
        key_of(ReductionShape{.matrices = 1, .m = 64, .k = 64, .element_bytes = 4, .transposed = true}));
}

}  // namespace
