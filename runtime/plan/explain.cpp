// Reports of a plan: its kernels as data, and a page of text.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "passes/fusion/amount_text.h"
#include "passes/fusion/expr/extents.h"
#include "runtime/plan/node_names.h"
#include "runtime/plan/plan_state.h"
#include "runtime/plan/repetition.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shapes.h"
#include "tileir/text/plural.h"
#include "tileir/text/printer.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;

using fusion::bytes_text;

namespace {

std::string names_text(const std::vector<int>& buffers, const fusion::KernelSequence& sequence) {
  std::string text;
  for (int b : buffers) text += fmt::format("{}{}", text.empty() ? "" : ", ", sequence.buffers[static_cast<std::size_t>(b)].name);
  return text;
}

/// As above for what a kernel writes: "y, part of z".
std::string written_text(const fusion::SequenceKernel& k, const fusion::KernelSequence& sequence) {
  std::string text;
  for (int b : k.writes)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", k.parts.contains(b) ? "part of " : "", names_text({b}, sequence));
  return text;
}

/// A label, and beside it a text that is broken into lines between its parts.
std::string paragraph(const char* label, const std::vector<std::string>& parts) {
  constexpr std::size_t kWidth = 110;
  const std::string margin(14, ' ');
  std::string text = fmt::format("   {:<11}", label), line;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? ", " : "");
    if (!line.empty() && line.size() + part.size() > kWidth) {
      text += line.substr(0, line.size() - 1) + "\n" + margin;
      line.clear();
    }
    line += part;
  }
  return text + line + "\n";
}

/// Lines beside a label. A long line continues in the next one; a word that is too long for a line is cut.
std::string indented(const char* label, const std::string& lines) {
  constexpr std::size_t kWidth = 120;
  std::istringstream in(lines);
  std::string text;
  const auto add = [&](const std::string& line) { text += fmt::format("   {:<11}{}\n", text.empty() ? label : "", line); };
  for (std::string line; std::getline(in, line);) {
    while (line.size() > kWidth) {
      const auto space = line.rfind(' ', kWidth);
      if (space == line.npos || space < kWidth / 2) {
        line.resize(kWidth - 3);
        line += "...";
        break;
      }
      add(line.substr(0, space));
      line.replace(0, space, " ");
    }
    add(line);
  }
  return text;
}

/// "over k1, 150 elements; a row keeps 66 numbers", then for each reduction its number, its policy, and the reason for it.
std::string loop_text(const graph::Graph& g, const fusion::LoopReport& loop) {
  if (loop.axis.empty()) return "";
  std::string text = fmt::format("over {}, {} elements", loop.axis, loop.extent);
  if (loop.numbers > 0) text += fmt::format("; a row keeps {:.0f} number{}", loop.numbers, loop.numbers == 1 ? "" : "s");
  const bool has_passes = !loop.reductions.empty() && loop.reductions.back().pass > 1;
  for (const fusion::ReductionReport& r : loop.reductions) {
    const std::string from = r.node.valid()
                                 ? fmt::format("{} ({})", graph::display_name(g, r.node), short_text(graph::call_location(g, r.node)))
                                 : std::string();
    text += fmt::format("\nr{:<2} {}{:<9} {:<4} {}", r.number, has_passes ? fmt::format("pass {}  ", r.pass) : "", fusion::text(r.policy),
                        graph::text(r.kind), from);
  }
  return text + "\n";
}

/// The tensors that a kernel stores for others: "scores f32[n, n] (matmul at block.cpp:41)".
std::vector<std::string> stored_texts(const graph::Graph& g, const fusion::KernelSequence& sequence, const fusion::SequenceKernel& k) {
  std::vector<std::string> texts;
  for (int i : k.writes) {
    const fusion::SequenceBuffer& b = sequence.buffers[static_cast<std::size_t>(i)];
    if (b.kind == fusion::BufferKind::output) continue;
    texts.push_back(fmt::format("{} {}{}", b.name, ir::text(b.element), graph::shape_text(b.shape)));
    if (b.source.valid()) texts.back() += fmt::format(" ({})", source_text(g, b));
  }
  return texts;
}

