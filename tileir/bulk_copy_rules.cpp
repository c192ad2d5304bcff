// Checks tensor maps, and the buffers that bulk copies write and bulk stores read.
#include "tileir/bulk_copy_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/launch_values.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

std::vector<std::pair<OpId, std::string>> tensor_map_problems(const Function& f) {
  std::vector<std::pair<OpId, std::string>> problems;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::bulk_store_) {
      const Type pointer = f.type(f.operand(f.value(f.operand(id, 0)).op, 0));
      if (pointer.is_const_pointer()) problems.emplace_back(id, fmt::format("'map' is of a {}, which may be loaded only", text(pointer)));
    }
    if (f.kind(id) != OpKind::make_tensor_map_) return;
    if (f.op(id).parent != f.body()) problems.emplace_back(id, "it must be in the body, outside of regions");
    for (std::size_t i = 0; i < f.op(id).operands.size(); ++i)
      if (const std::string why = why_not_at_launch(f, f.op(id).operands[i]); !why.empty())
        problems.emplace_back(id, fmt::format("the host cannot compute operand {} when it launches the kernel: {}", i + 1, why));
  });
  return problems;
}

std::int64_t slabs_of_copy(const Type& map, const Type& buffer) {
  const std::vector<std::int64_t> box = map.box();
  const auto rank = static_cast<std::size_t>(buffer.rank());
  return box.size() > rank ? box[box.size() - rank - 1] : 1;
}

std::string bulk_copy_problem(const Function& f, OpId id) {
  const ValueId map = f.operand(id, 0), buffer = f.operand(id, 1);
  const Type t = f.type(buffer);
  const bool is_store = f.kind(id) == OpKind::bulk_store_;
  const auto found = copy_boxes(f.layout(buffer), t.element_bytes());
  if (const auto* reason = std::get_if<NotCanonical>(&found))
    return fmt::format("'buffer' cannot be {}: {}", is_store ? "read" : "written", reason->reason);
  const auto& c = std::get<CopyBoxes>(found);
  if (c.inner != t.rank() - 1) return fmt::format("the slabs of 'buffer' are along axis {}; they must be along the last one", c.inner);
  const std::int64_t swizzle = f.attr(f.value(map).op, AttrName::swizzle);
  if (swizzle != c.slab_bytes) return fmt::format("'buffer' has slabs of {} bytes, and the swizzle of 'map' is {}", c.slab_bytes, swizzle);
  std::vector<std::int64_t> box(f.type(map).box().size() - c.extents.size(), 1);
  if (const std::int64_t slabs = slabs_of_copy(f.type(map), t); slabs > 1) {
    if (static_cast<std::int64_t>(c.boxes.size()) != slabs)
      return fmt::format("'buffer' has {} boxes of [{}]; a copy of all slabs writes {}", c.boxes.size(), fmt::join(c.extents, ", "), slabs);
    box.back() = slabs;
  }
  box.insert(box.end(), c.extents.begin(), c.extents.end());
  if (f.type(map).box() != box)
    return fmt::format("'map' is {}; a copy {} [{}]", text(f.type(map)), is_store ? "reads" : "writes", fmt::join(box, ", "));
  const OpId alloc = allocation_of(f, buffer);
  const int alignment = 8 * c.slab_bytes;
  const bool is_aligned = f.attr(alloc, AttrName::alignment) >= alignment;
  const bool has_one_slot = f.type(f.result(alloc)).slots() == 1;
  if (is_aligned && (has_one_slot || t.elements() * t.element_bytes() % alignment == 0)) return {};
  return fmt::format("each slot of 'buffer' must be aligned to {} bytes", alignment);
}

}  // namespace tilewright::ir
