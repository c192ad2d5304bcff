// Sparse matrices times vectors: rows of all lengths, forms of row ends, types, strides, columns that are out of range.
#include <algorithm>
#include <numeric>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// Whether row_ends has the begin of the first row in front.
enum class Form { ends, starts };

template <class T, class Y, class I = std::int32_t, class J = std::int32_t>
void check_spmv(tw::Device& device, const std::vector<std::int64_t>& lengths, std::int64_t column_count, Form form, Placement placement,
                const kernels::Options& options = {}) {
  const std::int64_t rows = static_cast<std::int64_t>(lengths.size()), count = std::accumulate(lengths.begin(), lengths.end(), 0L);
  INFO(rows, " rows, ", count, " nonzeros, ", column_count, " columns");
  std::vector<I> ends;
  if (form == Form::starts) ends.push_back(0);
  I end = 0;
  for (std::int64_t length : lengths) ends.push_back(end += static_cast<I>(length));
  std::mt19937 engine(7);
  std::vector<J> column(static_cast<std::size_t>(count));
  for (J& c : column) c = static_cast<J>(static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(column_count + 2)) - 1);
  const auto row_ends = device.upload(ends);
  const auto columns = device.upload(column);
  Array<T, 1> values(device, {count}, 1, placement), x(device, {column_count}, 2, placement);
  Array<Y, 1> y(device, {rows}, 3, placement);
  kernels::spmv(row_ends, columns, values.view(), x.view(), y.view(), options);
  const auto vs = values.values(), xs = x.values();
  std::vector<double> want;
  std::size_t k = 0;
  for (std::int64_t length : lengths) {
    want.push_back(0);
    for (std::int64_t i = 0; i < length; ++i, ++k)
      if (column[k] >= 0 && column[k] < column_count) want.back() += vs[k] * xs[static_cast<std::size_t>(column[k])];
  }
  CHECK(error(y.values(), want) <= epsilon<Y>());
  CHECK(y.gaps_untouched());
}

std::vector<std::int64_t> random_lengths(std::size_t rows, std::int64_t most, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::int64_t> lengths(rows);
  for (auto& l : lengths) l = static_cast<std::int64_t>(engine() % static_cast<unsigned>(most + 1));
  return lengths;
}

}  // namespace

TEST_CASE("spmv: rows of like lengths, both forms of row ends, types and strides") {
  on_every_device([](tw::Device& device) {
    check_spmv<float, float>(device, {1}, 1, Form::ends, Placement::dense);
    check_spmv<float, float>(device, {0}, 5, Form::ends, Placement::dense);
    check_spmv<float, float>(device, {0, 0, 0}, 5, Form::starts, Placement::dense);
    check_spmv<float, float>(device, random_lengths(331, 9, 1), 100, Form::starts, Placement::dense);
    check_spmv<double, double, std::int64_t, std::int64_t>(device, random_lengths(65, 40, 2), 64, Form::ends, Placement::padded);
    check_spmv<tw::f16, float, std::int64_t>(device, random_lengths(63, 5, 3), 50, Form::starts, Placement::padded);
    check_spmv<tw::bf16, tw::bf16>(device, random_lengths(128, 3, 4), 1000, Form::ends, Placement::dense);
    check_spmv<float, float>(device, random_lengths(7, 700, 5), 1000, Form::ends, Placement::dense);
  });
}

TEST_CASE("spmv: rows of very different lengths") {
  on_every_device([](tw::Device& device) {
    // Rows that begin and end inside of chunks, at their borders, and go over several of them: a chunk is 16 times bn.
    for (int bn : {16, 64}) {
      const kernels::Options options{.configuration = kernels::Configuration{.bm = 8, .bn = bn, .bk = 4}};
      auto lengths = random_lengths(200, 6, 6);
      lengths[3] = 1000, lengths[4] = 5000, lengths[70] = 257, lengths[71] = 256, lengths[199] = 3333;
      check_spmv<float, float>(device, lengths, 300, Form::ends, Placement::dense, options);
      check_spmv<double, double>(device, {1024, 1024, 0, 1024, 1025, 0, 0, 1, 4096, 1}, 77, Form::starts, Placement::padded, options);
    }
    check_spmv<float, float>(device, {70000}, 300, Form::ends, Placement::dense);
    check_spmv<float, float>(device, {3, 70001, 5, 0, 200}, 300, Form::ends, Placement::dense);
    check_spmv<float, float>(device, {3, 70001, 5, 0, 200}, 300, Form::ends, Placement::dense, {.batch_invariant = true});
  });
}

TEST_CASE("spmv: row ends that make no sense read no memory outside") {
  on_every_device([](tw::Device& device) {
    const auto row_ends = device.upload(std::vector<std::int64_t>{5, -3, std::int64_t{1} << 40, 2});
    const auto columns = device.upload(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    const auto ones = device.upload(std::vector<float>(8, 1));
    auto y = device.upload(std::vector<float>(4, -1));
    kernels::spmv(row_ends, columns, ones, ones, y);
    CHECK(y.download() == std::vector<float>{5, 0, 8, 0});
  });
}

TEST_CASE("spmv: mistakes") {
  tw::Device device = tw::Device::open("cpu");
  const auto ends = device.upload(std::vector<int>(4)), columns = device.upload(std::vector<int>(9));
  const auto values = device.upload(std::vector<float>(9));
  auto x = device.allocate<float>(5), y = device.allocate<float>(4), longer = device.allocate<float>(6);
  // clang-format off
  CHECK_MISTAKE("error: spmv: 'row_ends' is [4]; the extent of its axis 0 must be rows = 6 of 'y', which is [6]", kernels::spmv(ends, columns, values, x, longer));
  CHECK_MISTAKE("spmv: 'columns' is [4]; the extent of its axis 0 must be nonzeros = 9 of 'values', which is [9]", kernels::spmv(ends, ends, values, x, y));
  CHECK_MISTAKE("spmv: 'y', a result, shares memory with 'x'", kernels::spmv(ends, columns, values, y, y));
  // clang-format on
}
