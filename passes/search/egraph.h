// The e-graph: classes of labelled terms that are known to be equal, closed under congruence.
//
// Terms stand in a table, each as it was built. A class is a set of terms of equal value up to the order of their slots; the edges of the
// union-find carry the slot of the parent for each slot of the child. A member of a class is a node whose operands are classes, in canonical
// form; terms whose nodes become the same by this are united, until nothing changes.
//
// Every union has a reason, a rule or congruence, and the edges of these reasons form a forest over terms: the path between two terms is a
// proof that they are equal (Nieuwenhuis and Oliveras, "Proof-producing congruence closure", 2005).
#pragma once
#include <unordered_map>
#include <vector>

#include "passes/search/labelled.h"

namespace tilewright::passes::search {

/// A node of a class: operands are classes; `slots` has the node's label for each slot of the class.
struct Member {
  Node node;
  Labels slots;
};

/// The source from which a matcher takes the nodes of a reference: classes of an e-graph, or single terms.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  virtual const TermTable& terms() const = 0;
  virtual Ref find(const Ref&) const = 0;
  /// The members of a class that `find` returned.
  virtual const std::vector<Member>& members(int term) const = 0;
};

inline constexpr int kCongruence = -1;

class EGraph : public NodeSource {
 public:
  explicit EGraph(TermTable& terms) : terms_(terms) {}
  const TermTable& terms() const override { return terms_; }
  Ref find(const Ref&) const override;
  const std::vector<Member>& members(int term) const override { return members_[static_cast<std::size_t>(term)]; }

  /// A term for each member of a class, of which it is the node.
  const std::vector<int>& sources(int root) const { return sources_[static_cast<std::size_t>(root)]; }

  /// Gives classes to the terms that were added to the table since the last call.
  void add_terms();
  /// How many terms have classes: the first ones of the table.
  int added_terms() const { return static_cast<int>(parents_.size()); }
  /// Returns whether they were different. `reason`: the number of a rule.
  bool unite(const Ref&, const Ref&, int reason);
  /// Closes the classes under congruence.
  void rebuild();
  bool is_root(int term) const { return parents_[static_cast<std::size_t>(term)].term == term; }
  bool are_equal(const Ref& a, const Ref& b) const { return find(a) == find(b); }
  /// Whether the members of a class are others than at the last call of clear_changes.
  bool has_changed(int root) const { return has_changed_[static_cast<std::size_t>(root)]; }
  void clear_changes() { has_changed_.assign(has_changed_.size(), false); }
  std::size_t nodes() const { return nodes_; }

  /// An edge of the forest of reasons: the other term, with the slot labels that it has where this term's slots are labelled 0, 1, ...
  struct Reason {
    Ref to;
    int rule = kCongruence;
  };
  const Reason& reason(int term) const { return reasons_[static_cast<std::size_t>(term)]; }
  /// The node of a term with its operands replaced by their classes, in canonical form.
  CanonicalNode normal(int term) const;

 private:
  CanonicalNode normalise(const Node&) const;
  void add_reason(const Ref&, const Ref&, int rule);
  struct Known {
    int term;
    Labels slots;  // the slots of the term, in labels of the node
  };
  struct Pending {
    Ref a, b;
  };
  void unite_pending();

  TermTable& terms_;
  std::vector<Ref> parents_;  // labels: slots of the parent, by slots of the child
  std::vector<Reason> reasons_;
  std::vector<std::vector<Member>> members_;
  std::vector<std::vector<int>> sources_;  // the term of each member
  std::vector<bool> has_changed_;          // by class
  std::unordered_map<Node, Known, NodeHash> known_;
  std::vector<Pending> pending_;
  std::size_t nodes_ = 0;
};

}  // namespace tilewright::passes::search
