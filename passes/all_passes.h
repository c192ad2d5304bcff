// The function of every pass, for the table and for tests that call one by itself; a row in passes.def changes it.
#pragma once
#include "passes/pass.h"

namespace tilewright::passes {

// bool canonicalize(ir::Function&, const PassContext&); and so on.
#define TW_PASS(name, summary) bool name(ir::Function&, const PassContext&);
#include "passes/passes.def"
#undef TW_PASS

}  // namespace tilewright::passes
