// What it costs to work under one layout or another, in quarters of an instruction's issue by a warp: the common measure of the passes
// that choose layouts. A model to compare with, not a prediction of time.
#pragma once
#include <map>
#include <tuple>

#include "passes/ir_names.h"

namespace tilewright::passes {

inline constexpr int kInstructionCost = 4;

/// To bring a tile from one layout to another: nothing where threads have their elements, shuffles within a warp, shared memory and a
/// barrier beyond it.
int conversion_cost(const ir::LinearLayout& from, const ir::LinearLayout& to, int element_bytes);
/// To combine along an axis, `results` tiles at once: in registers, between lanes, between warps.
int reduction_cost(const ir::LinearLayout&, int axis, int results);

/// Conversion costs between the layouts of a function, each worked out once.
class ConversionCosts {
 public:
  explicit ConversionCosts(const ir::Function& f) : f_(f) {}
  int operator()(ir::LayoutId from, ir::LayoutId to, const ir::Type&);

 private:
  const ir::Function& f_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, int> known_;
};

}  // namespace tilewright::passes
