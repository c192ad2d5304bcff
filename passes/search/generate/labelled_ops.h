// The table of the ops of labelled terms, over two axes: one that is summed and moved, and one that is cut.
#pragma once
#include "passes/search/generate/op_table.h"
#include "passes/search/residues.h"

namespace tilewright::passes::search {

class LabelledOps : public OpTable {
 public:
  const TermTable& terms() const override { return terms_; }
  void add_leaves(const Made&) override;
  void extend(const Ref&, const Made&) override;
  void combine(const Ref&, const Ref&, const Made&) override;
  std::uint64_t fingerprint(const Ref&) override;
  bool agree_elsewhere(const Ref&, const Ref&) override;
  int kind(int variable) const override { return kinds_[static_cast<std::size_t>(variable)]; }
  /// The number of ops. A part counts as three, so that equations concatenate pieces rather than cut them out of a concatenation.
  int size(int term) const override;

 private:
  TermTable terms_;
  Residues values_{terms_, {}};
  std::vector<Residues> others_;
  std::vector<int> kinds_;
};

}  // namespace tilewright::passes::search
