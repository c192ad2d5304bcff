// Saturates, extracts, estimates and compares.
#include "passes/search/choose/search_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "passes/search/choose/difference.h"
#include "passes/search/choose/region_texts.h"
#include "passes/search/choose/saturated_region.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/thresholds.h"
#include "tileir/text/plural.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;

class RegionSearch {
 public:
  RegionSearch(const graph::Graph& whole, const Region& region, const SearchOptions& options, const ir::TargetDesc& target,
               const Judge& judge)
      : whole_(whole),
        region_(region),
        options_(options),
        judge_(judge),
        target_(target),
        made_(std::make_shared<SaturatedRegion>(region.graph, options, target)),
        texts_(whole, region, judge, *made_) {}

  RegionOutcome run() {
    outcome_.nodes = classes().nodes();
    outcome_.is_complete = made_->is_complete();
    outcome_.is_optimal = made_->cheapest().is_optimal;
    choose();
    report_refused();
    return std::move(outcome_);
  }

 private:
  using Members = std::vector<std::size_t>;
  struct Candidate {
    Members members;
    SearchEstimate estimate;
  };

  void choose() {
    const std::vector<Members> different = different_graphs(made_->cheapest()), proposed = with_other_kernels(different);
    if (different.empty()) return report_unchanged("no equal graph costs less by the costs of its operations");
    if (proposed.empty()) return report_unchanged(fmt::format("{}: the kernels are the same", texts_.of(difference_of(different[0]))));
    const std::optional<SearchEstimate> written = judge_.estimate(region_.graph);
    if (!written) return report_unchanged("a part of it is computed node by node, and is not estimated");
    written_ = *written;
    outcome_.seconds_before = outcome_.seconds_after = written_.seconds;
    std::vector<Candidate> all = candidates(proposed);
    if (all.empty()) return report_unchanged("no other graph is estimated: parts of them are computed node by node");
    if (!judge_.measure || !choose_measured(all)) choose_estimated(std::move(all));
  }

  GraphTerms& terms() const { return made_->terms(); }
  const EGraph& classes() const { return made_->classes(); }

  Choice chosen(const Members& members) const {
    const Difference difference(region_.graph, terms(), classes(), members);
    Choice choice{classes(), members, std::vector<bool>(members.size())};
    for (std::size_t root = 0; root < members.size(); ++root) choice.as_written[root] = difference.is_kept(static_cast<int>(root));
    return choice;
  }

  /// The extracted graphs without those that only compute equal values once: to fusion such a graph is the graph as written.
  std::vector<Members> different_graphs(const Extraction& extraction) const {
    std::vector<Members> all;
    for (const ExtractedGraph& e : extraction.best)
      if (!difference_of(e.members).pieces().empty()) all.push_back(e.members);
    return all;
  }

  /// Leaves out a graph if fusion makes the same formulas of it as of the region as written, or of an earlier graph.
  std::vector<Members> with_other_kernels(std::vector<Members> proposed) const {
    if (!judge_.formulas || proposed.empty() || options_.gain < 1) return proposed;
    std::set<std::string> met;
    if (auto written = judge_.formulas(region_.graph)) met.insert(std::move(*written));
    std::erase_if(proposed, [&](const Members& members) {
      auto own = judge_.formulas(terms_to_graph(region_.graph, terms(), chosen(members)));
      return own && !met.insert(std::move(*own)).second;
    });
    return proposed;
  }

