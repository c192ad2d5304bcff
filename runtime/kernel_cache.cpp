// The compiled specializations of a kernel in memory.
#include "runtime/kernel_cache.h"

#include <algorithm>
#include <future>

namespace tilewright::detail {

KernelKey KernelKey::kept() const {
  KernelKey key = *this;
  for (Own& own : key.own_) {
    key.kept_.push_back(own.type->copy(own.value));
    own.value = key.kept_.back().get();
  }
  return key;
}

bool KernelKey::operator==(const KernelKey& other) const {
  return hash_ == other.hash_ && std::equal(words_.begin(), words_.end(), other.words_.begin(), other.words_.end()) &&
         std::equal(own_.begin(), own_.end(), other.own_.begin(), other.own_.end(),
                    [](const Own& a, const Own& b) { return a.type->equal(a.value, b.value); });
}

}  // namespace tilewright::detail

namespace tilewright::rt {

struct KernelCache::Entry {
  Key key;
  Value value;
};

// A slot is filled once and never emptied, and some stay empty: a search ends at the first of these.
struct KernelCache::Table {
  explicit Table(std::size_t count) : slots(count) {}

  const Entry* find(const Key& key) const noexcept {
    for (std::size_t i = key.hash();; ++i) {
      const Entry* entry = slots[i & (slots.size() - 1)].load(std::memory_order_acquire);
      if (!entry || entry->key == key) return entry;
    }
  }
  void add(const Entry& entry) {
    std::size_t i = entry.key.hash();
    while (slots[i & (slots.size() - 1)].load(std::memory_order_relaxed)) ++i;
    slots[i & (slots.size() - 1)].store(&entry, std::memory_order_release);
  }

  std::vector<std::atomic<const Entry*>> slots;  // as many as a power of two
};

struct KernelCache::Flight {
  std::promise<const Executable*> promise;
  std::shared_future<const Executable*> landed{promise.get_future()};
};

KernelCache::KernelCache() {
  constexpr std::size_t kFirstSlots = 8;
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

KernelCache::~KernelCache() = default;

const Executable* KernelCache::find(const Key& key) const noexcept {
  const Entry* entry = table_.load(std::memory_order_acquire)->find(key);
  return entry ? entry->value.get() : nullptr;
}

std::size_t KernelCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

// Requires: the lock.
const Executable& KernelCache::add(const Key& key, Value value) {
  entries_.push_back(std::make_unique<const Entry>(Entry{key.kept(), std::move(value)}));
  const Entry& entry = *entries_.back();
  if (2 * entries_.size() <= tables_.back()->slots.size()) {
    tables_.back()->add(entry);
    return *entry.value;
  }
  tables_.push_back(std::make_unique<Table>(2 * tables_.back()->slots.size()));
  for (const auto& e : entries_) tables_.back()->add(*e);
  table_.store(tables_.back().get(), std::memory_order_release);
  return *entry.value;
}

const Executable& KernelCache::get(const Key& key, const std::function<Value()>& make) {
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    // Under the lock: the flight may have landed since the first look.
    if (const Executable* ready = find(key)) return *ready;
    std::shared_ptr<Flight>& there = flights_[key.kept()];
    if (there) {
      const auto landed = there->landed;
      lock.unlock();
      return *landed.get();
    }
    flight = there = std::make_shared<Flight>();
  }
  const Executable* made = nullptr;
  std::exception_ptr error;
  try {
    Value value = make();
    std::lock_guard lock(mutex_);
    made = &add(key, std::move(value));
    flights_.erase(key);
  } catch (...) {
    error = std::current_exception();
    std::lock_guard lock(mutex_);
    flights_.erase(key);
  }
  if (error) {
    flight->promise.set_exception(error);
    std::rethrow_exception(error);
  }
  flight->promise.set_value(made);
  return *made;
}

}  // namespace tilewright::rt
