// Implements the process's wisdom and the seal.
#include "runtime/wisdom/wisdom.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "runtime/active_call.h"
#include "runtime/log.h"
#include "tilewright/wisdom.h"

namespace tilewright::rt {

namespace {

std::string lookup_key(std::string_view kernel, std::string_view problem, std::string_view device) {
  std::string text;
  text.reserve(kernel.size() + problem.size() + device.size() + 2);
  return text.append(kernel).append("\n").append(problem).append("\n").append(device);
}

std::atomic<bool>& sealed() {
  static std::atomic<bool> value{false};
  return value;
}

}  // namespace

Wisdom& Wisdom::instance() {
  static auto* wisdom = new Wisdom;
  return *wisdom;
}

WisdomKey wisdom_key(std::string_view kernel, std::string_view problem, rt::Device& device) {
  const rt::Device::Identity& identity = device.identity();
  return {std::string(kernel), std::string(problem), identity.device, identity.driver, TILEWRIGHT_VERSION};
}

void Wisdom::insert(WisdomEntry e) {
  ++generation_;
  std::vector<WisdomEntry>& there = known_[lookup_key(e.key.kernel, e.key.problem, e.key.device)];
  const auto same = std::find_if(there.begin(), there.end(), [&](const WisdomEntry& o) { return o.key == e.key; });
  if (same == there.end())
    there.push_back(std::move(e));
  else if (e.date >= same->date)
    *same = std::move(e);
}

void Wisdom::read_file() {
  if (path_->empty()) return;
  WisdomFile file = read_wisdom(*path_);
  if (!file.notice.empty()) log(file.is_missing ? LogLevel::info : LogLevel::warning, file.notice);
  for (WisdomEntry& e : file.entries) insert(std::move(e));
}

void Wisdom::follow_path() {
  std::string path = wisdom_path();
  if (path_ == path) return;
  path_ = std::move(path);
  known_.clear();
  ++generation_;
  read_file();
}

std::optional<WisdomEntry> Wisdom::find(std::string_view kernel, std::string_view problem, rt::Device& device) {
  const rt::Device::Identity& identity = device.identity();
  const std::string lookup = lookup_key(kernel, problem, identity.device);
  const std::lock_guard lock(mutex_);
  follow_path();
  const auto there = known_.find(lookup);
  if (there == known_.end() || ignored_) return std::nullopt;
  for (const WisdomEntry& e : there->second)
    if (e.key.driver == identity.driver && e.key.version == TILEWRIGHT_VERSION) return e;
  if (reported_.insert(lookup).second) {
    const WisdomKey& key = there->second.front().key;
    log(LogLevel::info, fmt::format("wisdom of '{}' for {} is ignored: it was measured by version {}{}{}, this is version {}{}{}", kernel,
                                    problem, key.version, key.driver.empty() ? "" : " with ", key.driver, TILEWRIGHT_VERSION,
                                    identity.driver.empty() ? "" : " with ", identity.driver));
  }
  return std::nullopt;
}

bool Wisdom::is_empty() {
  const std::lock_guard lock(mutex_);
  follow_path();
  return known_.empty();
}

void Wisdom::add(WisdomEntry e) {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    follow_path();
    path = *path_;
    insert(e);
  }
  if (path.empty()) return;
  if (const std::string failure = add_to_wisdom(path, {std::move(e)}); !failure.empty())
    log(LogLevel::warning, "what was measured is not kept: " + failure);
}

void Wisdom::set_ignored(bool ignored) {
  const std::lock_guard lock(mutex_);
  ignored_ = ignored;
  ++generation_;
}

std::uint64_t Wisdom::generation() {
  const std::lock_guard lock(mutex_);
  follow_path();
  return generation_;
}

void Wisdom::refresh() {
  const std::lock_guard lock(mutex_);
  if (path_ == wisdom_path())
    read_file();
  else
    follow_path();
}

std::vector<WisdomEntry> Wisdom::entries() {
  const std::lock_guard lock(mutex_);
  follow_path();
  std::vector<WisdomEntry> all;
  for (const auto& [lookup, there] : known_) all.insert(all.end(), there.begin(), there.end());
  std::sort(all.begin(), all.end(), [](const WisdomEntry& a, const WisdomEntry& b) {
    return std::tie(a.key.kernel, a.key.problem, a.key.device, a.date) < std::tie(b.key.kernel, b.key.problem, b.key.device, b.date);
  });
  return all;
}

void Wisdom::merge(std::vector<WisdomEntry> added) {
  const std::lock_guard lock(mutex_);
  follow_path();
  for (WisdomEntry& e : added) insert(std::move(e));
}

bool is_sealed() { return sealed().load(std::memory_order_acquire); }
void set_sealed(bool on) { sealed().store(on, std::memory_order_release); }

}  // namespace tilewright::rt

namespace tilewright {

void wisdom::export_to(const std::string& path, Here at) {
  const rt::ActiveCall call(at);
  const rt::WisdomFile there = rt::read_wisdom(path);
  if (there.is_damaged && there.entries.empty())
    throw Error(detail::location_of(at), fmt::format("export_to: {} exists and is not a wisdom file", path));
  if (const std::string failure = rt::add_to_wisdom(path, rt::Wisdom::instance().entries()); !failure.empty())
    throw Error(detail::location_of(at), "export_to: " + failure);
}

void wisdom::import_from(const std::string& path, Here at) {
  const rt::ActiveCall call(at);
  rt::WisdomFile file = rt::read_wisdom(path);
  if (!file.notice.empty() && file.entries.empty()) {
    if (file.is_missing)
      file.notice = fmt::format("there is no file {}", path);
    else if (file.is_newer)
      file.notice = fmt::format("a later version of Tilewright wrote {}", path);
    else if (file.is_damaged)
      file.notice = fmt::format("{} is damaged, or no wisdom file", path);
    throw Error(detail::location_of(at), "import_from: " + file.notice);
  }
  if (!file.notice.empty()) rt::log(LogLevel::warning, file.notice);
  rt::Wisdom::instance().merge(std::move(file.entries));
}

void seal() { rt::set_sealed(true); }

}  // namespace tilewright
