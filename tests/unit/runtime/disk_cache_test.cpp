// The disk cache: damaged files, permissions, eviction, and what the environment says.
#include "runtime/disk_cache/disk_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/disk_cache/code_cache.h"
#include "runtime/disk_cache/entry.h"
#include "tests/scoped_cache.h"
#include "tests/unit/backend/sample_plan.h"
#include "tilewright/cache.h"
#include "tilewright/log.h"

namespace tilewright::rt {
namespace {

namespace fs = std::filesystem;
using tests::read_file;
using tests::ScopedCache;
using tests::write_file;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The notices of the log while it lives.
class Notices {
 public:
  Notices() {
    set_log_sink([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) this->text += std::string(text) + '\n';
    });
  }
  ~Notices() { set_log_sink({}); }
  bool have(const std::string& piece) const { return text.find(piece) != text.npos; }
  std::string text;
};

std::string loaded(DiskCache& cache, const std::string& key) {
  const auto content = cache.load(bytes_of(key));
  return content ? std::string(reinterpret_cast<const char*>(content->data()), content->size()) : "nothing";
}
void store(DiskCache& cache, const std::string& key, const std::string& content) { cache.store(bytes_of(key), bytes_of(content)); }

void set_last_use(const fs::path& file, std::int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

TEST_CASE("disk_cache: what was stored for a key is found, by another object too, and nothing else is") {
  const ScopedCache scope;
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  REQUIRE(cache);
  CHECK(loaded(*cache, "key") == "nothing");
  store(*cache, "key", "content");
  store(*cache, "empty", "");
  CHECK(loaded(*cache, "key") == "content");
  CHECK(loaded(*cache, "empty") == "");
  CHECK(loaded(*cache, "key2") == "nothing");
  store(*cache, "key", "other content");
  CHECK(loaded(*DiskCache::open(scope.folder(), 1 << 20), "key") == "other content");
  CHECK(cache->usage().entries == 2);
  CHECK(cache->counters().hits == 2);
  CHECK(cache->counters().misses == 2);
  cache->clear();
  CHECK(cache->usage().entries == 0);
  CHECK(loaded(*cache, "key") == "nothing");
}

TEST_CASE("disk_cache: a kernel comes back with its launch plan") {
  const ScopedCache scope;
  const std::string key = "key";
  backend::CompiledKernel kernel;
  kernel.name = kernel.entry = "k";
  kernel.params.assign(2, ir::Type(ir::Element::i64));
  kernel.launch = backend::sample_plan();
  store_kernel(*code_cache(), bytes_of(key), kernel);
  const auto found = load_kernel(*code_cache(), bytes_of(key));
  REQUIRE(found);
  CHECK(found->launch == kernel.launch);
  CHECK(found->params == kernel.params);
}

TEST_CASE("disk_cache: a file with any byte changed, cut at any length or longer is not used and is removed") {
  const ScopedCache scope;
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  REQUIRE(cache);
  store(*cache, "the key", "the content, longer than a word");
  const fs::path file = scope.entries().at(0);
  const std::string whole = read_file(file);
  const auto is_refused = [&](const std::string& contents) {
    write_file(file, contents);
    return loaded(*cache, "the key") == "nothing" && !fs::exists(file);
  };
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      CHECK_MESSAGE(is_refused(changed), "byte " << i << ", bit " << bit);
    }
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK_MESSAGE(is_refused(whole.substr(0, length)), "length " << length);
  CHECK(is_refused(whole + '\0'));
  CHECK(is_refused(std::string(4096, '\0')));
  CHECK(is_refused("#!/bin/sh\n" + whole));
  write_file(file, whole);
  CHECK(chmod(file.c_str(), 0600) == 0);
  CHECK(loaded(*cache, "the key") == "the content, longer than a word");
}

TEST_CASE("disk_cache: the file of another key is a miss that stays") {
  const ScopedCache scope;
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  store(*cache, "a", "of a");
  // As if the keys had one hash.
  const fs::path of_b = scope.code_folder() / entry_name(bytes_of("b"));
  fs::copy_file(scope.entries().at(0), of_b);
  CHECK(loaded(*cache, "b") == "nothing");
  CHECK(fs::exists(of_b));
  store(*cache, "b", "of b");
  CHECK(loaded(*cache, "b") == "of b");
}

TEST_CASE("disk_cache: links, pipes and files that others may write are not used") {
  const ScopedCache scope;
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  store(*cache, "key", "content");
  const fs::path file = scope.entries().at(0), elsewhere = scope.folder() / "elsewhere";
  const Notices notices;
  REQUIRE(chmod(file.c_str(), 0620) == 0);
  CHECK(loaded(*cache, "key") == "nothing");
  CHECK(notices.have("others may write to it (mode 0620)"));
  store(*cache, "key", "content");
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  CHECK(loaded(*cache, "key") == "nothing");
  CHECK(notices.have("it is a symbolic link"));
  CHECK(fs::exists(elsewhere));
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(loaded(*cache, "key") == "nothing");
  CHECK(notices.have("it is not a file"));
}

TEST_CASE("disk_cache: folders and files are for their owner only") {
  const ScopedCache scope;
  const mode_t mask = umask(0);
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  store(*cache, "key", "content");
  umask(mask);
  const auto mode = [](const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); };
  CHECK(mode(scope.folder()) == 0700);
  CHECK(mode(scope.code_folder()) == 0700);
  CHECK(mode(scope.entries().at(0)) == 0600);
}

