// Expands passes.def.
#include "passes/pass_table.h"

#include "passes/all_passes.h"

namespace tilewright::passes {

namespace {
constexpr PassInfo kPasses[] = {
#define TW_PASS(name, summary) {#name, summary, name},
#define TW_PASS_KEEPING_PLANS(name, summary) {#name, summary, name, true},
#include "passes/passes.def"
#undef TW_PASS_KEEPING_PLANS
#undef TW_PASS
};
}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& p : kPasses)
    if (p.name == name) return &p;
  return nullptr;
}

}  // namespace tilewright::passes
