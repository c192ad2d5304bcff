// Finds instances of one side of an equation among the nodes of classes.
#pragma once
#include "passes/search/egraph.h"
#include "passes/search/rules/conditions.h"

namespace tilewright::passes::search {

/// One side of a rule found at a reference.
struct Match {
  Binding binding;
  Ref found;  // the instance, built of the nodes that were matched
};

/// Calls back for each instance of a side at a reference for whose axes the rule holds. What a variable stands for is a class.
///
///   1. step: matches the nodes of the pattern from the outside to the inside, each with every member of the class there; axes that a member
///      sums get fresh labels.
///   2. bind: a variable that occurs again stands for the same class with the same axes; axes that different addends sum are one axis.
///   3. finish: collects which variables have each axis. If only the other side cuts an axis, it may be any that is cut.
///   4. accept: asks the rule's conditions for what becomes of each axis. If only the other side has two nested sums, they share the axes that
///      this side sums in every possible way.
///
/// Nodes of one op have one attribute: a function is the same function, a cut the same cut, and products that sum multiply in one way. Products
/// have the element type of their factors.
class Matcher {
 public:
  Matcher(const NodeSource& source, TermTable& terms, const Rule& rule, int side);
  /// How far below a reference are the classes whose members matches there depend on: 0 for its own class alone.
  int depth() const { return depth_; }
  /// How far below it are the classes for which the variables stand.
  int depth_of_variables() const { return depth_of_variables_; }
  /// Whether the class of a term has a node of the pattern's op, without which nothing matches there.
  bool has_root(int term) const { return can_be(0, term); }
  /// `act` gets each match, and may add terms to the table.
  template <class Act>
  void at(const Ref& r, Act&& act) {
    matches_.clear();
    start(r);
    for (const Match& m : matches_) act(m);
  }

 private:
  struct Visit {  // a visit of a node of the pattern
    Ref ref;      // the reference that was found there
    Node node;    // the member that was taken, in labels of the match
  };
  struct State {
    std::array<Label, kMaxLabels> alias;         // fresh labels that are one axis
    std::array<std::int8_t, kMaxLabels> binder;  // the node of the pattern that sums a fresh label
    Label next = 0;
    std::array<Ref, kMaxVariables> variables;
    Label moved = kNoLabel, cut = kNoLabel;
    std::optional<std::int32_t> product, function, move, cut_number;
    ir::Element function_element{};
  };

  bool can_be(std::size_t node, int term) const;
  void start(const Ref&);
  void step(std::size_t node);
  void take(std::size_t node, const Member&, bool swapped);
  bool bind_attribute(const Node&);
  bool bind(const Ref& variable, const Ref& again);
  void finish();
  void accept(Match, const std::array<unsigned, kMaxLabels>& having, Label cut);
  Label resolved(Label l) const { return state_.alias[l]; }
  Ref resolved(const Ref&) const;
  Ref build(std::size_t node);
  bool are_in_different_addends(int a, int b) const;

  const NodeSource& source_;
  TermTable& terms_;
  const Rule& rule_;
  const Pattern& pattern_;
  bool other_sums_;    // the other side has a sum and this one has none
  bool other_splits_;  // the other side has nested sums and this one has none
  int depth_ = 0, depth_of_variables_ = 0;
  std::vector<int> parents_;
  std::vector<Visit> visits_;
  State state_;
  Label first_fresh_ = 0;
  LabelSet kept_ = 0;
  std::vector<Match> matches_;
};

}  // namespace tilewright::passes::search
