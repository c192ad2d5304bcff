// The strategies by which an output may be divided into kernels: which values inside of it other kernels compute and store.
//
// All that apply are estimated, and the fastest is taken. explain() prints the name of that one and of the next best. To add one, write its
// transformation (stored_values.h) and a row of the table in strategies.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "passes/fusion/cover/stored_values.h"
#include "passes/fusion/expr/unique_bound_axes.h"

namespace tilewright::passes::fusion {

/// Strategies are tried in this order.
enum class Tried : std::uint8_t {
  for_each_loop,  // with each axis that may be the loop, if no strategy before it stores the same with that loop
  if_storing,     // with each axis that may be the loop, if it stores something
  for_best_loop,  // with the loop of the best plan for the rest, if it stores something
  if_none_fits,   // as above, if no alternative so far fits on chip
  if_read_again,  // without a loop, if the best alternative so far reads again, after its reductions, what these read
};

struct Strategy {
  std::string_view name;  // as explain() prints it
  Tried tried;
  /// Returns the output's value with loads in place of values that other kernels store, and adds value -> load to `stored`. If there is
  /// nothing to store, returns the value unchanged.
  Expr (*transform)(StoredValues&, Expr value, Axis loop, ExprMap& stored);
  bool uses_loop = true;  // whether the transformation depends on the loop
};
std::span<const Strategy> strategies();

/// A change that may be made in addition to any strategy. Each refinement that makes a difference is an alternative of its own.
struct Refinement {
  enum class Kind : std::uint8_t {
    stores,   // stores more; not for strategies with the best loop, which store reductions themselves
    renames,  // gives axes other names
    none,
  };
  std::string_view name;  // as explain() prints it after that of the strategy
  Kind kind;
  Expr (*transform)(StoredValues&, UniqueBoundAxes&, Expr value, Axis loop, ExprMap& stored);
};
std::span<const Refinement> refinements();

}  // namespace tilewright::passes::fusion
