// Writes formulas with the names of the calls that have their values.
#include "passes/search/choose/region_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "passes/search/choose/formula_text.h"
#include "passes/search/plain_terms.h"
#include "passes/search/rules/search_rules.h"
#include "passes/search/thresholds.h"
#include "tileir/graph/function_name.h"

namespace tilewright::passes::search {

using graph::NodeId;

std::string RegionTexts::name_of(NodeId of_region) const {
  const NodeId n = region_.origins[of_region.index];
  if (judge_.name_of) return judge_.name_of(n);
  const graph::Node& node = whole_.node(n);
  const bool has_name = node.op == graph::Op::input || node.op == graph::Op::scalar;
  return !node.name.empty() ? node.name : has_name ? node.text : graph::display_name(whole_, n);
}

// Whether reports have no name for a term: it is the value of no call, such as the reciprocal in a quotient; or numbers alone determine
// it; or it is a broadcast value, and only the value that is broadcast has a name.
bool RegionTexts::has_no_name(int term) const {
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

// The term of a class that is the value of a call, if there is one.
int RegionTexts::named_term(int root) const {
  for (const std::optional<Value>& v : terms().values)
    if (v && classes().find(v->ref).term == root) return v->ref.term;
  return root;
}

bool RegionTexts::is_of_numbers(int term, int depth) const {
  const Node& n = terms().terms.node(term);
  if (const Leaf* leaf = terms().leaf(n)) return leaf->kind == Leaf::Kind::number;
  if (depth == 0) return false;
  return std::all_of(n.in.begin(), n.in.begin() + operands_of(n), [&](const Ref& r) { return is_of_numbers(r.term, depth - 1); });
}

Rewriting RegionTexts::rewriting(const Difference& difference, const Piece& piece, double saved) const {
  Rewriting r{.rule = {}, .before = {}, .after = {}, .covers = {}, .saved_seconds = saved};
  std::vector<std::string_view> rules;
  for (int rule : difference.rules_of(piece)) rules.push_back(name_of_rule(rule));
  r.rule = fmt::format("{}", fmt::join(rules, ", "));
  const PlainTerms plain(terms().terms);
  const Choice as_written{plain}, chosen{classes(), difference.members()};
  const auto kept_name = [&](int root, int term) {
    return has_no_name(term) || !difference.is_kept(root) ? std::string() : name_of(terms().origins[static_cast<std::size_t>(term)]);
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

// A term with the labels that it has as the value of its node, so that formulas have the order of the user's axes.
Ref RegionTexts::in_order_of_value(int term) const {
  for (const std::optional<Value>& v : terms().values)
    if (v && v->ref.term == term) return v->ref;
  return {term, terms().terms.slots(term)};
}

std::string RegionTexts::of(const Difference& difference) const {
  std::string text;
  for (const Piece& piece : difference.pieces()) {
    const Rewriting r = rewriting(difference, piece, 0);
    text += fmt::format("{}{}  {}  ->  {}", text.empty() ? "" : "; ", r.rule, r.before, r.after);
  }
  return text;
}

std::string RegionTexts::results() const {
  std::vector<std::string> names;
  for (const graph::Output& o : region_.graph.outputs()) {
    std::string name = name_of(o.node);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.size() == kMostValues) {
      names.emplace_back("...");
      break;
    }
    names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace tilewright::passes::search
