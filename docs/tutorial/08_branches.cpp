// Step 8 of the tutorial: branches and loops on values that only the run knows.
#include <tilewright/tilewright.h>

#include <cstdio>
#include <vector>

namespace tw = tilewright;

// [when]
// Rows whose flag is 0 stay as they are, the others change in place: doubled if their sum is positive, else negated.
void by_row(tw::Ptr<const int> flags, tw::Ptr<float> rows, int N) {
  auto row = tw::program_id(0);
  auto at = row * N + tw::arange(0, N);
  tw::when(tw::load(flags + row) != 0, [&] {
    auto x = tw::load(rows + at);
    auto total = tw::sum(x, 0);
    tw::when(total > 0, [&] { x = x * 2; }, [&] { x = -x; });
    tw::store(rows + at, x);
  });
}
// [/when]

// [while]
// How many steps each number takes to 1: halve what is even, else 3 n + 1. The loop goes on while any lane does.
void collatz(tw::Ptr<const std::int64_t> in, tw::Ptr<int> out, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto n = tw::load(in + at);
  auto steps = tw::zeros<int>({BLOCK});
  tw::loop_while([&] { return tw::any(n != 1); },
                 [&] {
                   steps += (n != 1).to<int>();
                   n = tw::where(n == 1, 1, tw::where(n % 2 == 0, n / 2, 3 * n + 1));
                 });
  tw::store(out + at, steps);
}
// [/while]

int main() {
  tw::Device device = tw::Device::open();
  auto flags = device.upload(std::vector<int>{0, 1, 1});
  auto rows = device.upload(std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, -3, -3, -3, 3});
  tw::Kernel("by_row", by_row)({.grid = 3}, flags, rows, 4);
  const auto changed = rows.download();
  std::printf("first of each row: %g %g %g\n", changed[0], changed[4], changed[8]);

  std::vector<std::int64_t> numbers(256);
  for (int k = 0; k < 256; ++k) numbers[k] = k + 1;
  auto in = device.upload(numbers);
  auto out = device.allocate<int>(256);
  tw::Kernel("collatz", collatz)({.grid = 4}, in, out, 64);
  const auto steps = out.download();
  std::printf("27 takes %d steps\n", steps[26]);

  for (int k = 0; k < 256; ++k) {
    int want = 0;
    for (std::int64_t n = k + 1; n != 1; ++want) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    if (steps[k] != want) return 1;
  }
  return changed == std::vector<float>{1, 1, 1, 1, 4, 4, 4, 4, 3, 3, 3, -3} ? 0 : 1;
}
