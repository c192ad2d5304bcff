// Saturates, extracts, estimates and compares.
#include "passes/search/choose/search_region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "passes/search/choose/difference.h"
#include "passes/search/choose/formula_text.h"
#include "passes/search/choose/saturated_region.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "passes/search/rules/search_rules.h"
#include "passes/search/thresholds.h"
#include "tileir/graph/function_name.h"

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
        made_(std::make_shared<SaturatedRegion>(region.graph, options, target)) {}

  RegionOutcome run() {
    outcome_.nodes = classes().nodes();
    outcome_.is_complete = made_->is_complete();
    outcome_.is_optimal = made_->cheapest().is_optimal;
    const std::vector<Members> proposed = with_other_kernels(different_graphs(made_->cheapest()));
    if (proposed.empty()) return std::move(outcome_);
    const std::optional<SearchEstimate> written = judge_.estimate(region_.graph);
    if (!written) return std::move(outcome_);
    written_ = *written;
    outcome_.seconds_before = outcome_.seconds_after = written_.seconds;
    std::vector<Candidate> all = candidates(proposed);
    if (!judge_.measure || !choose_measured(all)) choose(std::move(all));
    return std::move(outcome_);
  }

 private:
  using Members = std::vector<std::size_t>;
  struct Candidate {
    Members members;
    SearchEstimate estimate;
  };

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

  void choose(std::vector<Candidate> all) {
    for (Candidate& c : all) {
      if (!gains(c.estimate)) {
        if (written_.seconds > c.estimate.seconds * (1 + kOfNothing)) report_too_little(c);
        return;
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
      outcome_.not_done.push_back(fmt::format("{}: it was measured, and is no faster", text_of(difference_of(run[0]->members))));
    return true;
  }

  Difference difference_of(const Members& members) const { return {region_.graph, terms(), classes(), members}; }

  /// Whether its results are those of the region as written at small instances.
  bool is_equal(const Candidate& c) {
    const auto different = compare(c.members);
    if (different) outcome_.not_done.push_back(fmt::format("{}: at a small instance {}", text_of(difference_of(c.members)), *different));
    return !different;
  }

  void take(const Members& members, const std::map<int, double>& saved) {
    report_rewritings(difference_of(members), saved);
    outcome_.rewrite = [made = made_, choice = chosen(members)](const Region& r) { return terms_to_graph(r.graph, made->terms(), choice); };
  }

  bool gains(const SearchEstimate& e) const { return times_as_fast(written_, e) >= options_.gain && serves_other_symbols(e); }

  /// A launch more or less is noise where symbols are small, and so is a small share of what is gained at typical values.
  double most_lost_if_small(const SearchEstimate& e) const {
    return std::max(most_lost_if_large(), kShareLostIfSmall * (written_.seconds - e.seconds));
  }
  double most_lost_if_large() const { return 2 * options_.launch_seconds; }

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
      outcome_.rewritings.push_back(rewriting(difference, piece, own == saved.end() ? -1 : own->second));
      own == saved.end() ? void(++count) : void(rest -= own->second);
    }
    for (Rewriting& r : outcome_.rewritings)
      if (r.saved_seconds < 0) r.saved_seconds = std::max(rest, 0.0) / static_cast<double>(count);
  }

  std::string name_of(int term) const {
    const NodeId n = region_.origins[terms().origins[static_cast<std::size_t>(term)].index];
    if (judge_.name_of) return judge_.name_of(n);
    const graph::Node& node = whole_.node(n);
    const bool has_name = node.op == graph::Op::input || node.op == graph::Op::scalar;
    return !node.name.empty() ? node.name : has_name ? node.text : graph::display_name(whole_, n);
  }
  /// Whether reports have no name for a term: it is the value of no call, such as the reciprocal in a quotient; or numbers alone determine
  /// it; or it is a broadcast value, and only the value that is broadcast has a name.
  bool has_no_name(int term) const {
    const Node& n = terms().terms.node(term);
    const std::optional<Value>& of_call = terms().values[terms().origins[static_cast<std::size_t>(term)].index];
    if (!of_call || of_call->ref.term != term || is_of_numbers(term, kMostDepthOfNumbers)) return true;
    const auto is_ones = [&](const Ref& r) {
      const Leaf* leaf = terms().leaf(terms().terms.node(r.term));
      return leaf && leaf->kind == Leaf::Kind::ones;
    };
    if (n.op == Op::product) return is_ones(n.in[0]) || is_ones(n.in[1]);
    const Leaf* leaf = terms().leaf(n);
    return leaf && leaf->kind != Leaf::Kind::node;
  }

  /// The term of a class that is the value of a call, if there is one.
  int named_term(int root) const {
    for (const std::optional<Value>& v : terms().values)
      if (v && classes().find(v->ref).term == root) return v->ref.term;
    return root;
  }
  bool is_of_numbers(int term, int depth) const {
    const Node& n = terms().terms.node(term);
    if (const Leaf* leaf = terms().leaf(n)) return leaf->kind == Leaf::Kind::number;
    if (depth == 0) return false;
    return std::all_of(n.in.begin(), n.in.begin() + operands_of(n), [&](const Ref& r) { return is_of_numbers(r.term, depth - 1); });
  }

  Rewriting rewriting(const Difference& difference, const Piece& piece, double saved) const {
    Rewriting r{.rule = {}, .before = {}, .after = {}, .covers = {}, .saved_seconds = saved};
    std::vector<std::string_view> rules;
    for (int rule : difference.rules_of(piece)) rules.push_back(name_of_rule(rule));
    r.rule = fmt::format("{}", fmt::join(rules, ", "));
    const PlainTerms plain(terms().terms);
    const Choice as_written{plain}, chosen{classes(), difference.members()};
    const auto kept_name = [&](int root, int term) {
      return has_no_name(term) || !difference.is_kept(root) ? std::string() : name_of(term);
    };
    FormulaText before(region_.graph, terms(), as_written, [&](int term) { return kept_name(classes().find({term, {}}).term, term); });
    FormulaText after(region_.graph, terms(), chosen, [&](int root) { return kept_name(root, named_term(root)); });
    for (std::size_t i = 0; i < std::min(piece.values.size(), kMostValues); ++i) {
      const RewrittenTerm& v = piece.values[i];
      const Ref own = in_order_of_value(v.term);
      r.before += (i == 0 ? "" : ", ") + before.of(own);
      r.after += (i == 0 ? "" : ", ") + after.of(classes().find(own));
    }
    if (piece.values.size() > kMostValues) r.before += ", ...", r.after += ", ...";
    for (int term : difference.terms_of(piece)) {
      const NodeId n = region_.origins[terms().origins[static_cast<std::size_t>(term)].index];
      if (std::find(r.covers.begin(), r.covers.end(), n) == r.covers.end()) r.covers.push_back(n);
    }
    std::sort(r.covers.begin(), r.covers.end());
    return r;
  }

  /// A term with the labels that it has as the value of its node, so that formulas have the order of the user's axes.
  Ref in_order_of_value(int term) const {
    for (const std::optional<Value>& v : terms().values)
      if (v && v->ref.term == term) return v->ref;
    return {term, terms().terms.slots(term)};
  }

  std::string text_of(const Difference& difference) const {
    std::string text;
    for (const Piece& piece : difference.pieces()) {
      const Rewriting r = rewriting(difference, piece, 0);
      text += fmt::format("{}{}  {}  ->  {}", text.empty() ? "" : "; ", r.rule, r.before, r.after);
    }
    return text;
  }

  void report_too_little(const Candidate& c) {
    const double ratio = times_as_fast(written_, c.estimate);
    if (ratio >= options_.gain) return report_other_symbols(c);
    outcome_.not_done.push_back(
        fmt::format("{}: {:.2f} times as fast, less than {:g}", text_of(difference_of(c.members)), ratio, options_.gain));
  }

  void report_other_symbols(const Candidate& c, std::string_view consequence = {}) {
    const bool is_small = c.estimate.seconds_if_small > written_.seconds_if_small + most_lost_if_small(c.estimate);
    const double seconds = is_small ? c.estimate.seconds_if_small : c.estimate.seconds_if_large;
    const double as_written = is_small ? written_.seconds_if_small : written_.seconds_if_large;
    outcome_.not_done.push_back(fmt::format(
        "{}: where symbols have {} values, it takes {:.3g} us instead of {:.3g} us{}; at typical values {:.3g} us instead of {:.3g} us{}",
        text_of(difference_of(c.members)), is_small ? "their least" : "great", seconds * 1e6, as_written * 1e6, consequence,
        c.estimate.seconds * 1e6, written_.seconds * 1e6, is_small ? " (greater least values, dim(\"n\", {.min = ...}), allow more)" : ""));
  }

  const graph::Graph& whole_;
  const Region& region_;
  const SearchOptions& options_;
  const Judge& judge_;
  const std::shared_ptr<SaturatedRegion> made_;
  SearchEstimate written_;
  RegionOutcome outcome_;
};

}  // namespace

RegionOutcome search_region(const graph::Graph& whole, const Region& region, const SearchOptions& options, const ir::TargetDesc& target,
                            const Judge& judge) {
  return RegionSearch(whole, region, options, target, judge).run();
}

}  // namespace tilewright::passes::search