TEST_CASE("disk_cache: a folder that others may write to, or that is none, is refused with a notice") {
  const ScopedCache scope;
  store(*DiskCache::open(scope.folder(), 1 << 20), "key", "content");
  const auto refused_for = [&](const char* reason) {
    const Notices notices;
    const bool is_refused = DiskCache::open(scope.folder(), 1 << 20) == nullptr;
    CHECK_MESSAGE(notices.have(reason), notices.text);
    return is_refused;
  };
  REQUIRE(chmod(scope.folder().c_str(), 0777) == 0);
  CHECK(refused_for("cache' is not used: others may write to it (mode 0777)"));
  REQUIRE(chmod(scope.folder().c_str(), 0770) == 0);  // a group of one user
  REQUIRE(chmod(scope.code_folder().c_str(), 0770) == 0);
  CHECK(refused_for("cache/code' is not used: others may write to it (mode 0770)"));
  REQUIRE(chmod(scope.code_folder().c_str(), 0700) == 0);
  CHECK(DiskCache::open(scope.folder(), 1 << 20));
  fs::rename(scope.code_folder(), scope.folder() / "other");
  fs::create_directory_symlink(scope.folder() / "other", scope.code_folder());
  CHECK(refused_for("cache/code' is not used: "));
  if (geteuid() == 0) {
    fs::remove(scope.code_folder());
    REQUIRE(chown(scope.folder().c_str(), 1, 1) == 0);
    CHECK(refused_for("it belongs to user 1, not to user 0"));
  }
  fs::remove_all(scope.folder());
  write_file(scope.folder(), "a file");
  CHECK(refused_for("Not a directory"));
}

TEST_CASE("disk_cache: a folder that vanishes is a notice, no failure") {
  const ScopedCache scope;
  const auto cache = DiskCache::open(scope.folder(), 1 << 20);
  fs::remove_all(scope.folder());
  const Notices notices;
  store(*cache, "key", "content");
  CHECK(notices.have("disk cache: cannot make '"));
  CHECK(loaded(*cache, "key") == "nothing");
}

TEST_CASE("disk_cache: beyond the limit the least recently used entries go, and a hit is a use") {
  const ScopedCache scope;
  constexpr std::uint64_t kLimit = 16 * 4096;
  const auto cache = DiskCache::open(scope.folder(), kLimit);
  const std::string content(4000, 'x');
  const auto file_of = [&](const std::string& key) { return scope.code_folder() / entry_name(bytes_of(key)); };
  for (int i = 0; i < 16; ++i) {
    store(*cache, fmt::format("{}", i), content);
    set_last_use(file_of(fmt::format("{}", i)), 1000 + i);
  }
  CHECK(cache->usage().entries == 16);
  CHECK(loaded(*cache, "0") == content);  // now the most recent one
  store(*cache, "16", content);
  CHECK(cache->counters().evicted == 3);  // down to seven eighths
  CHECK(cache->usage().bytes == 14 * 4096);
  CHECK(fs::exists(file_of("0")));
  for (int i = 1; i <= 3; ++i) CHECK_MESSAGE(!fs::exists(file_of(fmt::format("{}", i))), i);
  CHECK(fs::exists(file_of("4")));
  for (int i = 100; i < 400; ++i) {
    store(*cache, fmt::format("{}", i), content);
    CHECK(cache->usage().bytes <= kLimit);
  }
  store(*cache, "large", std::string(kLimit, 'x'));
  CHECK(loaded(*cache, "large") == "nothing");
}

TEST_CASE("disk_cache: the count of bytes is set right after it was lost, and files of killed writers are removed") {
  const ScopedCache scope;
  constexpr std::uint64_t kLimit = 64 * 4096;
  const auto cache = DiskCache::open(scope.folder(), kLimit);
  for (int i = 0; i < 60; ++i) store(*cache, fmt::format("{}", i), "content");
  const fs::path abandoned = scope.code_folder() / "new-0123456789abcdef", recent = scope.code_folder() / "new-0123456789abcdee";
  write_file(abandoned, "half");
  write_file(recent, "half");
  set_last_use(abandoned, 1000);
  write_file(scope.code_folder() / "size", "");
  for (int i = 60; i < 400; ++i) store(*cache, fmt::format("{}", i), "content");
  CHECK(cache->usage().bytes <= kLimit);
  CHECK(!fs::exists(abandoned));
  CHECK(fs::exists(recent));
}

TEST_CASE("disk_cache: the environment names the folder and the limit, or turns it off") {
  const ScopedCache scope("3M");
  CHECK(code_cache() == code_cache());
  CHECK(cache_statistics().folder == scope.folder());
  CHECK(cache_statistics().limit_bytes == 3 << 20);
  setenv("TILEWRIGHT_CACHE_LIMIT", "many", 1);
  const Notices notices;
  CHECK(cache_statistics().limit_bytes == 1 << 30);
  CHECK(notices.have("TILEWRIGHT_CACHE_LIMIT is 'many'; it must be a number of bytes, such as 200M"));
  setenv("TILEWRIGHT_CACHE", "off", 1);
  CHECK(code_cache() == nullptr);
  CHECK(cache_statistics().folder.empty());
}

}  // namespace
}  // namespace tilewright::rt
