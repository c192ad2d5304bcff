// Tests equations axis by axis.
#include "passes/search/rules/conditions.h"

#include <fmt/format.h>

#include "tilewright/error.h"

namespace tilewright::passes::search {
namespace {

constexpr Sizes kTestSizes[] = {{2, 1, 2, 11}, {3, 2, 3, 12}, {1, 1, 1, 13}};
constexpr Extent kCutExtents[] = {Extent::whole, Extent::first, Extent::second};

/// Which part of the cut axis the variables have, by the closest cat or part around them: a piece, or the whole. A variable without a cat
/// or part around it does not change.
using CutExtents = std::array<Extent, kMaxVariables>;

void find_extents(const Pattern& p, int node, std::optional<Extent> here, CutExtents& found) {
  const PatternNode& n = p[static_cast<std::size_t>(node)];
  if (n.op == Op::variable && here) found[static_cast<std::size_t>(n.variable)] = *here;
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(n.op)); ++i) {
    if (n.op == Op::cat)
      find_extents(p, n.in[i], i == 0 ? Extent::first : Extent::second, found);
    else if (n.op == Op::part0 || n.op == Op::part1)
      find_extents(p, n.in[i], Extent::whole, found);
    else
      find_extents(p, n.in[i], here, found);
  }
}

/// The extents that the given sides require; `free` for variables of which neither side requires one.
CutExtents cut_extents(const Equation& e, std::span<const int> sides, Extent free) {
  CutExtents found;
  found.fill(free);
  for (int s : sides) find_extents(e.side(s), 0, std::nullopt, found);
  return found;
}

constexpr int kBothSides[] = {0, 1};

Instance instance_of(const Equation& e, const std::vector<AxisUse>& axes, const CutExtents& cut) {
  Instance i;
  for (std::size_t v = 0; v < e.variables.size(); ++v) {
    std::vector<Extent> extents;
    Labels labels;
    for (std::size_t l = 0; l < axes.size(); ++l) {
      if ((axes[l].variables >> v & 1) == 0) continue;
      labels.push_back(static_cast<Label>(l));
      extents.push_back(axes[l].role == Role::cut ? cut[v] : Extent::plain);
    }
    i.binding.variables[v] = i.terms.variable(static_cast<int>(v), extents);
    i.binding.variables[v].labels = labels;
  }
  for (std::size_t l = 0; l < axes.size(); ++l) {
    const auto label = static_cast<Label>(l);
    if (axes[l].fate == Fate::kept) i.binding.kept |= set_of(label);
    if (axes[l].fate == Fate::summed_by_sum) i.binding.left_to_sum |= set_of(label);
    if (axes[l].role == Role::moved) i.binding.moved = label;
    if (axes[l].role == Role::cut) i.binding.cut = label;
  }
  for (std::size_t s = 0; s < 2; ++s) i.sides[s] = instantiate(i.terms, e.side(static_cast<int>(s)), i.binding);
  return i;
}

bool has_cut(const Equation& e) {
  for (int s = 0; s < 2; ++s)
    for (Op op : {Op::cat, Op::part0, Op::part1})
      if (has_op(e.side(s), op)) return true;
  return false;
}

std::string side_text(Instance& i, std::size_t side, Residues& values, std::size_t element) {
  if (!i.sides[side]) return "no value";
  return fmt::format("{} {}", values.shape(i.sides[side]), values.of(i.sides[side])[element]);
}

}  // namespace

std::optional<Counterexample> compare_sides(const Equation& e, const std::vector<AxisUse>& axes) {
  for (Extent free : kCutExtents) {
    Instance i = instance_of(e, axes, cut_extents(e, kBothSides, free));
    if (!i.sides[0] && !i.sides[1]) continue;
    for (const Sizes& sizes : kTestSizes) {
      Residues values(i.terms, sizes);
      std::size_t element = 0;
      if (i.sides[0] && i.sides[1]) {
        const auto left = values.of(i.sides[0]), right = values.of(i.sides[1]);
        if (left == right) continue;
        if (left.size() == right.size())
          element = static_cast<std::size_t>(std::mismatch(left.begin(), left.end(), right.begin()).first - left.begin());
      }
      Counterexample c;
      for (std::size_t v = 0; v < e.variables.size(); ++v)
        c.axes += fmt::format("{}{}: {}", v == 0 ? "" : ", ", e.variables[v], values.shape(i.binding.variables[v]));
      c.left = side_text(i, 0, values, element);
      c.right = side_text(i, 1, values, element);
      return c;
    }
  }
  return std::nullopt;
}