  std::vector<Candidate> candidates(const std::vector<Members>& proposed) {
    std::vector<Candidate> all;
    for (const Members& members : proposed) {
      ++outcome_.candidates;
      if (const auto seconds = judge_.estimate(terms_to_graph(region_.graph, terms(), chosen(members)))) all.push_back({members, *seconds});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.estimate.seconds < b.estimate.seconds; });
    return all;
  }

  void choose_estimated(std::vector<Candidate> all) {
    for (Candidate& c : all) {
      if (!gains(c.estimate)) {
        return report_too_little(c);
      }
      const std::map<int, double> saved = drop_pieces(c);
      if (!is_equal(c)) continue;
      outcome_.seconds_after = c.estimate.seconds;
      return take(c.members, saved);
    }
  }

  /// False if graphs cannot be run.
  bool choose_measured(const std::vector<Candidate>& all) {
    std::vector<const Candidate*> run;
    std::vector<graph::Graph> graphs = {region_.graph};
    Candidate first;  // the choice by estimates alone
    for (const Candidate& c : all) {
      const Candidate* own = &c;
      if (graphs.size() == options_.candidates) break;
      if (!serves_other_symbols(c.estimate)) {
        report_other_symbols(c, ", and is not measured");
        continue;
      }
      if (&c == all.data() && gains(c.estimate)) first = c, own = &first, drop_pieces(first);
      if (own != &first && own->members == first.members) continue;
      if (!is_equal(*own)) continue;
      run.push_back(own);
      graphs.push_back(terms_to_graph(region_.graph, terms(), chosen(own->members)));
    }
    if (run.empty()) return true;
    const std::optional<Measurement> m = judge_.measure(graphs);
    if (!m) {
      outcome_.not_done.clear();
      return false;
    }
    outcome_.is_measured = true;
    outcome_.seconds_before = m->seconds_written;
    outcome_.seconds_after = m->seconds;
    if (m->fastest > 0)
      take(run[m->fastest - 1]->members, {});
    else
      outcome_.not_done.push_back(fmt::format("{}: it was measured, and is no faster", texts_.of(difference_of(run[0]->members))));
    return true;
  }

  Difference difference_of(const Members& members) const { return {region_.graph, terms(), classes(), members}; }

  /// Whether its results are those of the region as written at small instances.
  bool is_equal(const Candidate& c) {
    const auto different = compare(c.members);
    if (different) outcome_.not_done.push_back(fmt::format("{}: at a small instance {}", texts_.of(difference_of(c.members)), *different));
    return !different;
  }

  void take(const Members& members, const std::map<int, double>& saved) {
    report_rewritings(difference_of(members), saved);
    outcome_.rewrite = [made = made_, choice = chosen(members)](const Region& r) { return terms_to_graph(r.graph, made->terms(), choice); };
  }

  bool gains(const SearchEstimate& e) const {
    return times_as_fast(written_, e, options_.launch_seconds) >= options_.gain && serves_other_symbols(e);
  }

  /// A launch more or less is noise where symbols are small, and so is a small share of what is gained at typical values.
  double most_lost_if_small(const SearchEstimate& e) const {
    return std::max(most_lost_if_large(), kShareLostIfSmall * (written_.seconds - e.seconds));
  }
  double most_lost_if_large() const { return 2 * (options_.launch_seconds + options_.share_seconds); }

  bool serves_other_symbols(const SearchEstimate& e) const {
    return e.seconds_if_small <= written_.seconds_if_small + most_lost_if_small(e) &&
           e.seconds_if_large <= written_.seconds_if_large + most_lost_if_large();
  }

  /// Returns what pieces save, by the class of their first value.
  std::map<int, double> drop_pieces(Candidate& c) {
    std::map<int, double> saved;
    const Members before = c.members;
    const Difference difference(region_.graph, terms(), classes(), before);
    const std::vector<Piece>& pieces = difference.pieces();
    if (pieces.size() < 2 || options_.gain < 1) return saved;
    for (std::size_t i = 0; i < std::min(pieces.size(), kMostPieces); ++i) {
      Members without = c.members;
      const Members as_written = difference.without(pieces[i]);
      for (int root : pieces[i].classes) without[static_cast<std::size_t>(root)] = as_written[static_cast<std::size_t>(root)];
      const Choice choice = chosen(without);
      if (needed_classes(region_.graph, terms(), choice).empty()) continue;
      const auto seconds = judge_.estimate(terms_to_graph(region_.graph, terms(), choice));
      if (!seconds) continue;
      if (seconds->seconds > c.estimate.seconds + kOfNothing * written_.seconds || !gains(*seconds)) {
        saved[pieces[i].values[0].root] = seconds->seconds - c.estimate.seconds;
        continue;
      }
      c.members = std::move(without);
      c.estimate = *seconds;
    }
    return saved;
  }

  std::optional<std::string> compare(const Members& members) const {
    graph::Graph both = region_.graph;
    std::vector<NodeId> nodes;
    for (const graph::Output& o : region_.graph.outputs()) nodes.push_back(o.node);
    const std::vector<NodeId> values = append_values(both, terms(), chosen(members), nodes);
    std::vector<EqualValues> pairs;
    for (std::size_t i = 0; i < nodes.size(); ++i) pairs.push_back({nodes[i], values[i]});
    return judge_.difference(both, pairs);
  }

  // ---- reports ----

  /// What the other pieces do not save is divided equally among the pieces that were not estimated one by one.
  void report_rewritings(const Difference& difference, const std::map<int, double>& saved) {
    double rest = outcome_.seconds_before - outcome_.seconds_after;
    std::size_t count = 0;
    for (const Piece& piece : difference.pieces()) {
      const auto own = saved.find(piece.values[0].root);
      outcome_.rewritings.push_back(texts_.rewriting(difference, piece, own == saved.end() ? -1 : own->second));
      own == saved.end() ? void(++count) : void(rest -= own->second);
    }
    for (Rewriting& r : outcome_.rewritings)
      if (r.saved_seconds < 0) r.saved_seconds = std::max(rest, 0.0) / static_cast<double>(count);
  }

  void report_too_little(const Candidate& c) {
    const double ratio = times_as_fast(written_, c.estimate, options_.launch_seconds);
    if (ratio >= options_.gain) return report_other_symbols(c);
    // Kernels of one graph are added up in another order than those of the other one.
    const bool is_slower = c.estimate.seconds > written_.seconds * (1 + kOfNothing);
    const std::string verdict = is_slower ? "" : fmt::format("{:.2f} times as fast, less than {:g}: ", ratio, options_.gain);
    outcome_.not_done.push_back(fmt::format("{}: {}about {} instead of {}; a launch takes {}", texts_.of(difference_of(c.members)), verdict,
                                            estimate_text(c.estimate), estimate_text(written_),
                                            time_text(options_.launch_seconds + options_.share_seconds)));
  }

  static std::string time_text(double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
  }
  static std::string estimate_text(const SearchEstimate& e) {
    return time_text(e.seconds) + (e.kernels.empty() ? "" : " in " + ir::plural(e.kernels.size(), "kernel"));
  }

  void report_unchanged(std::string_view why) {
    if (!made_->has_other_formulas()) return;
    const std::string_view limit = made_->is_complete() ? "" : ", of those that were found within the limit of nodes";
    outcome_.unchanged = fmt::format("{}: {}{}", texts_.results(), why, limit);
  }

  /// What a guard forbids is searched again without it, if the guard has refused something. Costs of nodes decide whether a report says so.
  void report_refused() {
    const RefusedRules refused = made_->refused();
    if (refused.expands_differences) {
      SearchOptions others = options_;
      others.expand_differences = true;
      report_refused(others, "but loses digits where what is subtracted is close; expand_differences allows it");
    }
    if (refused.type) {
      SearchOptions others = options_;
      others.all_types = others.move_rounding = true;
      report_refused(others, *refused.type == ir::Element::bf16
                                 ? "but move_rounding is false"
                                 : fmt::format("but what is formed may overflow in {}", ir::text(*refused.type)));
    }
  }

  void report_refused(const SearchOptions& others, std::string_view why) {
    SaturatedRegion made(region_.graph, others, target_);
    const double times_as_fast = made.gain_by_nodes() / made_->gain_by_nodes();
    if (made.cheapest().best.empty() || times_as_fast < std::max(options_.gain, 1.0)) return;
    const RegionTexts texts(whole_, region_, judge_, made);
    const Difference difference(region_.graph, made.terms(), made.classes(), made.cheapest().best[0].members);
    outcome_.not_done.push_back(
        fmt::format("{}: {:.2f} times as fast by the costs of operations, {}", texts.of(difference), times_as_fast, why));
  }

  void report_other_symbols(const Candidate& c, std::string_view consequence = {}) {
    const bool is_small = c.estimate.seconds_if_small > written_.seconds_if_small + most_lost_if_small(c.estimate);
    const double seconds = is_small ? c.estimate.seconds_if_small : c.estimate.seconds_if_large;
    const double as_written = is_small ? written_.seconds_if_small : written_.seconds_if_large;
    outcome_.not_done.push_back(fmt::format(
        "{}: where symbols have {} values, it takes {:.3g} us instead of {:.3g} us{}; at typical values {:.3g} us instead of {:.3g} us{}",
        texts_.of(difference_of(c.members)), is_small ? "their least" : "great", seconds * 1e6, as_written * 1e6, consequence,
        c.estimate.seconds * 1e6, written_.seconds * 1e6, is_small ? " (greater least values, dim(\"n\", {.min = ...}), allow more)" : ""));
  }

  const graph::Graph& whole_;
  const Region& region_;
  const SearchOptions& options_;
  const Judge& judge_;
  const ir::TargetDesc& target_;
  const std::shared_ptr<SaturatedRegion> made_;
  const RegionTexts texts_;
  SearchEstimate written_;
  RegionOutcome outcome_;
};

}  // namespace

RegionOutcome search_region(const graph::Graph& whole, const Region& region, const SearchOptions& options, const ir::TargetDesc& target,
                            const Judge& judge) {
  return RegionSearch(whole, region, options, target, judge).run();
}

}  // namespace tilewright::passes::search
