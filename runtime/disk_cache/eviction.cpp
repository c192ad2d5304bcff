// Counts the bytes of the disk cache and removes the least recently used entries.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <tuple>

#include "runtime/disk_cache/disk_cache.h"
#include "runtime/disk_cache/entry.h"
#include "runtime/disk_cache/names.h"

namespace tilewright::rt {

namespace {

/// A writer takes milliseconds; an older temporary file was left by a killed process.
constexpr std::int64_t kOldestTemporary = 60;  // seconds

}  // namespace

struct DiskCache::Found {
  std::string name;
  std::uint64_t blocks;
  std::int64_t seconds, nanoseconds;  // time of its last use
  bool is_temporary;
};

std::vector<DiskCache::Found> DiskCache::scan() const {
  std::vector<Found> found;
  // Opened by name and not by duplicating the descriptor, which would share its position with scans of other threads.
  const int descriptor = openat(files_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (!directory) {
    if (descriptor >= 0) close(descriptor);
    return found;
  }
  while (const dirent* d = readdir(directory)) {
    const std::string_view name = d->d_name;
    const bool is_temporary = name.starts_with(kTemporaryPrefix);
    struct stat status;
    if ((is_temporary || is_entry_name(name)) && fstatat(descriptor, d->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      found.push_back({std::string(name), blocks_of(static_cast<std::uint64_t>(status.st_size)), status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec, is_temporary});
  }
  closedir(directory);
  return found;
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const Found& f : scan()) {
    usage.entries += f.is_temporary ? 0 : 1;
    usage.bytes += f.blocks * kBlockBytes;
  }
  return usage;
}

std::uint64_t DiskCache::counted_bytes(const File& size) const {
  struct stat status;
  return fstat(size.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) * kBlockBytes : 0;
}

File DiskCache::open_size() const {
  File size(openat(files_.get(), kSizeFile, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!size) report("open", kSizeFile);
  return size;
}

void DiskCache::add_to_count(const File& size, std::uint64_t blocks) const {
  if (size && !write_whole(size, std::vector<std::byte>(blocks))) report("write", kSizeFile);
}

void DiskCache::keep_limit(const File& size, bool recount) {
  if (!size) return;
  if (recount) evict(size, limit_bytes_, LOCK_NB);
  // A process that finds the lock taken leaves the work to its holder, which checks again after unlocking.
  while (counted_bytes(size) > limit_bytes_ && evict(size, limit_bytes_, LOCK_NB)) continue;
}

/// Removes entries if there are more bytes than the limit, and corrects the count. Returns false if another process is doing this or if
/// nothing can be removed.
bool DiskCache::evict(const File& size, std::uint64_t limit, int lock_flags) {
  const File lock(openat(files_.get(), kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | lock_flags) != 0) return false;
  const std::uint64_t counted_before = counted_bytes(size) / kBlockBytes;
  std::vector<Found> found = scan();
  std::uint64_t blocks = 0;
  for (const Found& f : found) blocks += f.blocks;
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.seconds, a.nanoseconds, a.name) < std::tie(b.seconds, b.nanoseconds, b.name);
  });
  // Go below the limit by an eighth, so that the next stores need not evict again.
  const std::uint64_t target = blocks * kBlockBytes > limit ? (limit - limit / 8) / kBlockBytes : blocks;
  const std::int64_t now = time(nullptr);
  bool removed_any = false;
  for (const Found& f : found) {
    const bool is_abandoned = f.is_temporary && now - f.seconds > kOldestTemporary;
    if (!is_abandoned && (blocks <= target || f.is_temporary)) continue;
    if (unlinkat(files_.get(), f.name.c_str(), 0) != 0 && errno != ENOENT) continue;
    blocks -= f.blocks;
    removed_any = true;
    if (!f.is_temporary) ++counters_.evicted;
  }
  // Bytes that other processes stored meanwhile may be counted twice, but are not lost.
  const std::uint64_t counted = counted_bytes(size) / kBlockBytes, counted_meanwhile = counted - std::min(counted, counted_before);
  if (ftruncate(size.get(), static_cast<off_t>(blocks + counted_meanwhile)) != 0) report("shorten", kSizeFile);
  return removed_any;
}

void DiskCache::clear() {
  if (const File size = open_size()) evict(size, 0, 0);
}

}  // namespace tilewright::rt
