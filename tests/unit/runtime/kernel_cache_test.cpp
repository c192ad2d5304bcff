// Keys, and an entry made once however many threads want it.
#include "runtime/kernel_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

using tilewright::detail::KernelKey;
using tilewright::detail::OwnValue;
using tilewright::rt::Executable;
using tilewright::rt::KernelCache;

namespace {

KernelKey key(int value) {
  KernelKey k;
  k.add(value);
  k.seal();
  return k;
}

struct Own : OwnValue {
  explicit Own(int v) : value(v) {}
  bool equals(const OwnValue& other) const override { return value == static_cast<const Own&>(other).value; }
  int value;
};
KernelKey own_key(int value, std::uint64_t hash) {
  KernelKey k;
  k.add_own(std::make_shared<Own>(value), hash);
  k.seal();
  return k;
}

}  // namespace

TEST_CASE("kernel_key: equal parts give equal keys, any other part another key") {
  CHECK(key(1) == key(1));
  CHECK(key(1).hash() == key(1).hash());
  CHECK_FALSE(key(1) == key(2));
  KernelKey longer = key(1);
  longer.add(0);
  longer.seal();
  CHECK_FALSE(longer == key(1));
}

TEST_CASE("kernel_key: own values are compared by their own ==, even where hashes agree") {
  CHECK(own_key(1, 7) == own_key(1, 7));
  CHECK_FALSE(own_key(1, 7) == own_key(2, 7));
}

TEST_CASE("kernel_cache: an entry is made once and found afterwards") {
  KernelCache cache;
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<const Executable>();
  };
  CHECK(cache.find(key(1)) == nullptr);
  const auto first = cache.get(key(1), make);
  CHECK(cache.get(key(1), make) == first);
  CHECK(cache.find(key(1)) == first);
  CHECK(cache.get(key(2), make) != first);
  CHECK(made == 2);
  CHECK(cache.size() == 2);
}

TEST_CASE("kernel_cache: one thread makes while the others wait") {
  KernelCache cache;
  std::atomic<int> made{0}, good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) {
        const auto make = [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          return std::make_shared<const Executable>();
        };
        const auto value = cache.get(key((k + t) % 20), make);
        good += value && value == cache.find(key((k + t) % 20));
      }
    });
  for (auto& t : threads) t.join();
  CHECK(made == 20);
  CHECK(good == 160);
}

TEST_CASE("kernel_cache: a failure reaches everyone who waited and is not remembered") {
  KernelCache cache;
  std::atomic<int> tried{0}, failed{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      try {
        cache.get(key(1), [&]() -> KernelCache::Value {
          ++tried;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw std::runtime_error("does not compile");
        });
      } catch (const std::runtime_error& e) {
        failed += std::string(e.what()) == "does not compile";
      }
    });
  go = true;
  for (auto& t : threads) t.join();
  CHECK(failed == 4);
  CHECK(tried >= 1);
  CHECK(cache.size() == 0);
  CHECK(cache.get(key(1), [] { return std::make_shared<const Executable>(); }) != nullptr);
}
