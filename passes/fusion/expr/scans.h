// Scans inside of expressions: which of them one loop computes, and the form in which they are stored.
#pragma once
#include <optional>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The scans of some values that one loop computes.
struct ScanLoop {
  Axis axis = nullptr;
  bool is_reverse = false;
  std::vector<Expr> scans;  // sorted by key
};

/// The loop that computes every scan of the values, except scans inside of other scans. None if there are no scans, if they run along
/// several axes or in both directions, if a scan is read at another position than its own, or if a reduction contains one.
std::optional<ScanLoop> scan_loop(const std::vector<Expr>& values);

/// The operand that a scan combines, as an expression of the axis of the scan's position.
Expr scanned(ExprBuilder&, Expr scan);

/// The scan at each position of an axis of its own: equal scans that are read at several positions are one value in memory.
Expr stored_scan(ExprBuilder&, Expr scan);

/// The axis of the position of a stored scan.
Axis scan_axis(Expr stored);

}  // namespace tilewright::passes::fusion
