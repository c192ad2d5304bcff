// The kernel cache: keys, and an entry that is made once although many threads ask for it.
#include "runtime/kernel_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "runtime/active_call.h"

using tilewright::detail::KernelKey;
using tilewright::rt::ActiveCall;
using tilewright::rt::Executable;
using tilewright::rt::KernelCache;

namespace {

KernelKey key(int value, int words = 1) {
  KernelKey k;
  for (int i = 0; i < words; ++i) k.add(value);
  return k;
}

struct Own {
  int value;
  bool operator==(const Own&) const = default;
};
KernelKey own_key(const Own& value, std::uint64_t hash) {
  KernelKey k;
  k.add_own(value, hash);
  return k;
}

/// Counts those that are loaded.
struct Counted : Executable {
  explicit Counted(std::atomic<int>& n) : count(n) { ++count; }
  ~Counted() override { --count; }
  std::atomic<int>& count;
};

/// Finds or makes an entry, in its own ActiveCall, as a launch does.
void use(KernelCache& cache, int value, std::atomic<int>& loaded) {
  const ActiveCall call(std::nothrow);
  if (!cache.find(key(value))) cache.get(key(value), [&] { return std::make_shared<const Counted>(loaded); });
}

}  // namespace

TEST_CASE("kernel_key: equal parts give equal keys, any other part another key") {
  CHECK(key(1) == key(1));
  CHECK(key(1).hash() == key(1).hash());
  CHECK_FALSE(key(1) == key(2));
  KernelKey longer = key(1);
  longer.add(0);
  CHECK_FALSE(longer == key(1));
  CHECK_FALSE(key(0, 1) == key(0, 2));
  CHECK_FALSE(key(0, 1).hash() == key(0, 2).hash());
}

TEST_CASE("kernel_key: as many words as there are") {
  for (int words : {0, 23, 24, 25, 1000}) {
    CHECK(key(5, words) == key(5, words));
    CHECK(key(5, words) == key(5, words).kept());
    CHECK_FALSE(key(5, words) == key(5, words + 1));
    KernelKey other = key(5, words), same = other;
    other.add(6), same.add(5);
    CHECK_FALSE(other == key(5, words + 1));
    CHECK(same == key(5, words + 1));
  }
}

TEST_CASE("kernel_key: own values are compared by their own ==, even where hashes agree") {
  const Own one{1}, again{1}, two{2};
  CHECK(own_key(one, 7) == own_key(again, 7));
  CHECK_FALSE(own_key(one, 7) == own_key(two, 7));
}

TEST_CASE("kernel_key: what is kept has own values of its own") {
  auto value = std::make_unique<Own>(Own{1});
  const KernelKey kept = own_key(*value, 7).kept();
  value->value = 2;
  CHECK_FALSE(kept == own_key(*value, 7));
  value.reset();
  CHECK(kept == own_key({1}, 7));
  CHECK(KernelKey(kept) == kept.kept());
}

TEST_CASE("kernel_cache: an entry is made once and found afterwards") {
  KernelCache cache(32);
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<const Executable>();
  };
  CHECK(cache.find(key(1)) == nullptr);
  const Executable* first = &cache.get(key(1), make);
  CHECK(&cache.get(key(1), make) == first);
  CHECK(cache.find(key(1)) == first);
  CHECK(&cache.get(key(2), make) != first);
  CHECK(made == 2);
  CHECK(cache.size() == 2);
}

TEST_CASE("kernel_cache: one thread makes while the others wait") {
  KernelCache cache(32);
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
        const ActiveCall call(std::nothrow);
        const Executable& value = cache.get(key((k + t) % 20), make);
        good += &value == cache.find(key((k + t) % 20));
      }
    });
  for (auto& t : threads) t.join();
  CHECK(made == 20);
  CHECK(good == 160);
}

