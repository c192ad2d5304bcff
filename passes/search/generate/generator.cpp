// Enumeration, renaming of variables and reduction, for any ops.
#include "passes/search/generate/generator.h"

#include <algorithm>

namespace tilewright::passes::search {
namespace {

void collect_variables(const TermTable& terms, int term, std::vector<int>& found) {
  const Node& n = terms.node(term);
  if (n.op == Op::variable && std::find(found.begin(), found.end(), n.attribute) == found.end()) found.push_back(n.attribute);
  for (int i = 0; i < operands_of(n); ++i) collect_variables(terms, n.in[static_cast<std::size_t>(i)].term, found);
}

}  // namespace

void Generator::enumerate() {
  by_ops_.resize(static_cast<std::size_t>(max_ops_) + 1);
  ops_.add_leaves([&](const Ref& leaf) {
    variables_.push_back(static_cast<int>(variables_.size()));
    consider(leaf, 0);
  });
  for (int ops = 1; ops <= max_ops_; ++ops) {
    const auto made = [&](const Ref& r) { consider(r, ops); };
    for (const Ref& a : by_ops_[static_cast<std::size_t>(ops - 1)]) ops_.extend(a, made);
    for (int first = 0; first < ops; ++first)
      for (const Ref& a : by_ops_[static_cast<std::size_t>(first)])
        for (const Ref& b : by_ops_[static_cast<std::size_t>(ops - 1 - first)]) ops_.combine(a, b, made);
  }
}

std::vector<int> Generator::variables_of(const Ref& left, const Ref& right) const {
  std::vector<int> used;
  collect_variables(terms(), left.term, used);
  collect_variables(terms(), right.term, used);
  std::erase_if(used, [&](int v) { return ops_.kind(v) < 0; });
  return used;
}

bool Generator::has_first_names(const std::vector<int>& used) const {
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto is_of_kind = [&](int v) { return ops_.kind(v) == ops_.kind(used[i]); };
    const auto first = std::find_if(variables_.begin(), variables_.end(), is_of_kind) - variables_.begin();
    const auto before = std::count_if(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(i), is_of_kind);
    if (used[i] != first + before) return false;
  }
  return true;
}

void Generator::consider(const Ref& made, int ops) {
  if (!made || made.term < known_terms_) return;
  known_terms_ = terms().size();
  const auto [at, is_new] = representatives_.emplace(ops_.fingerprint(made), made);
  if (is_new) {
    by_ops_[static_cast<std::size_t>(ops)].push_back(made);
    return;
  }
  const std::vector<int> used = variables_of(at->second, made);
  if (!used.empty() && has_first_names(used))
    candidates_.push_back({at->second, made, ops_.size(at->second.term) + ops_.size(made.term), static_cast<int>(used.size())});
}

void Generator::refute() {
  std::vector<Candidate> held;
  for (const Candidate& c : candidates_) (ops_.agree_elsewhere(c.left, c.right) ? held : refuted_).push_back(c);
  candidates_ = std::move(held);
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.size != b.size ? a.size < b.size : a.variables > b.variables; });
}

void Generator::reduce(KeptRules& rules) {
  std::vector<Candidate> kept;
  for (const Candidate& c : candidates_)
    if (!rules.entail(c)) (rules.add(c) ? kept : open_).push_back(c);
  candidates_ = std::move(kept);
}

void Generator::strike(KeptRules& rules) {
  for (int i = rules.size(); i-- > 0;) {
    if (!rules.entail(candidates_[static_cast<std::size_t>(i)], i)) continue;
    rules.drop(i);
    candidates_.erase(candidates_.begin() + i);
  }
}

}  // namespace tilewright::passes::search
