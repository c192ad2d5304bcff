// A lock-free hash table of a kernel's compiled specializations, with LRU eviction; each entry is created by one thread only.
#include "runtime/kernel_cache.h"

#include <algorithm>
#include <future>
#include <iterator>

#include "runtime/active_call.h"

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
  mutable std::atomic<std::uint64_t> used;  // KernelCache::made_ when the entry was made; 1 more than made_ when it was last found
};

// A slot is filled once and never emptied. Some slots always stay empty, so that every search ends.
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

  std::vector<std::atomic<const Entry*>> slots;  // their number is a power of two
};

struct KernelCache::InFlight {
  std::promise<const Executable*> promise;
  std::shared_future<const Executable*> result{promise.get_future()};
};

struct KernelCache::Retired {
  std::uint64_t epoch;
  std::unique_ptr<const Table> table;
  std::vector<std::unique_ptr<const Entry>> entries;
};

KernelCache::KernelCache(std::size_t capacity) : capacity_(capacity) {
  constexpr std::size_t kFirstSlots = 8;
  newest_ = std::make_unique<Table>(kFirstSlots);
  table_.store(newest_.get());
}

KernelCache::~KernelCache() = default;

const Executable* KernelCache::find(const Key& key) const noexcept {
  const Entry* entry = table_.load()->find(key);  // sequentially consistent: see ActiveCall
  if (!entry) return nullptr;
  const std::uint64_t now = made_.load(std::memory_order_relaxed) + 1;
  if (entry->used.load(std::memory_order_relaxed) != now) entry->used.store(now, std::memory_order_relaxed);
  return entry->value.get();
}

std::size_t KernelCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

void KernelCache::set_capacity(std::size_t capacity) {
  std::vector<Retired> unused;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  capacity_ = capacity;
  if (entries_.size() > capacity) evict(entries_.size() - capacity);
  unused = take_unused();
}

// Replaces the table by one with these entries. Requires: the lock is held.
void KernelCache::publish(std::unique_ptr<Table> table) {
  for (const auto& e : entries_) table->add(*e);
  table_.store(table.get());
  newest_.swap(table);
  retired_.push_back({next_epoch(), std::move(table), {}});
}

// Requires: the lock is held, and there are at least `count` entries.
void KernelCache::evict(std::size_t count) {
  // Copies are sorted, since launches may change `used` at the same time.
  std::vector<std::pair<std::uint64_t, std::size_t>> by_use;
  for (std::size_t i = 0; i < entries_.size(); ++i) by_use.emplace_back(entries_[i]->used.load(std::memory_order_relaxed), i);
  std::partial_sort(by_use.begin(), by_use.begin() + static_cast<std::ptrdiff_t>(count), by_use.end());
  std::vector<std::unique_ptr<const Entry>> evicted;
  for (std::size_t k = 0; k < count; ++k) evicted.push_back(std::move(entries_[by_use[k].second]));
  std::erase(entries_, nullptr);
  publish(std::make_unique<Table>(newest_->slots.size()));
  retired_.back().entries = std::move(evicted);
}

// The retired entries that no call uses any more. Requires: the lock is held. The caller destroys them without the lock, since unloading
// may be slow.
std::vector<KernelCache::Retired> KernelCache::take_unused() {
  std::vector<Retired> unused;
  if (retired_.empty()) return unused;
  const std::uint64_t oldest = oldest_epoch();
  const auto kept = std::partition(retired_.begin(), retired_.end(), [&](const Retired& r) { return r.epoch > oldest; });
  std::move(kept, retired_.end(), std::back_inserter(unused));
  retired_.erase(kept, retired_.end());
  return unused;
}

// Requires: the lock is held.
const Executable& KernelCache::add(const Key& key, Value value) {
  if (entries_.size() >= capacity_) evict(entries_.size() - capacity_ + 1);
  const std::uint64_t now = made_.fetch_add(2, std::memory_order_relaxed) + 2;
  entries_.push_back(std::unique_ptr<const Entry>(new Entry{key.kept(), std::move(value), now}));
  const Entry& entry = *entries_.back();
  if (2 * entries_.size() <= newest_->slots.size())
    newest_->add(entry);
  else
    publish(std::make_unique<Table>(2 * newest_->slots.size()));
  return *entry.value;
}

const Executable& KernelCache::get(const Key& key, const std::function<Value()>& make) {
  std::shared_ptr<InFlight> creation;
  std::vector<Retired> unused;
  {
    std::unique_lock lock(mutex_);
    // Look it up again under the lock: another thread may have finished the entry since the first lookup.
    if (const Executable* ready = find(key)) return *ready;
    std::shared_ptr<InFlight>& pending = in_flight_[key.kept()];
    if (pending) {
      const auto result = pending->result;
      lock.unlock();
      return *result.get();
    }
    creation = pending = std::make_shared<InFlight>();
    unused = take_unused();
  }
  unused.clear();
  const Executable* made = nullptr;
  std::exception_ptr error;
  try {
    Value value = make();
    std::lock_guard lock(mutex_);
    made = &add(key, std::move(value));
    in_flight_.erase(key);
  } catch (...) {
    error = std::current_exception();
    std::lock_guard lock(mutex_);
    in_flight_.erase(key);
  }
  if (error) {
    creation->promise.set_exception(error);
    std::rethrow_exception(error);
  }
  creation->promise.set_value(made);
  return *made;
}

}  // namespace tilewright::rt