TEST_CASE("kernel_cache: a failure reaches everyone who waited and is not remembered") {
  KernelCache cache(32);
  std::atomic<int> tried{0}, failed{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      try {
        const ActiveCall call(std::nothrow);
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
  const Executable& made = cache.get(key(1), [] { return std::make_shared<const Executable>(); });
  CHECK(cache.find(key(1)) == &made);
}

TEST_CASE("kernel_cache: threads find what others add meanwhile, and what they have found stays") {
  constexpr int kKeys = 2000;  // the table grows eight times
  KernelCache cache(kKeys);
  std::vector<std::atomic<const Executable*>> made(kKeys);
  std::atomic<int> wrong{0}, found{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&, t] {
      for (int k = t; !done; k = (k + 7) % kKeys) {
        const ActiveCall call(std::nothrow);
        const Executable* known = made[static_cast<std::size_t>(k)].load();
        const Executable* seen = cache.find(key(k));
        wrong += (known && seen != known);
        found += seen != nullptr;
      }
    });
  for (int k = 0; k < kKeys; ++k)
    made[static_cast<std::size_t>(k)] = &cache.get(key(k), [] { return std::make_shared<const Executable>(); });
  while (found == 0) std::this_thread::yield();
  done = true;
  for (auto& t : readers) t.join();
  CHECK(wrong == 0);
  CHECK(cache.size() == kKeys);
  int same = 0;
  for (int k = 0; k < kKeys; ++k) same += cache.find(key(k)) == made[static_cast<std::size_t>(k)].load();
  CHECK(same == kKeys);
  CHECK(cache.find(key(kKeys)) == nullptr);
}

TEST_CASE("kernel_cache: the least recently used entry makes room, and is unloaded") {
  std::atomic<int> loaded{0};
  KernelCache cache(3);
  for (int k : {1, 2, 3}) use(cache, k, loaded);
  use(cache, 1, loaded);
  use(cache, 4, loaded);
  CHECK(cache.find(key(2)) == nullptr);
  for (int k : {1, 3, 4}) CHECK(cache.find(key(k)) != nullptr);
  CHECK(cache.size() == 3);
  for (int k = 10; k < 1000; ++k) use(cache, k, loaded);
  CHECK(cache.size() == 3);
  CHECK(loaded <= 4);  // the last evicted entry is freed when the next entry is made
  for (int k : {997, 998, 999}) CHECK(cache.find(key(k)) != nullptr);
  use(cache, 1, loaded);
  CHECK(cache.find(key(1)) != nullptr);  // an evicted entry is made again
}

TEST_CASE("kernel_cache: a smaller capacity evicts at once, a larger one lets more in") {
  std::atomic<int> loaded{0};
  KernelCache cache(8);
  for (int k = 0; k < 8; ++k) use(cache, k, loaded);
  for (int k : {2, 5}) use(cache, k, loaded);
  cache.set_capacity(2);
  CHECK(cache.size() == 2);
  CHECK(loaded == 2);
  for (int k : {2, 5}) CHECK(cache.find(key(k)) != nullptr);
  cache.set_capacity(100);
  for (int k = 0; k < 80; ++k) use(cache, k, loaded);
  CHECK(cache.size() == 80);
  for (int k = 0; k < 80; ++k) CHECK(cache.find(key(k)) != nullptr);
}

TEST_CASE("kernel_cache: an evicted entry stays until the calls that found it have ended") {
  std::atomic<int> loaded{0};
  std::atomic<bool> found{false}, go{false};
  KernelCache cache(1);
  use(cache, 1, loaded);
  std::thread launch([&] {
    const ActiveCall call(std::nothrow);
    const auto* executable = static_cast<const Counted*>(cache.find(key(1)));
    found = true;
    while (!go) std::this_thread::yield();
    CHECK(executable->count >= 2);
  });
  while (!found) std::this_thread::yield();
  for (int k = 2; k < 20; ++k) use(cache, k, loaded);
  CHECK(cache.size() == 1);
  CHECK(loaded == 19);  // later ones wait for the same call: which of them it found is not known
  go = true;
  launch.join();
  use(cache, 20, loaded);
  CHECK(loaded == 2);
  cache.set_capacity(1);
  CHECK(loaded == 1);
}

TEST_CASE("kernel_cache: threads use entries while others evict them") {
  constexpr int kKeys = 24;
  std::atomic<int> loaded{0}, wrong{0};
  {
    KernelCache cache(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 4000; ++i) {
          const int k = (i * (t + 1) + i / 7) % kKeys;
          const ActiveCall call(std::nothrow);
          const Executable* e = cache.find(key(k));
          if (!e) e = &cache.get(key(k), [&] { return std::make_shared<const Counted>(loaded); });
          wrong += &static_cast<const Counted*>(e)->count != &loaded;  // freed memory would not hold this value
        }
      });
    for (auto& t : threads) t.join();
    CHECK(cache.size() == 4);
  }
  CHECK(wrong == 0);
  CHECK(loaded == 0);
}
