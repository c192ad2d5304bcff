// Single terms as a source of nodes: each is a class of its own.
#pragma once
#include <deque>

#include "passes/search/egraph.h"

namespace tilewright::passes::search {

class PlainTerms : public NodeSource {
 public:
  explicit PlainTerms(const TermTable& terms) : terms_(terms) {}
  const TermTable& terms() const override { return terms_; }
  Ref find(const Ref& r) const override { return r; }
  const std::vector<Member>& members(int term) const override {
    while (static_cast<int>(members_.size()) <= term) {
      const int next = static_cast<int>(members_.size());
      members_.push_back({Member{terms_.node(next), terms_.slots(next)}});
    }
    return members_[static_cast<std::size_t>(term)];
  }

 private:
  const TermTable& terms_;
  mutable std::deque<std::vector<Member>> members_;
};

}  // namespace tilewright::passes::search