std::string proof_text(const fusion::SequenceProof& proof) {
  std::string text = proof.exact ? "exact" : "not exact";
  if (proof.exact && proof.log2_error != 0)
    text +=
        fmt::format(" in {} rounds; a wrong derivation would pass with a probability of 2^{:.0f} at most", proof.rounds, proof.log2_error);
  return proof.text.empty() ? text : text + "; " + proof.text;
}

}  // namespace

PlannedKernel PlanState::planned(const fusion::SequenceKernel& k, const KernelSize& size, const PlanKernel& compiled) const {
  return {.name = k.name,
          .reason = k.estimate.empty() ? k.reason : fmt::format("{}\nestimate: {}", k.reason, k.estimate),
          .covers = named_nodes(*parts_.graph, k.covers),
          .passes = k.passes,
          .grid = size.grid,
          .bytes_read = static_cast<std::int64_t>(bytes_of(k.reads, sizes_)),
          .bytes_written = static_cast<std::int64_t>(size.written_bytes),
          .flops = size.flops,
          .tile_ir = ir::print(k.function),
          .ptx = compiled.ptx()};
}

std::vector<PlannedKernel> PlanState::kernels(When when) const {
  const bool each_run = when == When::each_run;
  const auto& sources = each_run ? parts_.sequence.kernels : parts_.sequence.parameter_kernels;
  std::lock_guard lock(mutex_);
  const auto& sizes = each_run ? sizes_.kernels : sizes_.parameter_kernels;
  std::vector<PlannedKernel> all;
  for (std::size_t i = 0; i < sources.size(); ++i)
    all.push_back(planned(sources[i], sizes[i], (each_run ? kernels_ : parameter_kernels_)[i]));
  return all;
}

std::string PlanState::explain() const {
  std::lock_guard lock(mutex_);
  const fusion::KernelSequence& p = parts_.sequence;
  const Sizes sizes = sizes_of_report();
  const std::string proof = "proof: " + proof_text(p.proof) + "\n";
  // If something is not proved, the report says so before everything that depends on it.
  const bool is_proved = p.proof.exact && !p.proof.is_partial();
  std::string text =
      (is_proved ? "" : proof) + search_text(parts_.search) + header_text(sizes) + kernels_text(p.kernels, sizes.kernels, sizes);
  if (!p.parameter_kernels.empty())
    text += fmt::format("\nkernels that run when a parameter is given; what they write is kept, {}\n",
                        bytes_text(static_cast<double>(sizes.derived_bytes))) +
            kernels_text(p.parameter_kernels, sizes.parameter_kernels, sizes);
  text += totals_text(sizes);
  text += unchanged_text(parts_.search);
  for (const std::string& line : p.not_fused) text += line + "\n";
  return is_proved ? text + proof : text;
}

/// Estimates and sizes are given for one value of each symbol.
Sizes PlanState::sizes_of_report() const { return sequence_sizes_.of_report(fusion::typical_values(*parts_.graph)); }

/// "; estimates and sizes are for n = 1024, m = 3".
std::string PlanState::symbols_text(const Sizes& sizes) const {
  std::string text;
  for (std::uint32_t s : sequence_sizes_.symbols())
    text +=
        fmt::format("{}{} = {}", text.empty() ? "; estimates and sizes are for " : ", ", sequence_sizes_.table()[s].name, sizes.symbols[s]);
  return text;
}

std::string PlanState::header_text(const Sizes& sizes) const {
  const std::string memory = sizes.intermediate_bytes == 0 ? "nothing goes through device memory between kernels"
                                                           : fmt::format("{} between kernels, in a workspace of {}",
                                                                         bytes_text(static_cast<double>(sizes.intermediate_bytes)),
                                                                         bytes_text(static_cast<double>(sizes.workspace_bytes)));
  return fmt::format("plan for {}: {}; {}{}\n", parts_.device ? parts_.device->name() : parts_.target,
                     ir::plural(parts_.sequence.kernels.size(), "kernel"), memory, symbols_text(sizes));
}

