// Saves memory, launches, compares and restores memory.
#include "tests/mutants/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/emulator/async/tensor_map.h"

namespace tilewright::test {

using namespace rt::emulator;

namespace {

/// Whether the result of a mutant may depend on the order of warps.
bool orders_accesses(Weakening weakening) {
  return weakening != Weakening::guard_removed && weakening != Weakening::bound_shifted && weakening != Weakening::mask_narrowed;
}

}  // namespace

Subject::Subject(const LoadedModule& loaded, std::string_view kernel)
    : loaded_(LoadedModule::load(*loaded.module().text)), kernel_(kernel) {}

std::vector<std::string> Subject::add(const EmulatedLaunch& about) {
  Launch& launch = launches_.emplace_back();
  launch.memory = &about.memory;
  launch.params = about.params;
  launch.param_bytes.assign(about.params.params.begin(), about.params.params.end());
  for (const Parameter& parameter : loaded_->kernel(kernel_)->parameters) {
    u64 value = 0;
    if (parameter.bytes == 8) std::memcpy(&value, launch.param_bytes.data() + parameter.offset, 8);
    if (TensorMap map; parameter.bytes >= sizeof map) {
      std::memcpy(&map, launch.param_bytes.data() + parameter.offset, sizeof map);
      if (map.magic == TensorMap::kMagic) value = map.address;
    }
    if (const Range range = launch.memory->find(value); range.begin != 0) launch.ranges.push_back(range);
  }
  launch.before = contents(launch);
  std::vector<std::string> reports;
  for (std::size_t schedule = 0; schedule < kSchedules.size(); ++schedule) {
    Diagnostics diagnostics;
    Counters counters;
    LaunchParams params;
    params.diagnostics = &diagnostics;
    params.counters = &counters;
    run(*loaded_, launch, schedule, params);
    for (const Diagnostic& diagnostic : diagnostics.list()) reports.push_back(to_string(diagnostic));
    launch.after[schedule] = contents(launch);
    launch.executed = counters.of(kernel_).total().executed;
    counters_.add(counters.of(kernel_));
  }
  restore(launch);
  return reports;
}

std::vector<Subject::Bytes> Subject::contents(const Launch& launch) {
  std::vector<Bytes> all;
  for (const Range& range : launch.ranges) {
    const auto* bytes = reinterpret_cast<const std::byte*>(range.begin);
    all.emplace_back(bytes, bytes + range.bytes);
  }
  return all;
}

void Subject::restore(const Launch& launch) {
  for (std::size_t k = 0; k < launch.ranges.size(); ++k)
    if (!launch.before[k].empty())
      std::memcpy(reinterpret_cast<void*>(launch.ranges[k].begin), launch.before[k].data(), launch.before[k].size());
}

/// Runs in one thread, so that all runs are alike. `params` says what to look for; the launch gives the rest.
void Subject::run(const LoadedModule& loaded, const Launch& launch, std::size_t schedule, LaunchParams params) const {
  // Earlier runs may have written outside of their buffers.
  restore(launch);
  params.grid = launch.params.grid;
  params.block = launch.params.block;
  params.dynamic_shared_bytes = launch.params.dynamic_shared_bytes;
  params.params = launch.param_bytes;
  params.target = launch.params.target;
  params.order = kSchedules[schedule].warps;
  params.async_order = kSchedules[schedule].copies;
  params.order_seed = kSchedules[schedule].seed;
  params.seed = 1;
  params.workers = 1;
  // Accesses to variables are checked where they are the device's memory, as a driver makes them.
  for (const auto& [name, placed] : loaded.variables()) launch.memory->adopt(placed.address, placed.bytes);
  rt::emulator::launch(loaded, kernel_, *launch.memory, params);
  for (const auto& [name, placed] : loaded.variables()) launch.memory->forget(placed.address);
}

Verdict Subject::judge(const LoadedModule& mutant, const Launch& launch, std::size_t schedule) const {
  Diagnostics diagnostics;
  LaunchParams params;
  params.diagnostics = &diagnostics;
  params.stop_at_diagnostic = true;
  params.instruction_limit = 100'000 + 20 * launch.executed;
  run(mutant, launch, schedule, params);
  if (!diagnostics.empty()) return {Fate::found, to_string(diagnostics.list().front())};
  const std::vector<Bytes> after = contents(launch);
  for (std::size_t k = 0; k < after.size(); ++k) {
    const auto [at, expected] = std::mismatch(after[k].begin(), after[k].end(), launch.after[schedule][k].begin());
    if (at != after[k].end())
      return {Fate::wrong, fmt::format("byte {} of a buffer of {} bytes differs", at - after[k].begin(), after[k].size())};
  }
  return {};
}

Verdict Subject::judge(const LoadedModule& mutant, std::size_t schedule) const {
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    const std::size_t at = (last_ + k) % launches_.size();
    const Verdict verdict = judge(mutant, launches_[at], schedule);
    if (verdict.fate == Fate::survived) continue;
    last_ = at;
    return verdict;
  }
  return {};
}

bool Subject::is_reached(const Mutant& mutant, std::size_t schedule) const {
  if (mutant.probe.empty()) return counters_.instructions.at(mutant.instruction).executed > 0;
  Mutant probe = mutant;
  probe.after = mutant.probe + " " + mutant.before;
  const auto loaded = LoadedModule::load(mutated_text(module(), probe));
  return std::any_of(launches_.begin(), launches_.end(),
                     [&](const Launch& launch) { return judge(*loaded, launch, schedule).fate == Fate::found; });
}

Verdict Subject::judge(const Mutant& mutant) const {
  const auto loaded = LoadedModule::load(mutated_text(module(), mutant));
  const bool all_orders = orders_accesses(mutant.weakening);
  for (std::size_t schedule = 0; schedule < kSchedules.size(); ++schedule) {
    if (const Verdict verdict = judge(*loaded, schedule); verdict.fate != Fate::survived) return verdict;
    // Where one order does not bring the mutant to where it differs, another may.
    if (!all_orders && is_reached(mutant, schedule)) return {Fate::survived, ""};
  }
  return {all_orders && is_reached(mutant, 0) ? Fate::survived : Fate::not_reached, ""};
}

}  // namespace tilewright::test
