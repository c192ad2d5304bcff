// The kernels into which a segment is divided, as text for tests.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/cover/cover.h"

namespace tilewright::passes::fusion {

/// Each kernel in the order of a run: its loop, its outputs as formulas (of stored values among them), what it reads, its estimate, its
/// strategy and the next best.
std::string cover_text(const std::vector<CoveredKernel>&);

}  // namespace tilewright::passes::fusion
