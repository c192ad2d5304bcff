// Plans records, networks and scratch.
#include "passes/plans/sort_plan.h"

#include <algorithm>
#include <bit>

#include "passes/plans/conversion_plan.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

namespace {

constexpr std::int64_t kMostExchangeBytes = 16 << 10;
/// Limit of unrolled compare-exchanges of a thread, four to ten instructions each. Loops execute a few more instructions, but sort 1024
/// elements on 4 warps in a sixth of the code.
constexpr int kMostComparisons = 384;
constexpr int kMostRecordRegisters = 128;  // a thread has 255 registers, and a step needs more while it exchanges records

/// Whether every row of the tile is 0, 1, 2, ...
bool is_row_index(const Function& f, ValueId v) {
  for (;;) {
    const OpId id = f.value(v).op;
    if (!id) return false;
    const ir::Type t = f.type(v);
    switch (f.kind(id)) {
      case OpKind::arange_: return f.attr(id, ir::AttrName::lo) == 0;
      case OpKind::convert_layout_: break;
      case OpKind::broadcast_:
      case OpKind::reshape_: {
        // Rows stay the same if the last extent does not change.
        const ir::Type x = f.type(f.operand(id, 0));
        if (x.is_scalar() || x.extent(x.rank() - 1) != t.extent(t.rank() - 1)) return false;
        break;
      }
      default: return false;
    }
    v = f.operand(id, 0);
  }
}

/// The compare-exchanges of a thread if all steps are unrolled.
std::int64_t comparisons(std::int64_t registers, int register_bits, int log2_extent, int log2_kept) {
  std::int64_t n = registers * log2_kept * (log2_kept + 1) / 2;
  for (int bit = register_bits - 1; bit >= log2_kept; --bit) n += (registers /= 2) * (log2_kept + 1);
  return n + std::max(log2_extent - std::max(register_bits, log2_kept), 0) * registers * (log2_kept + 1);
}

}  // namespace

SortPlan::SortPlan(const Function& f, OpId id, int num_warps) {
  const auto& operands = f.op(id).operands;
  const ir::Type keys = f.type(operands[0]), result = f.type(f.result(id));
  layout = f.layout(operands[0]).without_free_registers();
  auto found = ir::axis_order(layout, layout.rank() - 1);
  TW_CHECK(found && found->high_registers.empty(), "the rows of a sort are not in order");
  order = *std::move(found);
  for (int bit = 0; bit < layout.bits(ir::HardwareDim::reg); ++bit)
    if (std::find(order.low_registers.begin(), order.low_registers.end(), bit) == order.low_registers.end()) across.push_back(bit);
  log2_extent = keys.log2_extent(keys.rank() - 1);
  log2_kept = result.log2_extent(result.rank() - 1);

  has_index = operands.size() > 1 || keys.is_float();
  key_bits = keys.element_bits();
  const int bits = key_bits + (has_index ? log2_extent : 0);
  splits_words = bits > 64;
  word_bits = bits <= 32 ? 32 : 64;
  sources.push_back(keys.is_float() ? Source::shared : Source::record);
  for (std::size_t i = 1; i < operands.size(); ++i)
    sources.push_back(f.type(operands[i]).element_bits() == 32 && is_row_index(f, operands[i]) ? Source::index : Source::shared);

  const std::int64_t registers = layout.size(ir::HardwareDim::reg);
  const int register_bits = static_cast<int>(order.low_registers.size());
  if (registers > 1 && comparisons(registers, register_bits, log2_extent, log2_kept) > kMostComparisons)
    network = registers * record_bytes() / 4 <= kMostRecordRegisters ? Network::loops : Network::memory;
  const std::int64_t threads = std::int64_t{32} * num_warps;
  if (!order.warps.empty()) {
    std::int64_t group = std::max<std::int64_t>(kMostExchangeBytes / (2 * threads * record_bytes()), 1);
    group = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(group)));
    // Loops alternate between two groups, so the number of groups must be even.
    const std::int64_t most =
        network == Network::unrolled ? registers : std::min<std::int64_t>(registers / 2, network == Network::loops ? 16 : 4);
    exchange_group = static_cast<int>(std::min(group, most));
    scratch_bytes = 2 * threads * exchange_group * record_bytes();
  }
  if (log2_extent == 0) scratch_bytes = 0;
  for (std::size_t i = 0; log2_extent > 0 && i < operands.size(); ++i)
    if (sources[i] == Source::shared) {
      const std::int64_t bytes = f.type(operands[i]).elements() * f.type(operands[i]).element_bytes();
      scratch_bytes = std::max(scratch_bytes, std::min(bytes, std::int64_t{1} << kLog2MostSharedBytes));
    }
}

}  // namespace tilewright::passes
