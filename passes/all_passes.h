// Declares the functions of passes.def, for the table of passes and for tests that call one pass. A new row recompiles every includer.
#pragma once
#include "passes/pass.h"

namespace tilewright::passes {

// Declares bool canonicalize(ir::Function&, const PassContext&) and so on.
#define TW_PASS(name, summary) bool name(ir::Function&, const PassContext&);
#include "passes/passes.def"
#undef TW_PASS_KEEPING_PLANS
#undef TW_PASS

}  // namespace tilewright::passes
