// Finds what a chosen graph computes in another way than the graph as written: connected pieces of classes, and the rules that lead from
// one to the other.
#pragma once
#include "passes/search/extract/extract.h"

namespace tilewright::passes::search {

/// A value that a piece computes, and that others read.
struct RewrittenTerm {
  int term = -1;  // the term as written
  int root = -1;  // its class
};

struct Piece {
  std::vector<int> classes;           // operands first
  std::vector<RewrittenTerm> values;  // at least one
};

class Difference {
 public:
  /// Keeps the references.
  Difference(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const std::vector<std::size_t>& members);

  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<std::size_t>& members() const { return members_; }
  /// Whether the chosen graph computes a class, and by its node as written.
  bool is_kept(int root) const { return states_[static_cast<std::size_t>(root)] == State::kept; }
  /// The chosen members, with those as written for the classes of a piece.
  std::vector<std::size_t> without(const Piece&) const;
  /// The numbers of the rules that lead from the values of a piece as written to what is chosen, in the order in which they are met.
  std::vector<int> rules_of(const Piece&) const;
  /// The terms as written of the values of a piece, down to what is kept.
  std::vector<int> terms_of(const Piece&) const;

 private:
  enum class State : std::uint8_t { unused, kept, changed };
  void find_pieces(const std::vector<int>& needed);

  const graph::Graph& written_;
  const GraphTerms& all_;
  const EGraph& classes_;
  const std::vector<std::size_t>& members_;
  const std::vector<std::size_t> written_members_;
  std::vector<int> terms_;     // by class: a term as written, or -1
  std::vector<State> states_;  // by class
  std::vector<Piece> pieces_;
};

}  // namespace tilewright::passes::search
