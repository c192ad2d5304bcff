// Prints results as a table whose rows can be printed one by one.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/cli/bench/report/results.h"

namespace tilewright::cli::bench {

namespace {

std::string thousands(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

/// "12,345 (92 %)": a count, and the necessary minimum as a share of it.
std::string beside_least(std::uint64_t count, std::uint64_t least) {
  if (count == 0) return "0";
  return fmt::format("{} ({})", thousands(count), percent(static_cast<double>(least) / static_cast<double>(count)));
}

constexpr std::size_t kPeerWidth = 18;

const char* operations_per_second(const std::string& type) { return type.starts_with('i') ? "OP/s" : "FLOP/s"; }

std::size_t peer_width(const std::string& name) { return std::max(kPeerWidth, name.size()); }

}  // namespace

double CaseResult::roofline_ms() const {
  const double computing = peak_gflops > 0 ? flops / (peak_gflops * 1e6) : 0;
  return std::max(copy_ms, computing);
}

std::string time_text(double ms) {
  if (ms < 0.001) return fmt::format("{:.0f} ns", ms * 1e6);
  if (ms < 1) return fmt::format("{:.3g} us", ms * 1e3);
  return ms < 1000 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.3g} s", ms / 1e3);
}

std::string rate_text(const CaseResult& c, double ms) {
  const double giga_a_second = (c.flops > 0 ? c.flops : c.bytes) / (ms * 1e6);
  const char* operations = operations_per_second(c.type);
  if (c.flops > 0 && giga_a_second >= 10000) return fmt::format("{:.1f} T{}", giga_a_second / 1000, operations);
  const std::string unit = c.flops > 0 ? fmt::format("G{}", operations) : "GB/s";
  if (giga_a_second < 1) return fmt::format("{:.2g} {}", giga_a_second, unit);
  return fmt::format("{:.{}f} {}", giga_a_second, giga_a_second < 100 ? 1 : 0, unit);
}

std::string percent(double share) { return share >= 0.1 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.2g} %", 100 * share); }

std::string ratio_text(double ratio) { return ratio >= 0.1 ? fmt::format("{:.2f}x", ratio) : fmt::format("{:.1g}x", ratio); }

std::string heading_text(const Results& r) {
  std::string text = fmt::format("tilewright {}{}, {}\n", r.version, r.commit.empty() ? "" : " (" + r.commit + ")", r.date);
  const auto line = [&](const std::string& what, const std::string& value) { text += fmt::format("  {:<10} {}\n", what, value); };
  for (const auto& [what, value] : r.facts) line(what, value);
  line("data", r.data);
  if (r.rounds > 0)
    line("times", fmt::format("medians of up to {} rounds in which all run in turns, {} half the distance of the quartiles; caches {}",
                              r.rounds, "\u00b1", r.cold ? "cold: overwritten before each launch" : "warm"));
  else
    line("counts", "of one launch; times in us are estimates for GPUs that are not here (docs/estimate.md)");
  for (const auto& [type, peak] : r.peaks)
    if (peak.gflops > 0) line("peak", fmt::format("{}: {:.0f} G{}, {}", type, peak.gflops, operations_per_second(type), peak.how));
  for (const PeerVersion& p : r.peers) line(p.name, p.absence.empty() ? p.version : fmt::format("left out: {}", p.absence));
  return text;
}

Table::Table(std::vector<std::string> peers, bool counts, const std::vector<std::pair<std::string, std::string>>& kernels_and_shapes)
    : peers_(std::move(peers)), counts_(counts), kernel_width_(6), shape_width_(5) {
  for (const auto& [kernel, shape] : kernels_and_shapes) {
    kernel_width_ = std::max(kernel_width_, kernel.size());
    shape_width_ = std::max(shape_width_, shape.size());
  }
}

std::string Table::header() const {
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<4}", "kernel", kernel_width_, "shape", shape_width_, "type");
  if (counts_) {
    text += fmt::format("  {:>8}  {:>12}  {:>18}  {:>18}  {:>14}  {:>9}  {:>9}", "programs", "instructions", "sectors (least)",
                        "wavefronts (least)", "matrix products", "A100 us", "H100 us");
    return text + "\n";
  }
  text += fmt::format("  {:>9}  {:>8}  {:>14}  {:>8}", "time", "\u00b1", "rate", "roofline");
  for (const std::string& p : peers_) text += fmt::format("  {:>{}}", p, peer_width(p));
  return text + "\n";
}

std::string Table::counted_row(const CaseResult& c) const {
  const Counted& n = *c.counted;
  std::string text =
      fmt::format("  {:>8}  {:>12}  {:>18}  {:>18}  {:>15}", n.programs, thousands(n.instructions),
                  beside_least(n.sectors, n.least_sectors), beside_least(n.wavefronts, n.least_wavefronts), thousands(n.matrix_products));
  for (const Counted::Estimate& e : n.estimates)
    if (e.gpu.starts_with("A100") || e.gpu.starts_with("H100")) text += fmt::format("  {:>9.1f}", e.microseconds);
  return text;
}

std::string Table::row(const CaseResult& c) const {
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<4}", c.kernel, kernel_width_, c.shape, shape_width_, c.type);
  const Contestant& ours = c.ours();
  if (!ours.failure.empty()) return text + "  " + ours.failure + "\n";
  if (counts_) return text + counted_row(c) + "\n";
  const double ms = ours.times.median;
  text += fmt::format("  {:>9}  {:>8}  {:>14}  {:>8}", time_text(ms), fmt::format("{:.1f} %", 100 * ours.times.spread()), rate_text(c, ms),
                      c.roofline_ms() > 0 ? percent(c.roofline_ms() / ms) : "-");
  for (const std::string& name : peers_) {
    const auto peer = std::find_if(c.contestants.begin() + 1, c.contestants.end(), [&](const Contestant& p) { return p.name == name; });
    const bool measured = peer != c.contestants.end() && peer->measured();
    text += fmt::format("  {:>{}}",
                        measured ? fmt::format("{} {:>6}", time_text(peer->times.median), ratio_text(peer->times.median / ms)) : "-",
                        peer_width(name));
  }
  return text + "\n";
}

std::string tuned_text(const CaseResult& c) {
  if (!c.tuned) return "";
  if (c.tuned->empty()) return "  nothing to tune: there is one configuration\n";
  std::string text;
  for (const Tuned& t : *c.tuned) {
    const std::string model = t.chosen == t.model ? " too" : ": " + configuration_text(t.model);
    text += fmt::format("  {} tuned: {}, {:.1f} us; the model's choice{}; {} of {} measured\n", t.kernel, configuration_text(t.chosen),
                        t.microseconds, model, t.measured, t.candidates);
  }
  return text;
}

}  // namespace tilewright::cli::bench
