// For which axes an equation holds, found by test.
//
// Theorem: let both sides be built of products, sums, additions, maps along one axis and functions of elements, with no monomial twice. The
// equation holds for given axes if and only if it holds for each of them alone. (Multiply out: a monomial becomes a sum over its summed axes
// times the extents of the summed axes that it lacks, and what happens to an axis depends on which variables have it and on its fate only.
// Extents are independent of each other, so each axis is treated alike on both sides, or the sides differ.)
// So all instances, of any rank, are decided by a table: which variables have an axis, its fate and its role.
#pragma once
#include <bitset>
#include <memory>
#include <mutex>
#include <optional>

#include "passes/search/residues.h"
#include "passes/search/rules/instance.h"

namespace tilewright::passes::search {

/// An axis at an instance of an equation. `variables`: a bit for each that has it.
struct AxisUse {
  Role role = Role::plain;
  Fate fate = Fate::kept;
  unsigned variables = 0;
};

/// An instance for which the sides differ, or for which one of them makes no sense.
struct Counterexample {
  std::string axes;         // "a: [2], b: [2, 3]"
  std::string left, right;  // shape and a number that differs: "[2] ... 17"; "no value" for a side that makes no sense
};

/// Compares the sides where the axes are these. None if they are equal, or if both make no sense.
std::optional<Counterexample> compare_sides(const Equation&, const std::vector<AxisUse>&);
/// Whether a side makes sense by itself where the axes are these.
bool makes_sense(const Equation&, int side, const std::vector<AxisUse>&);

/// The terms of both sides; the labels are the numbers of the axes.
struct Instance {
  TermTable terms;
  Binding binding;
  std::array<Ref, 2> sides;
};
/// An instance of which both sides make sense, if there is one.
std::optional<Instance> instance_of(const Equation&, const std::vector<AxisUse>&);

class Conditions {
 public:
  bool allows(Role r, Fate f, unsigned variables) const { return at(r, f).test(variables); }
  void set(const AxisUse& use, bool is_allowed) { at(use.role, use.fate).set(use.variables, is_allowed); }
  /// Axes that are there at every instance, so that the sides make sense: what is moved and what is cut.
  std::vector<AxisUse> base;

 private:
  using Table = std::bitset<1 << kMaxVariables>;
  const Table& at(Role r, Fate f) const { return tables_[static_cast<std::size_t>(r)][static_cast<std::size_t>(f)]; }
  Table& at(Role r, Fate f) { return tables_[static_cast<std::size_t>(r)][static_cast<std::size_t>(f)]; }
  std::array<std::array<Table, kFates>, kRoles> tables_;
};

/// An equation with the axes for which it holds. These are found when they are first asked for: a graph in which a side does not occur needs
/// no table of its rule. Copies share them.
class Rule {
 public:
  Rule(std::string rule_name, Equation e) : name(std::move(rule_name)), equation(std::move(e)), table_(std::make_shared<Table>()) {}
  /// Throws Error with shapes and numbers if the equation holds for no axes.
  const Conditions& conditions() const;

  std::string name;
  Equation equation;

 private:
  struct Table {
    std::once_flag is_found;
    Conditions conditions;
  };
  std::shared_ptr<Table> table_;
};

/// The axes of a base and one more: the axis of its role if the base has one.
std::vector<AxisUse> with_axis(const std::vector<AxisUse>& base, const AxisUse&);
/// All axes that an equation's instances can have: the roles that it has, each fate, each set of variables.
std::vector<AxisUse> possible_axes(const Equation&);

/// Tests an equation for all axes at once. Throws as Rule::conditions().
Rule make_rule(std::string name, const Equation&);

}  // namespace tilewright::passes::search
