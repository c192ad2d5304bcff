// Shared-memory allocation: assigns an offset (attribute shared) to the scratch of every op that uses shared memory.
//
// Input: distributed. Output: allocated. Numerics do not change. See tests/files/passes/allocate_shared/.
//
// An op uses its scratch only while it runs, so scratch may overlap; but an op that reuses the scratch of the op before it needs a barrier
// first. Offsets therefore increase from op to op, and start at 0 again where they would exceed the bytes that cost no occupancy:
// kFreeBytes, or an eighth more than the largest scratch.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "passes/pass.h"
#include "passes/plans/lowering_plans.h"

namespace tilewright::passes {

namespace {

// All banks: with this alignment the offset does not change bank conflicts. A smaller scratch has each bank at most once at any offset.
constexpr std::int64_t kMostAlignment = 128, kLeastAlignment = 16;
constexpr std::int64_t kFreeBytes = 8 * 1024;

struct Scratch {
  OpId op;
  std::int64_t bytes, alignment;
};

std::int64_t rounded_up(std::int64_t v, std::int64_t to) { return (v + to - 1) / to * to; }

std::string tile_text(const ir::Function& f, OpId id) {
  const auto& op = f.op(id);
  const ir::ValueId v = op.operands.empty() ? op.results[0] : op.operands[0];
  return ir::text(f.type(v));
}

}  // namespace

bool allocate_shared(ir::Function& f, const PassContext& context) {
  const LoweringPlans& plans = context.plans->get(f, context.num_warps);
  std::vector<Scratch> all;
  std::int64_t largest = 0;
  f.walk([&](OpId id) {
    const std::int64_t bytes = plans.scratch_bytes(id);
    if (bytes == 0) return;
    if (bytes > context.target.shared_bytes)
      throw Error(f.where(id),
                  fmt::format("{} of {} works in {} bytes of shared memory; a program of {} has at most {}", ir::text(f.kind(id)),
                              tile_text(f, id), bytes, context.target.name, context.target.shared_bytes));
    const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
    const std::int64_t alignment = std::clamp(whole, kLeastAlignment, kMostAlignment);
    all.push_back({id, rounded_up(bytes, alignment), alignment});
    largest = std::max(largest, all.back().bytes);
  });
  const std::int64_t end =
      std::max(largest, std::min<std::int64_t>(std::max(kFreeBytes, largest + largest / 8), context.target.shared_bytes));
  std::int64_t next = 0;
  for (const Scratch& s : all) {
    next = rounded_up(next, s.alignment);
    if (next + s.bytes > end) next = 0;
    f.set_attr(s.op, {ir::AttrName::shared, next});
    next += s.bytes;
  }
  return !all.empty();
}

}  // namespace tilewright::passes
