// Opens the disk cache of compiled kernels that the environment specifies.
#include "runtime/disk_cache/code_cache.h"

#include <mutex>

#include "backend/kernel_serialization.h"
#include "runtime/environment.h"
#include "runtime/log.h"
#include "tilewright/cache.h"

namespace tilewright::rt {

namespace {

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;

std::uint64_t limit_of(const std::string& text) {
  if (text.empty()) return kDefaultLimit;
  const auto bytes = parse_bytes(text);
  if (!bytes) log(LogLevel::warning, environment_cache_limit_mistake());
  return bytes.value_or(kDefaultLimit);
}

/// The cache, and the environment values for which it was opened.
struct Opened {
  std::mutex mutex;
  bool any = false;
  std::string folder, limit;
  std::shared_ptr<DiskCache> cache;
};

}  // namespace

std::shared_ptr<DiskCache> code_cache() {
  static Opened* const opened = new Opened;  // never destroyed: kernels may be compiled while static objects are destroyed
  std::string folder = environment_cache(), limit = environment_cache_limit();
  std::lock_guard lock(opened->mutex);
  if (opened->any && opened->folder == folder && opened->limit == limit) return opened->cache;
  const std::uint64_t limit_bytes = folder.empty() ? 0 : limit_of(limit);
  opened->cache = limit_bytes == 0 ? nullptr : DiskCache::open(folder, limit_bytes);
  opened->folder = std::move(folder);
  opened->limit = std::move(limit);
  opened->any = true;
  return opened->cache;
}

std::optional<backend::CompiledKernel> load_kernel(DiskCache& cache, std::span<const std::byte> key) {
  const auto content = cache.load(key);
  if (!content) return std::nullopt;
  auto kernel = backend::deserialize(*content);
  if (!kernel) cache.reject(key, "it holds no kernel");
  return kernel;
}

void store_kernel(DiskCache& cache, std::span<const std::byte> key, const backend::CompiledKernel& kernel) {
  cache.store(key, backend::serialize(kernel));
}

}  // namespace tilewright::rt

namespace tilewright {

CacheStatistics cache_statistics() {
  CacheStatistics s;
  const std::shared_ptr<rt::DiskCache> cache = rt::code_cache();
  if (!cache) return s;
  const rt::DiskCache::Counters& c = cache->counters();
  const rt::DiskCache::Usage usage = cache->usage();
  s.folder = cache->folder();
  s.hits = c.hits;
  s.misses = c.misses;
  s.stores = c.stores;
  s.rejected = c.rejected;
  s.evicted = c.evicted;
  s.entries = usage.entries;
  s.bytes = usage.bytes;
  s.limit_bytes = cache->limit_bytes();
  return s;
}

}  // namespace tilewright
