// Matching of rules in an e-graph, and their test at shapes.
#include "tests/unit/passes/search/taso/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/search/egraph.h"
#include "passes/search/residues.h"

namespace tilewright::passes::search::taso {
namespace {

constexpr int kTermsOfNode = 4;  // terms of the table for each node of the limit
constexpr std::uint64_t kSeed = 77;

void collect_leaves(const Pattern& p, std::vector<int>& found) {
  for (const PatternNode& n : p)
    if (!n.op && leaves()[static_cast<std::size_t>(n.leaf)].kind && std::ranges::find(found, n.leaf) == found.end())
      found.push_back(n.leaf);
}

/// The value of a side; none if it makes no sense for these leaves.
std::optional<Tensor> value_of(const Pattern& p, int node, const std::vector<Tensor>& by_leaf) {
  const PatternNode& n = p[static_cast<std::size_t>(node)];
  if (!n.op) return by_leaf[static_cast<std::size_t>(n.leaf)];
  const std::optional<Tensor> a = value_of(p, n.in[0], by_leaf);
  const std::optional<Tensor> b = n.in[1] < 0 ? a : value_of(p, n.in[1], by_leaf);
  if (!a || !b || !result_shape(*n.op, a->shape, b->shape)) return std::nullopt;
  return evaluate(*n.op, *a, *b);
}

const Shape& base_shape(int leaf) {
  static const std::vector<Tensor> values = leaf_values({}, kSeed);
  return values[static_cast<std::size_t>(leaf)].shape;
}

/// Finds the instances of one side of a rule at a class, and builds the other side there.
class SideMatcher {
 public:
  SideMatcher(const TasoRule& rule, int side) : rule_(rule), pattern_(rule.side(side)), other_(rule.side(1 - side)), at_(pattern_.size()) {}

  const TasoRule* rule() const { return &rule_; }

  template <class Act>
  void at(const EGraph& graph, Terms& terms, int root, Act&& act) {
    bound_.fill(-1);
    at_[0] = root;
    step(graph, terms, 0, act);
  }

 private:
  template <class Act>
  void step(const EGraph& graph, Terms& terms, std::size_t node, Act&& act) {
    if (node == pattern_.size()) return finish(terms, act);
    const PatternNode& p = pattern_[node];
    const int here = at_[node];
    if (!p.op) {
      if (leaves()[static_cast<std::size_t>(p.leaf)].constant) {
        for (const Member& m : graph.members(here))
          if (m.node.op == Op::variable && m.node.attribute == p.leaf) return step(graph, terms, node + 1, act);
        return;
      }
      int& bound = bound_[static_cast<std::size_t>(p.leaf)];
      if (bound >= 0 && bound != here) return;
      const int before = bound;
      bound = here;
      step(graph, terms, node + 1, act);
      bound = before;
      return;
    }
    for (const Member& m : graph.members(here)) {
      if (m.node.op == Op::variable || op_of(m.node) != *p.op) continue;
      const auto take = [&](std::size_t first, std::size_t second) {
        at_[static_cast<std::size_t>(p.in[0])] = m.node.in[first].term;
        if (p.in[1] >= 0) at_[static_cast<std::size_t>(p.in[1])] = m.node.in[second].term;
        step(graph, terms, node + 1, act);
      };
      take(0, 1);
      if (is_commutative(m.node.op) && m.node.in[0].term != m.node.in[1].term) take(1, 0);
    }
  }

  template <class Act>
  void finish(Terms& terms, Act&& act) {
    shapes_.clear();
    for (int v : rule_.variables()) shapes_.push_back(terms.shape(bound_[static_cast<std::size_t>(v)]));
    if (!rule_.holds(shapes_)) return;
    if (const Ref made = build(terms, 0)) act(made);
  }

  Ref build(Terms& terms, int node) const {
    const PatternNode& n = other_[static_cast<std::size_t>(node)];
    if (n.op) {
      const Ref a = build(terms, n.in[0]);
      return terms.make(*n.op, a, n.in[1] < 0 ? Ref{} : build(terms, n.in[1]));
    }
    const Leaf& leaf = leaves()[static_cast<std::size_t>(n.leaf)];
    return leaf.constant ? terms.leaf(n.leaf, base_shape(n.leaf)) : Ref{bound_[static_cast<std::size_t>(n.leaf)], {}};
  }

