// Declares the functions of passes.def, for the table and for tests that call one pass. A new row recompiles what includes this.
#pragma once
#include "passes/pass.h"

namespace tilewright::passes {

// bool canonicalize(ir::Function&, const PassContext&); and so on.
#define TW_PASS(name, summary) bool name(ir::Function&, const PassContext&);
#include "passes/passes.def"
#undef TW_PASS_KEEPING_PLANS
#undef TW_PASS

}  // namespace tilewright::passes
