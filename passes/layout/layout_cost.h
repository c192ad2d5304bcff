// The cost model of layouts; the unit is a quarter of one instruction's issue by a warp. Passes compare layouts by it; it predicts no time.
#pragma once
#include <map>
#include <tuple>

#include "passes/ir_names.h"

namespace tilewright::passes {

inline constexpr int kInstructionCost = 4;

/// The cost of a layout conversion: 0 within threads, shuffles within a warp, shared memory and a barrier between warps.
int conversion_cost(const ir::LinearLayout& from, const ir::LinearLayout& to, int element_bytes);
/// The cost of reducing `results` tiles along an axis: within registers, between lanes, between warps.
int reduction_cost(const ir::LinearLayout&, int axis, int results);

/// Conversion costs between the layouts of a function, each computed once.
class ConversionCosts {
 public:
  explicit ConversionCosts(const ir::Function& f) : f_(f) {}
  int operator()(ir::LayoutId from, ir::LayoutId to, const ir::Type&);

 private:
  const ir::Function& f_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, int> known_;
};

}  // namespace tilewright::passes
