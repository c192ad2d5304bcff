// What the generator needs of ops and of rules. The search has one table of ops, labelled_ops.h; others may be given.
#pragma once
#include <functional>

#include "passes/search/labelled.h"

namespace tilewright::passes::search {

/// Two terms of equal values.
struct Candidate {
  Ref left, right;
  int size = 0, variables = 0;
};

/// The ops over which terms are enumerated, and their values.
class OpTable {
 public:
  virtual ~OpTable() = default;
  /// Called with each term that is made; with none where the operands do not fit.
  using Made = std::function<void(const Ref&)>;

  virtual const TermTable& terms() const = 0;
  /// The variables, numbered from 0 by kind, and then the constants.
  virtual void add_leaves(const Made&) = 0;
  /// The terms of one op with this operand.
  virtual void extend(const Ref&, const Made&) = 0;
  /// The terms of one op with these operands, in this order. Of commutative ops one order is enough.
  virtual void combine(const Ref&, const Ref&, const Made&) = 0;

  /// Terms of one fingerprint have the same axes and the same values, but for a negligible probability.
  virtual std::uint64_t fingerprint(const Ref&) = 0;
  /// Whether the values of two such terms are also equal at other extents.
  virtual bool agree_elsewhere(const Ref&, const Ref&) = 0;
  /// Variables of one kind have the same axes: an equation says the same with one in the place of another. A constant is of no kind: -1.
  virtual int kind(int variable) const = 0;
  /// How simple a term is: the fewer, the earlier it becomes a side of a rule.
  virtual int size(int term) const = 0;
};

/// The rules that the generator keeps.
class KeptRules {
 public:
  virtual ~KeptRules() = default;
  /// Whether the rules entail that the terms are equal; `without`: the number of a rule that is left out.
  virtual bool entail(const Candidate&, int without = -1) const = 0;
  /// Makes a candidate the last rule. Returns false, and keeps none, if it cannot be one.
  virtual bool add(const Candidate&) = 0;
  /// The rules after it move up.
  virtual void drop(int rule) = 0;
  virtual int size() const = 0;
};

}  // namespace tilewright::passes::search