bool makes_sense(const Equation& e, int side, const std::vector<AxisUse>& axes) {
  const int sides[] = {side};
  return std::any_of(std::begin(kCutExtents), std::end(kCutExtents), [&](Extent free) {
    return static_cast<bool>(instance_of(e, axes, cut_extents(e, sides, free)).sides[static_cast<std::size_t>(side)]);
  });
}

std::optional<Instance> instance_of(const Equation& e, const std::vector<AxisUse>& axes) {
  for (Extent free : kCutExtents)
    if (Instance i = instance_of(e, axes, cut_extents(e, kBothSides, free)); i.sides[0] && i.sides[1]) return i;
  return std::nullopt;
}

std::vector<AxisUse> with_axis(const std::vector<AxisUse>& base, const AxisUse& use) {
  std::vector<AxisUse> axes;
  for (const AxisUse& a : base)
    if (a.role != use.role) axes.push_back(a);
  axes.push_back(use);
  return axes;
}

std::vector<AxisUse> possible_axes(const Equation& e) {
  const auto has = [&](Op op) { return has_op(e.left, op) || has_op(e.right, op); };
  std::vector<Role> roles = {Role::plain};
  if (has(Op::view)) roles.push_back(Role::moved);
  if (has_cut(e)) roles.push_back(Role::cut);
  std::vector<AxisUse> axes;
  for (Role role : roles)
    for (Fate fate : {Fate::kept, Fate::summed_by_product, Fate::summed_by_sum})
      for (unsigned variables = 1; variables < 1u << e.variables.size(); ++variables)
        if (fate == Fate::kept || has(fate == Fate::summed_by_sum ? Op::sum : Op::product)) axes.push_back({role, fate, variables});
  return axes;
}

namespace {

Conditions find_conditions(const Equation& e) {
  Conditions conditions;
  const std::vector<AxisUse> possible = possible_axes(e);
  // The base: axes for views and for cuts, the first ones for which both sides make sense and agree.
  std::vector<std::vector<AxisUse>> bases = {{}};
  for (Role role : {Role::moved, Role::cut}) {
    std::vector<std::vector<AxisUse>> longer;
    for (const auto& base : bases)
      for (const AxisUse& use : possible)
        if (use.role == role) {
          longer.push_back(base);
          longer.back().push_back(use);
        }
    if (!longer.empty()) bases = std::move(longer);
  }
  std::optional<Counterexample> first;
  const auto holds = [&](const std::vector<AxisUse>& axes) {
    if (!instance_of(e, axes)) return false;
    const std::optional<Counterexample> c = compare_sides(e, axes);
    if (c && !first) first = c;
    return !c;
  };
  const auto base = std::find_if(bases.begin(), bases.end(), holds);
  if (base == bases.end())
    throw Error({}, first
                        ? fmt::format("'{}' is false for {}: the left is {}, the right {}", text(e), first->axes, first->left, first->right)
                        : fmt::format("'{}' makes sense for no axes", text(e)));
  conditions.base = *base;
  for (const AxisUse& use : possible) conditions.set(use, holds(with_axis(*base, use)));
  return conditions;
}

}  // namespace

const Conditions& Rule::conditions() const {
  std::call_once(table_->is_found, [&] { table_->conditions = find_conditions(equation); });
  return table_->conditions;
}

Rule make_rule(std::string name, const Equation& e) {
  Rule rule(std::move(name), e);
  rule.conditions();
  return rule;
}

}  // namespace tilewright::passes::search
