// Groups by key against plain C++: lengths, types, order of values, few and many groups, mistakes.
#include <limits>
#include <map>
#include <random>

#include "tests/kernels/mistakes.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

std::vector<std::int64_t> lengths_to_group(const tw::Device& device) {
  if (is_gpu(device)) return {0, 1, 7, 1023, 1025, 9001};
  return {0, 1, 2, 31, 997, 4095, 4096, 4097, 100003};
}

template <class K>
void check_groups(tw::Device& device, std::int64_t n, std::int64_t different) {
  INFO("n = ", n, ", at most ", different, " groups, keys of ", sizeof(K), " bytes");
  std::mt19937_64 engine(static_cast<unsigned>(n + different));
  std::vector<K> keys(static_cast<std::size_t>(n));
  std::vector<std::int64_t> values(keys.size());
  for (K& k : keys) k = static_cast<K>(static_cast<int>(engine() % static_cast<std::uint64_t>(different)) - 3);
  for (std::int64_t& v : values) v = static_cast<std::int64_t>(engine() % 1000);
  std::map<K, std::int64_t> sums, lasts;
  for (std::size_t i = 0; i < keys.size(); ++i) sums[keys[i]] += values[i], lasts[keys[i]] = values[i];
  const auto of_keys = device.upload(keys);
  const auto of_values = device.upload(values);
  const auto added = kernels::group_by(of_keys, of_values, [](auto a, auto b) { return a + b; });
  // Associative, but not commutative: the last one shows the order.
  const auto last = kernels::group_by(of_keys, of_values, [](auto a, auto b) { return tw::where(a == a, b, a); });
  REQUIRE(added.count() == static_cast<std::int64_t>(sums.size()));
  REQUIRE(last.count() == added.count());
  if (n == 0) return;
  std::vector<K> want_keys;
  std::vector<std::int64_t> want, want_last;
  for (const auto& [key, sum] : sums) want_keys.push_back(key), want.push_back(sum), want_last.push_back(lasts[key]);
  CHECK(added.keys.download() == want_keys);
  CHECK(last.keys.download() == want_keys);
  CHECK(added.values.download() == want);
  CHECK(last.values.download() == want_last);
}

}  // namespace

TEST_CASE("group_by: lengths, few and many groups") {
  on_every_device([](tw::Device& device) {
    for (std::int64_t n : lengths_to_group(device)) {
      check_groups<std::int32_t>(device, n, 5);
      check_groups<std::int32_t>(device, n, std::max<std::int64_t>(n, 4) * 2);
      check_groups<std::int16_t>(device, n, 1);
    }
    check_groups<std::int64_t>(device, 2000, 300);
    check_groups<float>(device, 2000, 300);
  });
}

TEST_CASE("group_by: the extremes of integers as keys") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class K>(std::type_identity<K>, K first) {
      const auto keys = device.upload(std::vector<K>{first, static_cast<K>(first + 2), first, static_cast<K>(first + 2), first});
      const auto values = device.upload(std::vector<float>{1, 2, 3, 4, 5});
      const auto [unique, sums] = kernels::group_by(keys, values, [](auto a, auto b) { return a + b; });
      CHECK(unique.download() == std::vector<K>{first, static_cast<K>(first + 2)});
      CHECK(sums.download() == std::vector<float>{9, 6});
    };
    using Signed = std::numeric_limits<std::int64_t>;
    using Unsigned = std::numeric_limits<std::uint64_t>;
    check(std::type_identity<std::int64_t>(), Signed::min());
    check(std::type_identity<std::int64_t>(), Signed::max() - 2);
    check(std::type_identity<std::uint64_t>(), Unsigned::max() - 2);
    check(std::type_identity<std::uint8_t>(), std::uint8_t{253});
    const auto far = device.upload(std::vector<std::int64_t>{Signed::max(), Signed::min(), Signed::max()});
    CHECK(kernels::group_by(far, far, [](auto a, auto b) { return tw::where(a == a, b, a); }).values.download() ==
          std::vector<std::int64_t>{Signed::min(), Signed::max()});
  });
}

TEST_CASE("group_by: sums of 16-bit floats are of floats, strided views, NaN is one key") {
  on_every_device([](tw::Device& device) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto keys = device.upload(std::vector<float>{2, 9, nan, 9, -0.0f, 9, 2, 9, 0.0f, 9, nan, 9});
    const auto values = device.upload(std::vector<tw::f16>(12, tw::f16(1 / 3.0f)));
    const auto [unique, sums] =
        kernels::group_by(tw::view(keys, {6}, {2}), tw::view(values, {6}, {2}), [](tw::F32 a, tw::F32 b) { return a + b; });
    const auto got = unique.download();
    REQUIRE(got.size() == 3);
    CHECK(got[0] == 0);
    CHECK(got[1] == 2);
    CHECK(got[2] != got[2]);
    for (tw::f16 s : sums.download()) CHECK(float(s) == float(tw::f16(float(tw::f16(1 / 3.0f)) * 2)));
  });
}

TEST_CASE("group_by: mistakes") {
  tw::Device device = tw::Device::open("cpu"), second = tw::Device::open("emulator:sm_80");
  auto keys = device.allocate<int>(10), few = device.allocate<int>(9), far = second.allocate<int>(10);
  const auto add = [](auto a, auto b) { return a + b; };
  CHECK_MISTAKE("group_by: 'values' is [9]; the extent of its axis 0 must be N = 10 of 'keys', which is [10]",
                kernels::group_by(keys, few, add));
  CHECK_MISTAKE("group_by: 'values' is on device 'emulator:sm_80', but 'keys' is on device 'cpu'", kernels::group_by(keys, far, add));
}