  const TasoRule& rule_;
  const Pattern &pattern_, &other_;
  std::vector<int> at_;
  std::array<int, 32> bound_{};
  std::vector<Shape> shapes_;
};

/// The shapes of a kind for which claims are tested.
std::vector<Shape> shapes_of_kind(Kind kind) {
  std::vector<Shape> shapes = {shape_of(kind, {})};
  const auto with = [&](std::size_t axis, int extent) {
    shapes.push_back(shapes[0]);
    shapes.back().extents[axis] = extent;
  };
  switch (kind) {
    case Kind::image: with(1, 8), with(1, 2), with(0, 4); break;
    case Kind::filter:
    case Kind::row_filter:
    case Kind::column_filter: with(0, 8), with(0, 2), with(1, 2); break;
    case Kind::channel_filter: with(0, 8); break;
    case Kind::rows: with(0, 4), with(1, 6); break;
    case Kind::matrix: with(0, 6), with(1, 6); break;
    case Kind::number: break;
  }
  return shapes;
}

}  // namespace

Pattern pattern_of(const Terms& terms, int term) {
  Pattern p;
  const auto put = [&](auto& self, int t) -> int {
    const Node& n = terms.table().node(t);
    const std::size_t at = p.size();
    p.emplace_back();
    if (n.op == Op::variable) {
      p[at].leaf = n.attribute;
      return static_cast<int>(at);
    }
    p[at].op = op_of(n);
    for (std::size_t i = 0; i < 2; ++i)
      if (n.in[i]) {
        const int operand = self(self, n.in[i].term);
        p[at].in[i] = operand;
      }
    return static_cast<int>(at);
  };
  put(put, term);
  return p;
}

TasoRule::TasoRule(const Terms& terms, const Ref& left, const Ref& right) {
  sides_ = {pattern_of(terms, left.term), pattern_of(terms, right.term)};
  for (const Pattern& p : sides_) collect_leaves(p, variables_);
  for (std::size_t s = 0; s < 2; ++s) {
    std::vector<int> own;
    collect_leaves(sides_[s], own);
    binds_all_[s] = own.size() == variables_.size();
  }
}

std::string TasoRule::text() const {
  const auto text_of = [](const Pattern& p) {
    const auto at = [&](auto& self, int node) -> std::string {
      const PatternNode& n = p[static_cast<std::size_t>(node)];
      if (!n.op) return leaves()[static_cast<std::size_t>(n.leaf)].name;
      return fmt::format("{}({}{})", name(*n.op), self(self, n.in[0]), n.in[1] < 0 ? "" : ", " + self(self, n.in[1]));
    };
    return at(at, 0);
  };
  return text_of(sides_[0]) + " = " + text_of(sides_[1]);
}

bool TasoRule::holds(const std::vector<Shape>& by_variable) const {
  std::uint64_t key = 0;
  for (const Shape& s : by_variable) key = scramble(key * 0x9E3779B97F4A7C15u + s.key());
  const auto [at, is_new] = known_.emplace(key, false);
  if (!is_new) return at->second;
  std::vector<Tensor> values = leaf_values({}, kSeed);
  for (std::size_t i = 0; i < variables_.size(); ++i)
    values[static_cast<std::size_t>(variables_[i])] = random_tensor(by_variable[i], kSeed + 100 + i);
  const std::optional<Tensor> left = value_of(sides_[0], 0, values), right = left ? value_of(sides_[1], 0, values) : left;
  return at->second = left && right && left->shape == right->shape && left->values == right->values;
}

std::optional<Counterexample> TasoRule::compare(const std::vector<Shape>& by_variable) const {
  std::vector<Tensor> values = leaf_values({}, kSeed);
  for (std::size_t i = 0; i < variables_.size(); ++i)
    values[static_cast<std::size_t>(variables_[i])] = random_tensor(by_variable[i], kSeed + 100 + i);
  const std::optional<Tensor> left = value_of(sides_[0], 0, values), right = left ? value_of(sides_[1], 0, values) : left;
  if (!left || !right || (left->shape == right->shape && left->values == right->values)) return std::nullopt;
  Counterexample c;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    c.shapes +=
        fmt::format("{}{}: {}", i == 0 ? "" : ", ", leaves()[static_cast<std::size_t>(variables_[i])].name, taso::text(by_variable[i]));
  std::size_t element = 0;
  if (left->shape == right->shape)
    element = static_cast<std::size_t>(std::ranges::mismatch(left->values, right->values).in1 - left->values.begin());
  c.left = fmt::format("{} {}", taso::text(left->shape), left->values[element]);
  c.right = fmt::format("{} {}", taso::text(right->shape), right->values[element]);
  return c;
}

std::optional<Counterexample> TasoRule::refute() const {
  std::vector<std::vector<Shape>> choices;
  for (int v : variables_) choices.push_back(shapes_of_kind(*leaves()[static_cast<std::size_t>(v)].kind));
  std::vector<std::size_t> at(choices.size(), 0);
  for (;;) {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < at.size(); ++i) shapes.push_back(choices[i][at[i]]);
    if (auto c = compare(shapes)) return c;
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == choices[i].size()) at[i++] = 0;
    if (i == at.size()) return std::nullopt;
  }
}

