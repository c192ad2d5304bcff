// Opens the folder of the disk cache, and reads and writes its entries.
#include "runtime/disk_cache/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "runtime/disk_cache/entry.h"
#include "runtime/disk_cache/hash128.h"
#include "runtime/disk_cache/names.h"
#include "runtime/log.h"

namespace tilewright::rt {

namespace {

std::string reason_of(int error) { return std::strerror(error); }

void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    mkdir(path.substr(0, end).c_str(), 0700);  // a failure is detected when the folder is opened
    if (end == path.npos) return;
  }
}

/// Why code must not be loaded from this file or folder; empty if it may. `writers`: the write permissions that no other user may have.
std::string reason_against(const struct stat& status, mode_t writers) {
  if (status.st_uid != geteuid()) return fmt::format("it belongs to user {}, not to user {}", status.st_uid, geteuid());
  if (status.st_mode & writers) return fmt::format("others may write to it (mode {:04o})", status.st_mode & 07777);
  return "";
}

constexpr mode_t kOthers = S_IWOTH, kGroupAndOthers = S_IWGRP | S_IWOTH;

/// Opens a folder. Returns an empty File and sets a reason if it cannot be used.
File open_folder(int parent, const char* path, int flags, mode_t writers, std::string& reason) {
  File folder(openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  struct stat status;
  if (!folder || fstat(folder.get(), &status) != 0)
    reason = reason_of(errno);
  else
    reason = reason_against(status, writers);
  return reason.empty() ? std::move(folder) : File();
}

// The name is random: in containers that share a folder, two processes may have the same id.
std::string temporary_name() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  return fmt::format("{}{:016x}", kTemporaryPrefix, number);
}

}  // namespace

DiskCache::DiskCache(std::string folder, File files, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), files_(std::move(files)), limit_bytes_(limit_bytes) {}

std::shared_ptr<DiskCache> DiskCache::open(const std::string& folder, std::uint64_t limit_bytes) {
  make_folders(folder);
  std::string reason;
  // The group may write to the outer folder, as in homes with one group for each user; therefore the inner folder is opened without
  // following links and is checked.
  const File outer = open_folder(AT_FDCWD, folder.c_str(), 0, kOthers, reason);
  File files;
  if (outer) {
    mkdirat(outer.get(), kEntryFolder, 0700);
    files = open_folder(outer.get(), kEntryFolder, O_NOFOLLOW, kGroupAndOthers, reason);
  }
  if (files) return std::shared_ptr<DiskCache>(new DiskCache(folder, std::move(files), limit_bytes));
  log(LogLevel::warning, fmt::format("disk cache: '{}{}{}' is not used: {}", folder, outer ? "/" : "", outer ? kEntryFolder : "", reason));
  return nullptr;
}

void DiskCache::report(std::string_view action, const std::string& name) const {
  log(LogLevel::warning, fmt::format("disk cache: cannot {} '{}/{}/{}': {}", action, folder_, kEntryFolder, name, reason_of(errno)));
}

void DiskCache::reject_file(const std::string& name, std::string_view reason) {
  ++counters_.rejected;
  unlinkat(files_.get(), name.c_str(), 0);
  log(LogLevel::warning, fmt::format("disk cache: '{}/{}/{}' is removed, not used: {}", folder_, kEntryFolder, name, reason));
}

void DiskCache::reject(std::span<const std::byte> key, std::string_view reason) {
  --counters_.hits;
  ++counters_.misses;
  reject_file(entry_name(key), reason);
}

std::optional<std::vector<std::byte>> DiskCache::load(std::span<const std::byte> key) {
  const std::string name = entry_name(key);
  const auto miss = [&] {
    ++counters_.misses;
    return std::nullopt;
  };
  const auto rejected = [&](std::string_view reason) {
    reject_file(name, reason);
    return miss();
  };
  // Opened without blocking: a pipe with that name has no writer.
  const File file(openat(files_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    if (errno == ELOOP) return rejected("it is a symbolic link");
    if (errno != ENOENT) report("open", name);
    return miss();
  }
  struct stat status;
  if (fstat(file.get(), &status) != 0) return miss();
  if (!S_ISREG(status.st_mode)) return rejected("it is not a file");
  if (const std::string reason = reason_against(status, kGroupAndOthers); !reason.empty()) return rejected(reason);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < kEntryHeaderBytes || size > limit_bytes_) return rejected("no entry has its size");
  const auto bytes = read_whole(file, size);
  if (!bytes) {
    report("read", name);
    return miss();
  }
  const auto entry = parse_entry(*bytes);
  if (!entry) return rejected("it is damaged");
  if (!std::equal(entry->key.begin(), entry->key.end(), key.begin(), key.end())) return miss();  // another key with the same hash
  const timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  futimens(file.get(), now);  // fails on read-only disks, where nothing is evicted
  ++counters_.hits;
  return std::vector<std::byte>(entry->content.begin(), entry->content.end());
}

void DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> content) {
  const std::vector<std::byte> entry = make_entry(key, content);
  if (entry.size() > limit_bytes_) {
    log(LogLevel::info, fmt::format("disk cache: an entry of {} bytes is larger than the limit of {}", entry.size(), limit_bytes_));
    return;
  }
  const std::string name = entry_name(key), temporary = temporary_name();
  const File file(openat(files_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return report("make", temporary);
  // Without fsync: if the machine loses power, the checksum detects missing data.
  const bool is_written = write_whole(file, entry);
  if (!is_written) report("write", temporary);
  const File size = open_size();
  // Counted before the file appears: a process that is killed in between leaves a count that is too high, not one that is too low.
  if (is_written) add_to_count(size, blocks_of(entry.size()));
  const bool is_stored = is_written && renameat(files_.get(), temporary.c_str(), files_.get(), name.c_str()) == 0;
  if (!is_stored) {
    if (is_written) report("store", name);
    unlinkat(files_.get(), temporary.c_str(), 0);
    return;
  }
  ++counters_.stores;
  // Some stores count again, since the count is too low if the machine lost power or files were copied here.
  constexpr std::uint64_t kRecountMask = 63;
  keep_limit(size, (hash128(key).low & kRecountMask) == 0);
}

}  // namespace tilewright::rt
