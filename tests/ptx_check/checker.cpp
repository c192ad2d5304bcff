// Compiles each kernel once for each target, and assembles many kernels at once, because starting ptxas takes longer than one kernel.
#include "tests/ptx_check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "runtime/ptx_lint.h"
#include "runtime/ptxas.h"
#include "tileir/target/gpu_chips.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

namespace {

// The longest ones, of tiles of a million elements, would cost ptxas minutes and gigabytes. They are made for one target.
constexpr std::size_t kLongest = 1 << 20;

/// One module of all texts: one header, each declaration once, and no lines of sources, whose files are numbered anew in each text.
template <class Texts>
std::string joined(const Texts& texts) {
  std::string header, declarations, bodies;
  for (const auto& text : texts) {
    std::istringstream lines(text.ptx);
    for (std::string line; std::getline(lines, line);) {
      const auto first = line.find_first_not_of(" \t");
      const std::string_view start = first == line.npos ? "" : std::string_view(line).substr(first);
      const std::string_view directive = start.substr(0, start.find_first_of(" \t"));
      const auto is = [&](std::string_view word) { return directive == word; };
      if (is(".file") || is(".loc") || is(".section") || start.starts_with("//")) continue;
      std::string& part = is(".version") || is(".target") || is(".address_size") ? header : is(".extern") ? declarations : bodies;
      if (&part == &bodies || part.find(line) == part.npos) part += line + '\n';
    }
  }
  return header + declarations + bodies;
}

/// FNV-1a, so that hashes of other days and machines can be compared.
std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Whether an atomic of the kernel acquires or releases.
bool has_ordered_atomic(const ir::Function& f) {
  bool found = false;
  f.walk([&](ir::OpId id) {
    if (ir::info(f.kind(id)).family != ir::Family::atomic) return;
    found = found || ir::symbols(ir::AttrName::order)[static_cast<std::size_t>(f.attr(id, ir::AttrName::order))] != "relaxed";
  });
  return found;
}

}  // namespace

void PtxChecker::add(const std::string& name, ir::Function f, std::span<const std::string> targets, backend::CompileOptions options) {
  f.name = fmt::format("k{}_{}", counts_.kernels++, f.name);
  for (const std::string& target : targets) {
    const std::string where = fmt::format("{} for {}, {} warps", name, target, options.num_warps);
    options.target = target;
    backend::CompiledKernel kernel;
    try {
      kernel = backend::compile(f, options, {.keep_text = true, .dump = {}});
    } catch (const Error& e) {
      ++counts_.refused;
      // The tests choose the tiles of all other kernels.
      if (no_spills_ || std::string_view(e.what()).find("shared memory") == std::string_view::npos)
        problems_.push_back(fmt::format("{}: it is refused: {}", where, e.what()));
      continue;
    }
    ++counts_.texts;
    hashes_.push_back(fmt::format("{}: {:016x} {:016x}", where, stable_hash(kernel.assembly), stable_hash(kernel.tile_ir)));
    const rt::PtxFacts facts = rt::read_ptx(kernel.assembly);
    for (const std::string& problem : facts.problems)
      // As a spill would be: what no thread has registers for.
      if (no_spills_ || problem.find("local memory") == problem.npos) problems_.push_back(where + ": " + problem);
    if (facts.target != ir::gpu_chip(target)->code) problems_.push_back(fmt::format("{}: its target is '{}'", where, facts.target));
    if (facts.entries != std::vector<std::string>{f.name}) problems_.push_back(where + ": it holds other kernels than its own");
    check_orders(where, kernel.tile_ir, facts.ordered_atomics, facts.fences);
    if (kernel.assembly.size() > kLongest) {
      // For the next target it would be as long, and take LLVM as long again.
      ++counts_.too_long;
      return;
    }
    if (ptxas_) bodies_[target].push_back({where, f.name, std::move(kernel.assembly)});
  }
}

void PtxChecker::check_orders(const std::string& where, const std::string& tile_ir, int ordered_atomics, int fences) {
  if (tile_ir.find("atomic_") == tile_ir.npos) return;
  // After the passes: they may have proved that an atomic never happens.
  if (has_ordered_atomic(ir::parse(tile_ir, "passes").functions.at(0)) && ordered_atomics + fences == 0)
    problems_.push_back(where + ": an atomic of the kernel orders others, and nothing of the PTX does");
}

void PtxChecker::finish() {
  for (const auto& [target, bodies] : bodies_) assemble(target, bodies);
  bodies_.clear();
}

void PtxChecker::assemble(const std::string& target, std::span<const Body> bodies) {
  try {
    for (const rt::AssembledKernel& k : rt::assemble(*ptxas_, joined(bodies), target).kernels) {
      ++counts_.assembled;
      const auto body = std::find_if(bodies.begin(), bodies.end(), [&](const Body& b) { return b.entry == k.name; });
      for (const std::string& remark : k.remarks)
        if (rt::is_performance_fault(remark)) problems_.push_back(fmt::format("{}: ptxas: {}", body->name, remark));
      if (k.spill_store_bytes + k.spill_load_bytes == 0) continue;
      ++counts_.with_spills;
      // Four registers are allowed. Choosing tiles does not count what a loop reads ahead through registers: where a norm's gain scales the
      // rows of a product, one kernel of example 16 spills three on sm_80 (ptxas 13.0, 2026-11-27).
      constexpr int kFewBytes = 32;
      if (!no_spills_ || k.spill_store_bytes + k.spill_load_bytes <= kFewBytes) continue;
      problems_.push_back(fmt::format("{}: {} bytes of spills", body->name, k.spill_store_bytes + k.spill_load_bytes));
    }
  } catch (const Error& e) {
    if (bodies.size() == 1) return problems_.push_back(fmt::format("{}: {}", bodies[0].name, e.what()));
    const std::size_t half = bodies.size() / 2;
    assemble(target, bodies.first(half));
    assemble(target, bodies.subspan(half));
  }
}

}  // namespace tilewright::test
