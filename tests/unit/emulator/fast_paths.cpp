// Saves memory, launches twice, compares and restores memory.
#include "tests/unit/emulator/fast_paths.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

namespace tilewright::rt::emulator {

FastPathComparison::FastPathComparison(const LoadedModule& loaded, Memory& memory)
    : loaded_(loaded), memory_(memory), before_(contents()) {}

/// Allocations, variables, and which bytes count as written.
FastPathComparison::Contents FastPathComparison::contents() const {
  Contents all;
  const auto add = [&](void* at, std::size_t bytes) {
    auto* const from = static_cast<std::byte*>(at);
    if (at != nullptr) all.emplace_back(from, std::vector<std::byte>(from, from + bytes));
  };
  for (const Range& range : memory_.snapshot(1, false)) {
    add(reinterpret_cast<void*>(range.begin), range.bytes);
    add(range.written, range.bytes);
  }
  for (const auto& [name, placed] : loaded_.variables()) add(reinterpret_cast<void*>(placed.address), placed.bytes);
  return all;
}

void FastPathComparison::restore(const Contents& contents) {
  for (const auto& [at, bytes] : contents)
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
}

FastPathComparison::Result FastPathComparison::run(const std::string& kernel, LaunchParams params, bool fast_paths) const {
  restore(before_);
  Diagnostics diagnostics;
  Counters counters;
  std::string printed;
  params.workers = 1;
  params.diagnostics = &diagnostics;
  params.counters = &counters;
  params.printed = &printed;
  params.fast_paths = fast_paths;
  launch(loaded_, kernel, memory_, params);
  std::string text = printed;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += to_string(diagnostic) + "\n";
  for (const Diagnostic& remark : diagnostics.remarks()) text += to_string(remark) + "\n";
  for (const Count& count : counters.of(kernel).instructions)
    text += fmt::format("{} {} {} {} {} {}\n", count.executed, count.lanes, count.requests, count.units, count.ideal, count.bytes);
  return {text, contents()};
}

void FastPathComparison::check(const std::string& kernel, LaunchParams params) const {
  const Contents after = contents();
  const Result fast = run(kernel, params, true), plain = run(kernel, params, false);
  INFO("kernel ", kernel);
  CHECK(fast.text == plain.text);
  const bool is_same_memory = fast.memory == plain.memory;
  CHECK(is_same_memory);
  restore(after);
}

}  // namespace tilewright::rt::emulator
