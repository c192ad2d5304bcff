// Assertions about a kernel's counters in text tests. Example: "sectors_per_request(load) <= 4".
#pragma once
#include <string>
#include <string_view>

#include "runtime/emulator/cost/counters.h"

namespace tilewright::test {

/// Empty if the assertion holds, else what is the case. COUNTER(SUBJECT) OP NUMBER, where the counter is one of `instructions`, `requests`,
/// `bytes`, `sectors`, `wavefronts`, `sectors_per_request`, `wavefronts_per_request`, `excess` (sectors or wavefronts beyond the least)
/// and `never_ran`; the subject a category of instructions ("load_shared"), `load` and `store` for those of global memory, or `all`; OP is
/// one of == <= >= < >. Throws std::invalid_argument for anything else.
std::string failure_of(std::string_view assertion, const rt::emulator::KernelCounters&);

}  // namespace tilewright::test
