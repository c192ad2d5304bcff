// Enumeration of terms over two axes: one that is summed and moved, and one that is cut.
#include "passes/search/generate/generator.h"

namespace tilewright::passes::search {
namespace {

constexpr Label kPlainAxis = 0, kCutAxis = 1;

/// The variables by kind: vectors, a number, matrices whose columns are cut, and pieces of columns.
struct Kind {
  int count;
  std::vector<Extent> extents;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kinds = {
      {3, {Extent::plain}},
      {1, {}},
      {2, {Extent::plain, Extent::whole}},
      {2, {Extent::plain, Extent::first}},
      {2, {Extent::plain, Extent::second}},
  };
  return kinds;
}

constexpr Sizes kOtherSizes[] = {{3, 2, 3, 5}, {5, 1, 2, 6}};

void collect_variables(const TermTable& terms, int term, std::vector<int>& found) {
  const Node& n = terms.node(term);
  if (n.op == Op::variable && std::find(found.begin(), found.end(), n.attribute) == found.end()) found.push_back(n.attribute);
  for (int i = 0; i < operands_of(n); ++i) collect_variables(terms, n.in[static_cast<std::size_t>(i)].term, found);
}

/// The number of ops of a term. A part counts as three, so that equations concatenate pieces rather than cut them out of a concatenation.
int size_of(const TermTable& terms, int term) {
  const Node& n = terms.node(term);
  int size = n.op == Op::variable ? 0 : n.op == Op::part0 || n.op == Op::part1 ? 3 : 1;
  for (int i = 0; i < operands_of(n); ++i) size += size_of(terms, n.in[static_cast<std::size_t>(i)].term);
  return size;
}

/// All sets of labels of a set, from none to all.
std::vector<LabelSet> subsets(LabelSet of) {
  std::vector<LabelSet> sets;
  for (LabelSet s = 0;; s = (s - of) & of) {
    sets.push_back(s);
    if (s == of) return sets;
  }
}

}  // namespace

void Generator::add_variables() {
  int index = 0;
  by_ops_.resize(static_cast<std::size_t>(max_ops_) + 1);
  for (std::size_t k = 0; k < kinds().size(); ++k)
    for (int i = 0; i < kinds()[k].count; ++i) {
      const Ref r = terms_.variable(index++, kinds()[k].extents);
      kinds_.push_back(static_cast<int>(k));
      consider(r, 0);
    }
}

void Generator::enumerate() {
  add_variables();
  for (int ops = 1; ops <= max_ops_; ++ops) {
    for (const Ref& a : by_ops_[static_cast<std::size_t>(ops - 1)]) extend(a, ops);
    for (int first = 0; first < ops; ++first)
      for (const Ref& a : by_ops_[static_cast<std::size_t>(first)])
        for (const Ref& b : by_ops_[static_cast<std::size_t>(ops - 1 - first)]) combine(a, b, ops);
  }
}

void Generator::extend(const Ref& a, int ops) {
  const LabelSet axes = a.labels.set();
  for (LabelSet summed : subsets(axes))
    if (summed != 0) consider(terms_.sum(a, axes & ~summed), ops);
  consider(terms_.function(a), ops);
  consider(terms_.view(a, kPlainAxis), ops);
  consider(terms_.part(Op::part0, a, kCutAxis), ops);
  consider(terms_.part(Op::part1, a, kCutAxis), ops);
}

void Generator::combine(const Ref& a, const Ref& b, int ops) {
  consider(terms_.cat(a, b, kCutAxis), ops);
  if (b.term < a.term) return;  // products and sums stand in either order
  consider(terms_.add(a, b), ops);
  const LabelSet axes = a.labels.set() | b.labels.set();
  for (LabelSet summed : subsets(a.labels.set() & b.labels.set())) consider(terms_.product(a, b, axes & ~summed), ops);
}

bool Generator::has_first_names(const Ref& left, const Ref& right) const {
  std::vector<int> used;
  collect_variables(terms_, left.term, used);
  collect_variables(terms_, right.term, used);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const int kind = kinds_[static_cast<std::size_t>(used[i])];
    const auto first = std::find(kinds_.begin(), kinds_.end(), kind) - kinds_.begin();
    const auto before = std::count_if(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](int v) { return kinds_[static_cast<std::size_t>(v)] == kind; });
    if (used[i] != first + before) return false;
  }
  return true;
}

void Generator::consider(const Ref& made, int ops) {
  if (!made || made.term < known_terms_) return;
  known_terms_ = terms_.size();
  std::uint64_t fingerprint = made.labels.set();
  for (Label l : made.labels) fingerprint = scramble(fingerprint * 8 + static_cast<std::uint64_t>(terms_.extent(made, l)));
  for (std::uint64_t v : values_.of(made)) fingerprint = scramble(fingerprint * 0x9E3779B97F4A7C15u + v);
  const auto [at, is_new] = representatives_.emplace(fingerprint, made);
  if (is_new) {
    by_ops_[static_cast<std::size_t>(ops)].push_back(made);
  } else if (has_first_names(at->second, made)) {
    std::vector<int> used;
    collect_variables(terms_, at->second.term, used);
    collect_variables(terms_, made.term, used);
    candidates_.push_back({at->second, made, size_of(terms_, at->second.term) + size_of(terms_, made.term), static_cast<int>(used.size())});
  }
}

void Generator::refute() {
  std::vector<Candidate> held;
  std::vector<Residues> others;
  for (const Sizes& sizes : kOtherSizes) others.emplace_back(terms_, sizes);
  for (const Candidate& c : candidates_) {
    const bool holds = std::all_of(others.begin(), others.end(), [&](Residues& r) { return r.of(c.left) == r.of(c.right); });
    (holds ? held : refuted_).push_back(c);
  }
  candidates_ = std::move(held);
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.size != b.size ? a.size < b.size : a.variables > b.variables; });
}

void Generator::reduce(const std::function<std::optional<Rule>(const Candidate&)>& keep) {
  std::vector<Candidate> kept;
  for (const Candidate& c : candidates_) {
    if (is_entailed(terms_, c.left, c.right, rules_)) continue;
    if (std::optional<Rule> rule = keep(c)) {
      kept.push_back(c);
      rules_.push_back(std::move(*rule));
    } else {
      open_.push_back(c);
    }
  }
  // A special case that is smaller than the general rule was kept before it.
  for (std::size_t i = rules_.size(); i-- > 0;) {
    std::vector<Rule> others = rules_;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!is_entailed(terms_, kept[i].left, kept[i].right, others)) continue;
    rules_ = std::move(others);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  candidates_ = std::move(kept);
}

}  // namespace tilewright::passes::search
