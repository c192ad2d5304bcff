// Follows stored tiles back to products, and looks for boxes.
#include "passes/pipeline/bulk_stores.h"

#include <algorithm>
#include <bit>
#include <set>

#include "passes/analysis/address_form.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/op_kind.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

/// Bytes of a tile from which a bulk store pays: threads have written a smaller one before the unit has begun.
constexpr std::int64_t kLeastBytes = 8 * 1024;
constexpr std::int64_t kLeastSlabBytes = 32, kMostSlabBytes = 128;

/// Whether the tile is computed from sums of asynchronous products element by element.
bool is_summed(const Function& f, ValueId v, std::set<ValueId>& seen) {
  const OpId id = f.value(v).op;
  if (!id || f.type(v).is_scalar() || !seen.insert(v).second) return false;
  const OpKind k = f.kind(id);
  if (k == OpKind::mma_wait_) return true;
  if (k == OpKind::mma_) return ir::is_asynchronous(ir::matrix_instruction(f, id));
  if (k == OpKind::for_) return is_summed(f, f.operand(f.terminator(f.region(id)), static_cast<int>(f.value(v).number)), seen);
  if (!ir::info(k).has(ir::kElementwise) && k != OpKind::convert_layout_) return false;
  return std::ranges::any_of(f.op(id).operands, [&](ValueId x) { return is_summed(f, x, seen); });
}

/// Whether other ops may access the memory of the tensor, or order what other programs do with it.
std::string why_not_alone(const Function& f, OpId store, ValueId base) {
  std::string why;
  f.walk([&](OpId id) {
    const ir::OpInfo& info = ir::info(f.kind(id));
    if (id == store || f.op(id).operands.empty() || !(info.has(ir::kReads) || info.has(ir::kWrites))) return;
    if (may_share_memory(f, base, base_parameter(f, f.operand(id, 0)))) why = "another access may be to the same memory";
    const bool is_relaxed = info.family != ir::Family::atomic || static_cast<ir::Order>(f.attr(id, AttrName::order)) == ir::Order::relaxed;
    if (!is_relaxed || f.attr(id, AttrName::is_volatile) != 0) why = "an atomic or volatile access may order it with other programs";
  });
  return why;
}

}  // namespace

std::optional<ir::Reduction> reduction_of(const Function& f, OpId id) {
  const OpKind k = f.kind(id);
  if (k == OpKind::store_) return ir::Reduction::none;
  if (k != OpKind::atomic_add_ || f.has_uses(f.result(id))) return std::nullopt;
  const bool is_relaxed = static_cast<ir::Order>(f.attr(id, AttrName::order)) == ir::Order::relaxed &&
                          static_cast<ir::Scope>(f.attr(id, AttrName::scope)) != ir::Scope::system;
  constexpr ir::Element kAdded[] = {ir::Element::f16, ir::Element::bf16, ir::Element::f32,
                                    ir::Element::i32, ir::Element::u32,  ir::Element::u64};
  const bool exists = std::ranges::count(kAdded, f.type(f.operand(id, 1)).element()) > 0;
  return is_relaxed && exists ? std::optional(ir::Reduction::add) : std::nullopt;
}

bool stores_sums(const Function& f, OpId id, const PassContext& context) {
  if (!context.target.has_wgmma || context.check || f.op(id).parent != f.body() || !reduction_of(f, id)) return false;
  const ir::Type t = f.type(f.operand(id, 1));
  if (t.is_scalar() || t.is_bool() || t.is_pointer() || t.elements() * t.element_bytes() < kLeastBytes) return false;
  std::set<ValueId> seen;
  return is_summed(f, f.operand(id, 1), seen);
}

std::variant<StoredBox, std::string> find_stored_box(const Function& f, OpId store, const AxisInfoAnalysis& info) {
  for (const AttrName name : {AttrName::is_volatile, AttrName::cache, AttrName::evict})
    if (f.attr(store, name) != 0) return "it says how caches keep it";
  const ir::Type t = f.type(f.operand(store, 1));
  if (t.rank() != 2) return "it has no 2 axes";
  std::vector<int> log2_extents;
  for (std::int64_t n : t.shape()) log2_extents.push_back(std::countr_zero(static_cast<std::uint64_t>(n)));
  std::string why;
  for (const int inner : {1, 0}) {
    const std::int64_t row = t.extent(inner) * t.element_bytes();
    if (row < kLeastSlabBytes) continue;
    const auto buffer = ir::canonical_buffer(log2_extents, inner, t.element_bytes(), static_cast<int>(std::min(row, kMostSlabBytes)));
    auto found = find_tensor_box(f, {}, store, buffer, info);
    if (const auto* reason = std::get_if<std::string>(&found)) {
      // The reason of the axis along which elements are neighbours in memory.
      if (why.empty() || *reason != kNoNeighbours) why = *reason;
      continue;
    }
    auto& box = std::get<TensorBox>(found);
    if (why = why_not_alone(f, store, box.base); !why.empty()) return why;
    return StoredBox{std::move(box), buffer};
  }
  return why.empty() ? "its rows are short" : why;
}

}  // namespace tilewright::passes
