// Ops of labelled terms with all axes that fit.
#include "passes/search/generate/labelled_ops.h"

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

/// All sets of labels of a set, from none to all.
std::vector<LabelSet> subsets(LabelSet of) {
  std::vector<LabelSet> sets;
  for (LabelSet s = 0;; s = (s - of) & of) {
    sets.push_back(s);
    if (s == of) return sets;
  }
}

}  // namespace

void LabelledOps::add_leaves(const Made& made) {
  for (std::size_t k = 0; k < kinds().size(); ++k)
    for (int i = 0; i < kinds()[k].count; ++i) {
      const int index = static_cast<int>(kinds_.size());
      kinds_.push_back(static_cast<int>(k));
      made(terms_.variable(index, kinds()[k].extents));
    }
}

void LabelledOps::extend(const Ref& a, const Made& made) {
  const LabelSet axes = a.labels.set();
  for (LabelSet summed : subsets(axes))
    if (summed != 0) made(terms_.sum(a, axes & ~summed));
  made(terms_.function(a));
  made(terms_.view(a, kPlainAxis));
  made(terms_.part(Op::part0, a, kCutAxis));
  made(terms_.part(Op::part1, a, kCutAxis));
}

void LabelledOps::combine(const Ref& a, const Ref& b, const Made& made) {
  made(terms_.cat(a, b, kCutAxis));
  if (b.term < a.term) return;  // products and sums stand in either order
  made(terms_.add(a, b));
  const LabelSet axes = a.labels.set() | b.labels.set();
  for (LabelSet summed : subsets(a.labels.set() & b.labels.set())) made(terms_.product(a, b, axes & ~summed));
}

std::uint64_t LabelledOps::fingerprint(const Ref& r) {
  std::uint64_t fingerprint = r.labels.set();
  for (Label l : r.labels) fingerprint = scramble(fingerprint * 8 + static_cast<std::uint64_t>(terms_.extent(r, l)));
  for (std::uint64_t v : values_.of(r)) fingerprint = scramble(fingerprint * 0x9E3779B97F4A7C15u + v);
  return fingerprint;
}

bool LabelledOps::agree_elsewhere(const Ref& left, const Ref& right) {
  if (others_.empty())
    for (const Sizes& sizes : kOtherSizes) others_.emplace_back(terms_, sizes);
  return std::all_of(others_.begin(), others_.end(), [&](Residues& r) { return r.of(left) == r.of(right); });
}

int LabelledOps::size(int term) const {
  const Node& n = terms_.node(term);
  int total = n.op == Op::variable ? 0 : n.op == Op::part0 || n.op == Op::part1 ? 3 : 1;
  for (int i = 0; i < operands_of(n); ++i) total += size(n.in[static_cast<std::size_t>(i)].term);
  return total;
}

}  // namespace tilewright::passes::search