std::string PlanState::kernel_text(const fusion::SequenceKernel& k, const KernelSize& size, const Sizes& sizes) const {
  std::string text = fmt::format("{}: grid {}, {} pass{}\n", k.name, grid_text(size.grid), k.passes, k.passes == 1 ? "" : "es");
  if (const std::vector<std::string> covers = covered_texts(*parts_.graph, k.covers); !covers.empty()) text += paragraph("covers", covers);
  text += indented("because", k.reason) + indented("estimate", k.estimate) + indented("loop", loop_text(*parts_.graph, k.loop)) +
          indented("error", k.error_text);
  if (const std::vector<std::string> stored = stored_texts(*parts_.graph, parts_.sequence, k); !stored.empty())
    text += paragraph("stores", stored);
  return text +
         indented("moves", fmt::format("reads {} ({}), writes {} ({}){}", bytes_text(static_cast<double>(bytes_of(k.reads, sizes))),
                                       names_text(k.reads, parts_.sequence), bytes_text(static_cast<double>(size.written_bytes)),
                                       written_text(k, parts_.sequence), size.flops > 0 ? "; " + fusion::flops_text(size.flops) : ""));
}

/// Equal layers are described only once.
std::string PlanState::kernels_text(const std::vector<fusion::SequenceKernel>& kernels, const std::vector<KernelSize>& kernel_sizes,
                                    const Sizes& sizes) const {
  std::string text;
  for (const KernelGroup& g : group_kernels(kernels)) {
    if (!g.repeats()) {
      text += fmt::format("\n{}. {}", g.first + 1, kernel_text(kernels[g.first], kernel_sizes[g.first], sizes));
      continue;
    }
    double read = 0, written = 0, flops = 0;
    for (std::size_t k = g.first; k < g.end(); ++k) {
      read += static_cast<double>(bytes_of(kernels[k].reads, sizes));
      written += static_cast<double>(kernel_sizes[k].written_bytes);
      flops += kernel_sizes[k].flops;
    }
    const std::string& first = kernels[g.first].name;
    const std::size_t last = g.end() - 1;
    text += last == g.first ? fmt::format("\n{}. {}", last + 1, first)
                            : fmt::format("\n{} to {}. {} to {}", g.first + 1, last + 1, first, kernels[last].name);
    text += fmt::format(": {}\n", repetition_text(g)) +
            indented("moves", fmt::format("reads {}, writes {}{}", bytes_text(read), bytes_text(written),
                                          flops > 0 ? "; " + fusion::flops_text(flops) : ""));
  }
  return text;
}

std::string PlanState::totals_text(const Sizes& sizes) const {
  const auto moved = static_cast<double>(moved_bytes(parts_.sequence, sizes));
  const auto least = static_cast<double>(compulsory_bytes(parts_.sequence, sizes));
  std::string text = fmt::format("\nbytes moved: {}", bytes_text(moved));
  if (least > 0) text += fmt::format("; inputs and outputs once are {} (this plan: {:.2f} times)", bytes_text(least), moved / least);
  if (parts_.unfused) {
    if (!unfused_) unfused_ = parts_.unfused();
    const auto separate = static_cast<double>(moved_bytes(*unfused_, SequenceSizes(*parts_.graph, *unfused_).of_report(sizes.symbols)));
    text += fmt::format("; unfused: {} in {}", bytes_text(separate), ir::plural(unfused_->kernels.size(), "kernel"));
    if (moved > 0) text += fmt::format(" ({:.2f} times)", separate / moved);
  }
  text += "\n";
  if (const std::vector<std::uint32_t> symbols = sequence_sizes_.symbols(); has_run_ && !symbols.empty()) {
    std::string values;
    for (std::uint32_t s : symbols)
      values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", sequence_sizes_.table()[s].name, sizes_.symbols[s]);
    text +=
        fmt::format("the latest run had {} and moved {}\n", values, bytes_text(static_cast<double>(moved_bytes(parts_.sequence, sizes_))));
  }
  return text;
}

}  // namespace tilewright::detail
