// The compiled specializations of a kernel in memory.
#include "runtime/kernel_cache.h"

#include <future>

namespace tilewright::detail {

void KernelKey::seal() {
  // Eight bytes a step; the multiplier is that of splitmix64.
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ bytes_.size();
  for (std::size_t at = 0; at < bytes_.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + at, std::min<std::size_t>(8, bytes_.size() - at));
    h = (h ^ word) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  hash_ = h;
}

bool KernelKey::operator==(const KernelKey& other) const {
  if (hash_ != other.hash_ || bytes_ != other.bytes_ || own_.size() != other.own_.size()) return false;
  for (std::size_t i = 0; i < own_.size(); ++i)
    if (!own_[i]->equals(*other.own_[i])) return false;
  return true;
}

}  // namespace tilewright::detail

namespace tilewright::rt {

struct KernelCache::Flight {
  std::promise<Value> promise;
  std::shared_future<Value> landed{promise.get_future()};
};

KernelCache::Value KernelCache::find(const Key& key) const {
  std::shared_lock lock(ready_mutex_);
  const auto it = ready_.find(key);
  return it == ready_.end() ? nullptr : it->second;
}

std::size_t KernelCache::size() const {
  std::shared_lock lock(ready_mutex_);
  return ready_.size();
}

KernelCache::Value KernelCache::get(const Key& key, const std::function<Value()>& make) {
  if (Value ready = find(key)) return ready;
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(flights_mutex_);
    // Again under the lock: the flight may have landed since the first look.
    if (Value ready = find(key)) return ready;
    std::shared_ptr<Flight>& there = flights_[key];
    if (there) {
      const std::shared_future<Value> landed = there->landed;
      lock.unlock();
      return landed.get();
    }
    flight = there = std::make_shared<Flight>();
  }
  Value made;
  std::exception_ptr error;
  try {
    made = make();
  } catch (...) {
    error = std::current_exception();
  }
  {
    std::lock_guard lock(flights_mutex_);
    if (!error) {
      std::lock_guard ready_lock(ready_mutex_);
      ready_.emplace(key, made);
    }
    flights_.erase(key);
  }
  if (error) {
    flight->promise.set_exception(error);
    std::rethrow_exception(error);
  }
  flight->promise.set_value(made);
  return made;
}

}  // namespace tilewright::rt
