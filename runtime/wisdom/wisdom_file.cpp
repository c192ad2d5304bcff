// Reads and writes the wisdom file.
#include "runtime/wisdom/wisdom_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "runtime/environment.h"

namespace tilewright::rt {

namespace {

std::string reason() { return std::strerror(errno); }

/// The whole contents of a regular file, or the reason why it cannot be read.
struct Contents {
  std::optional<std::string> text;
  bool is_missing = false;
  std::string why;
};
Contents contents_of(const std::string& path) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // bytes; a million entries
  // Opening a FIFO without a writer would block, and reading a device might never end.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {{}, errno == ENOENT || errno == ENOTDIR, reason()};
  Contents read;
  struct stat facts{};
  if (::fstat(file, &facts) != 0)
    read.why = reason();
  else if (!S_ISREG(facts.st_mode))
    read.why = "it is not a regular file";
  else if (facts.st_size > kMost)
    read.why = fmt::format("it has more than {} bytes", kMost);
  std::string text;
  char block[1 << 14];
  while (read.why.empty()) {
    const ssize_t got = ::read(file, block, sizeof block);
    if (got == 0) break;
    if (got > 0)
      text.append(block, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      read.why = reason();
  }
  ::close(file);
  if (read.why.empty()) read.text = std::move(text);
  return read;
}

/// The text reaches the disk before the file gets its name: a reader finds the old file or the new one, even after a crash.
bool replace(const std::string& path, const std::string& text) {
  const std::string made = path + ".new";
  const int file = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  bool good = true;
  for (std::size_t at = 0; good && at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) at += static_cast<std::size_t>(written);
  }
  good = good && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  errno = error;
  return good && std::rename(made.c_str(), path.c_str()) == 0;
}

/// Excludes other writers, in this process and in others, while it lives. If a process dies, its lock is released.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) {
        const int error = errno;
        ::close(file_);
        errno = error;
        file_ = -1;
      }
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool is_held() const { return file_ >= 0; }

 private:
  int file_;
};

}  // namespace

std::string wisdom_path() { return environment_wisdom(); }

WisdomFile read_wisdom(const std::string& path) {
  WisdomFile file;
  const Contents contents = contents_of(path);
  if (!contents.text) {
    file.is_missing = contents.is_missing;
    file.notice = fmt::format("wisdom file {}: {}", path, file.is_missing ? "there is none yet" : contents.why);
    return file;
  }
  WisdomText read = parse_wisdom(*contents.text);
  file.entries = std::move(read.entries);
  file.is_newer = read.format == WisdomText::Format::newer;
  file.is_damaged = read.format == WisdomText::Format::unknown || read.damaged > 0;
  if (file.is_newer)
    file.notice = fmt::format("wisdom file {} is ignored: a later version of Tilewright wrote it", path);
  else if (read.format == WisdomText::Format::unknown)
    file.notice = fmt::format("wisdom file {} is ignored: it is damaged, or no wisdom file", path);
  else if (read.damaged > 0)
    file.notice = fmt::format("wisdom file {}: {} damaged line{} ignored", path, read.damaged, read.damaged == 1 ? " is" : "s are");
  return file;
}

std::string add_to_wisdom(const std::string& path, const std::vector<WisdomEntry>& added) {
  std::error_code ignored;  // a failure is reported when the lock is opened
  if (const std::filesystem::file_status there = std::filesystem::status(path, ignored);
      std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return fmt::format("wisdom file {}: it is not a regular file", path);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const FileLock lock(path + ".lock");
  if (!lock.is_held()) return fmt::format("wisdom file {}.lock: {}", path, reason());
  WisdomFile file = read_wisdom(path);
  if (!file.notice.empty() && !file.is_missing && !file.is_damaged) return file.notice;  // existing contents must not be lost
  if (file.is_damaged && file.entries.empty()) std::rename(path.c_str(), (path + ".damaged").c_str());
  merge_wisdom(file.entries, added);
  if (!replace(path, print_wisdom(file.entries))) return fmt::format("wisdom file {}: {}", path, reason());
  return "";
}

}  // namespace tilewright::rt