struct TasoRules::Matchers {
  std::array<std::vector<SideMatcher>, kTasoOps> by_root;  // those whose outermost node is of an op
  std::vector<SideMatcher> of_leaves;                      // and those that are a leaf alone

  void add(const TasoRule& rule) {
    for (int side = 0; side < 2; ++side) {
      if (!rule.binds_all(side)) continue;
      const std::optional<TasoOp> root = rule.side(side)[0].op;
      (root ? by_root[static_cast<std::size_t>(*root)] : of_leaves).emplace_back(rule, side);
    }
  }
};

TasoRules::TasoRules(const Terms& terms, const TasoLimits& limits)
    : terms_(terms), limits_(limits), matchers_(std::make_unique<Matchers>()) {}
TasoRules::~TasoRules() = default;

bool TasoRules::entail(const Candidate& c, int without) const { return entail(terms_, c.left, c.right, limits_, without); }

bool TasoRules::add(const Candidate& c) {
  rules_.push_back(std::make_unique<TasoRule>(terms_, c.left, c.right));
  matchers_->add(*rules_.back());
  return true;
}

void TasoRules::drop(int rule) {
  rules_.erase(rules_.begin() + rule);
  matchers_ = std::make_unique<Matchers>();
  for (const auto& r : rules_) matchers_->add(*r);
}

bool TasoRules::entail(const Terms& from, const Ref& left, const Ref& right, const TasoLimits& limits, int without) const {
  const TasoRule* const left_out = without < 0 ? nullptr : rules_[static_cast<std::size_t>(without)].get();
  Terms terms;
  const Ref a = terms.copy(from, left.term), b = terms.copy(from, right.term);
  EGraph graph(terms.table());
  graph.add_terms();
  for (int round = 0;; ++round) {
    if (graph.are_equal(a, b)) return true;
    if (round == limits.rounds || graph.nodes() > limits.nodes) return false;
    std::vector<std::pair<int, Ref>> found;
    const int classes = graph.added_terms();
    const auto is_full = [&] { return terms.table().size() > classes + kTermsOfNode * static_cast<int>(limits.nodes); };
    const auto match = [&](std::vector<SideMatcher>& matchers, int root) {
      for (SideMatcher& m : matchers) {
        if (is_full() || m.rule() == left_out) continue;
        m.at(graph, terms, root, [&](const Ref& made) {
          if (made.term >= classes || !graph.are_equal(made, {root, {}})) found.emplace_back(root, made);
        });
      }
    };
    for (int root = 0; root < classes && !is_full(); ++root) {
      if (!graph.is_root(root)) continue;
      unsigned ops = 0;
      for (const Member& m : graph.members(root))
        if (m.node.op != Op::variable) ops |= 1u << static_cast<int>(op_of(m.node));
      for (std::size_t op = 0; op < kTasoOps; ++op)
        if ((ops >> op & 1) != 0) match(matchers_->by_root[op], root);
      match(matchers_->of_leaves, root);
    }
    graph.add_terms();
    bool has_changed = false;
    for (const auto& [root, made] : found) has_changed |= graph.unite({root, {}}, made, 0);
    if (!has_changed) return false;
    graph.rebuild();
  }
}

}  // namespace tilewright::passes::search::taso
