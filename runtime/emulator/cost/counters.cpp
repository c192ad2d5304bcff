// Sums counts over a kernel's instructions.
#include "runtime/emulator/cost/counters.h"

namespace tilewright::rt::emulator {

void Count::add(const Count& other) {
  executed += other.executed;
  lanes += other.lanes;
  requests += other.requests;
  units += other.units;
  ideal += other.ideal;
  bytes += other.bytes;
}

void KernelCounters::add(const KernelCounters& other) {
  instructions.resize(other.instructions.size());
  for (std::size_t i = 0; i < other.instructions.size(); ++i) instructions[i].add(other.instructions[i]);
  infos = other.infos;
  launches += other.launches;
  blocks += other.blocks;
  threads = other.threads;
  shared_bytes = other.shared_bytes;
  registers = other.registers;
}

void Counters::add(const std::string& name, const KernelCounters& counted) {
  constexpr std::ptrdiff_t kMost = 64;  // with one name: each has a count for every instruction, and a process may compile any number
  auto [first, last] = kernels.equal_range(name);
  for (auto k = first; k != last; ++k)
    if (k->second.infos == counted.infos) {
      k->second.add(counted);
      if (std::next(k) == last) return;
      // The kernel that was launched last becomes the last one with its name.
      auto node = kernels.extract(k);
      kernels.insert(last, std::move(node));
      return;
    }
  if (std::distance(first, last) >= kMost) kernels.erase(first);
  kernels.emplace(name, KernelCounters())->second.add(counted);
}

const KernelCounters& Counters::of(std::string_view name) const { return std::prev(kernels.upper_bound(name))->second; }

Count KernelCounters::of(Category category) const {
  Count sum;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if ((*infos)[i].category == category) sum.add(instructions[i]);
  return sum;
}

Count KernelCounters::total() const {
  Count sum;
  for (const Count& count : instructions) sum.add(count);
  return sum;
}

u64 KernelCounters::matrix_products() const {
  u64 sum = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) sum += instructions[i].executed * (*infos)[i].products;
  return sum;
}

std::vector<int> KernelCounters::never_ran() const {
  std::vector<int> lines;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].executed == 0) lines.push_back((*infos)[i].ptx_line);
  return lines;
}

Traffic traffic_of(Category category) {
  switch (category) {
    case Category::load_global:
    case Category::store_global:
    case Category::load_local:
    case Category::store_local:
    case Category::load_const:
    case Category::bulk_copy: return Traffic::sectors;
    case Category::load_shared:
    case Category::store_shared: return Traffic::wavefronts;
    default: return Traffic::none;
  }
}

std::map<std::pair<std::string, int>, LineCount> line_counts(const KernelCounters& counters) {
  std::map<std::pair<std::string, int>, LineCount> lines;
  for (std::size_t i = 0; i < counters.instructions.size(); ++i) {
    const InstructionInfo& info = (*counters.infos)[i];
    const Count& count = counters.instructions[i];
    if (count.executed == 0) continue;
    LineCount& line = lines[{info.source.file, info.source.line}];
    line.executed += count.executed;
    if (traffic_of(info.category) == Traffic::sectors) line.sectors.add(count);
    if (traffic_of(info.category) == Traffic::wavefronts) line.wavefronts.add(count);
  }
  return lines;
}

const char* name_of(Category category) {
  constexpr std::array kNames = {"integer",    "logic",       "float32",      "float64",       "half",         "special",    "conversion",
                                 "move",       "compare",     "control",      "warp",          "barrier",      "fence",      "atomic",
                                 "matrix",     "load global", "store global", "load shared",   "store shared", "load local", "store local",
                                 "load param", "load const",  "load generic", "store generic", "async copy",   "bulk copy"};
  static_assert(kNames.size() == kCategories);
  return kNames[static_cast<std::size_t>(category)];
}

}  // namespace tilewright::rt::emulator
