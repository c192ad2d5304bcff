// Step 9 of the tutorial: scans, sorts and atomics.
#include <tilewright/tilewright.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [compact]
// Moves the positive numbers of `in` to the front of `out` and counts them. Within a block their order stays.
void keep_positive(tw::Ptr<const int> in, tw::Ptr<int> out, tw::Ptr<int> count, tw::I32 n, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto x = tw::load(in + at, at < n);
  auto kept = (x > 0).to<int>();
  auto position = tw::cumsum(kept, 0) - kept;            // how many were kept before this one
  auto start = tw::atomic_add(count, tw::sum(kept, 0));  // reserves room for all of this program
  tw::store(out + (start + position), x, x > 0);
}
// [/compact]

// [topk]
// The four largest numbers of each row and where they stand.
void largest(tw::Ptr<const int> in, tw::Ptr<int> values, tw::Ptr<int> positions, int COLUMNS) {
  auto row = tw::program_id(0);
  auto [value, position] = tw::topk(tw::load(in + row * COLUMNS + tw::arange(0, COLUMNS)), 4);
  auto at = row * 4 + tw::arange(0, 4);
  tw::store(values + at, value);
  tw::store(positions + at, position);
}
// [/topk]

// [histogram]
// How often each last digit occurs: counted in the program first, so that few atomics meet.
void last_digits(tw::Ptr<const int> in, tw::Ptr<int> counts, tw::I32 n, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto digit = tw::load(in + at, at < n) % 10;
  auto bins = tw::histogram(digit, 16, at < n && digit >= 0);
  tw::atomic_add(counts + tw::arange(0, 16), bins, bins > 0);
}
// [/histogram]

int main() {
  const int rows = 10, columns = 1024, n = rows * columns;
  std::vector<int> host(n);
  for (int k = 0; k < n; ++k) host[k] = (k * 7919 + 4711) % 10007 - 5000;

  tw::Device device = tw::Device::open();
  auto in = device.upload(host);
  auto out = device.allocate<int>(n), values = device.allocate<int>(rows * 4), positions = device.allocate<int>(rows * 4);
  auto count = device.upload(std::vector<int>(1)), counts = device.upload(std::vector<int>(16));
  tw::Kernel("keep_positive", keep_positive)({.grid = tw::cdiv(n, 512)}, in, out, count, n, 512);
  tw::Kernel("largest", largest)({.grid = rows}, in, values, positions, columns);
  tw::Kernel("last_digits", last_digits)({.grid = tw::cdiv(n, 2048)}, in, counts, n, 2048);

  auto kept = out.download();
  kept.resize(count.download()[0]);
  const auto top = values.download(), where = positions.download(), digits = counts.download();
  std::printf("%zu of %d are positive; the largest of row 0 is %d at %d; %d end in 7\n", kept.size(), n, top[0], where[0], digits[7]);

  std::vector<int> positive;
  std::copy_if(host.begin(), host.end(), std::back_inserter(positive), [](int v) { return v > 0; });
  std::sort(positive.begin(), positive.end());
  std::sort(kept.begin(), kept.end());  // programs ran in any order
  bool right = kept == positive;
  for (int r = 0; r < rows; ++r) {
    std::vector<int> row(host.begin() + r * columns, host.begin() + (r + 1) * columns);
    for (int k = 0; k < 4; ++k) right = right && row[where[r * 4 + k]] == top[r * 4 + k];
    std::sort(row.rbegin(), row.rend());
    right = right && std::equal(row.begin(), row.begin() + 4, top.begin() + r * 4);
  }
  for (int d = 0; d < 10; ++d) right = right && digits[d] == std::count_if(host.begin(), host.end(), [&](int v) { return v % 10 == d; });
  return right ? 0 : 1;
}
