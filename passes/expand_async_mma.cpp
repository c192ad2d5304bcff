// Expands products of asynchronous matrix instructions: factors that the instruction reads from shared memory become canonical buffers.
//
//   z = mma x, y, acc {instruction = m64k16_f16}   ->   b = alloc_buffer {alignment = 1024}; buffer_store b, x; c = alloc_buffer ...
//                                                       proxy_fence
//                                                       d = mma_async b, c, acc; z = mma_wait d {pending = 0}
//
//   1. source_of: the tile that is written. A transposed factor is written as it is, and read through a view.
//   2. buffer_of: rows along the axis on which a thread of the writer has neighbours, in slabs as wide as they are, up to 128 bytes. A factor
//      that does not change in the loop is written once, and a tile that is a factor of several products has one buffer.
//   3. transpose: an instruction that reads rows along K alone has a second buffer, written from the first one through registers
//      (passes/plans/transposition_plan.h), so that the first one can be filled by copies:
//        b = alloc_buffer; buffer_store b, x   ->   ...; t = buffer_load b; c = alloc_buffer; buffer_store c, t
//   4. expand: a product waits for itself. place_mma_waits moves the wait.
//
// Input, output: distributed. Numerics do not change. The pass is not optional: there is no machine code for such an mma. See
// tests/files/passes/expand_async_mma/.
#include <algorithm>
#include <map>
#include <set>

#include "passes/pass.h"
#include "passes/plans/buffer_plan.h"
#include "passes/plans/transposition_plan.h"
#include "passes/rewriter.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

using ir::LinearLayout;

constexpr int kMostSlabBytes = 128, kLeastSlabBytes = 32;

class Expander {
 public:
  Expander(Function& f, int num_warps) : f_(f), rw_(f), num_warps_(num_warps) {}

  bool run() {
    std::vector<OpId> products;
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::mma_ && ir::is_asynchronous(ir::matrix_instruction(f_, id))) products.push_back(id);
    });
    for (OpId id : products) expand(id);
    return rw_.changed();
  }

 private:
  struct Source {
    ValueId tile;
    std::vector<std::int64_t> axes;  // axis i of the factor is axis axes[i] of the tile
  };

  Source source_of(ValueId factor) const {
    Source s{factor, {0, 1}};
    while (const OpId permute = f_.defined_by(s.tile, OpKind::permute_)) {
      const std::vector<std::int64_t>& axes = f_.attr_list(permute, ir::AttrName::axes);
      for (std::int64_t& axis : s.axes) axis = axes[static_cast<std::size_t>(axis)];
      s.tile = f_.operand(permute, 0);
    }
    return s;
  }

  /// The buffer that holds a tile for a product, written before it.
  ValueId buffer_of(OpId product, ValueId tile, int k_axis) {
    const ir::Type t = f_.type(tile);
    const auto row_bytes = [&](int axis) { return static_cast<int>(t.extent(axis)) * t.element_bytes(); };
    const bool only_along_k = ir::matrix_instruction(f_, product).major == ir::MatrixInstruction::Major::k;
    const int from = axis_of_neighbours(f_.layout(tile));
    int inner = only_along_k ? k_axis : from;
    if (row_bytes(inner) < kLeastSlabBytes) inner = 1 - inner;
    const auto known = buffers_.find({tile, inner});
    if (known != buffers_.end() && f_.encloses(f_.op(f_.value(known->second).op).parent, f_.op(product).parent)) return known->second;

    const OpId definition = f_.value(tile).op;
    rw_.at(product);
    if (definition && f_.op(definition).parent != f_.op(product).parent) rw_.after(definition);
    rw_.set_loc(f_.op(product).loc);
    const LinearLayout memory = canonical(t, inner);
    const auto found = ir::matrix_descriptor(memory, k_axis, t.element_bytes(), only_along_k);
    TW_CHECK(std::holds_alternative<ir::MatrixDescriptor>(found), "the product reads the canonical buffers of its factors");
    const bool is_transposed = only_along_k && from != inner && row_bytes(from) >= kLeastSlabBytes;
    const ValueId buffer = write(is_transposed ? transpose(tile, memory, inner) : tile, memory);
    buffers_[{tile, inner}] = buffer;
    return buffer;
  }

  static int slab_bytes(const ir::Type& t, int inner) {
    return std::min(static_cast<int>(t.extent(inner)) * t.element_bytes(), kMostSlabBytes);
  }
  static LinearLayout canonical(const ir::Type& t, int inner) {
    return ir::canonical_buffer(ir::log2_extents(t), inner, t.element_bytes(), slab_bytes(t, inner));
  }

  /// A new buffer of this layout that holds the tile.
  ValueId write(ValueId tile, const LinearLayout& memory) {
    const ir::Type t = f_.type(tile), type = ir::Type::buffer(t.element(), 1, t.shape());
    const auto boxes = std::get<ir::CopyBoxes>(ir::copy_boxes(memory, t.element_bytes()));
    const std::vector<ir::Attr> aligned{{ir::AttrName::alignment, 8 * boxes.slab_bytes, {}, {}}};
    const ValueId buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {}, aligned, std::span(&type, 1)));
    f_.set_layout(buffer, f_.add_layout(memory));
    const ValueId operands[] = {buffer, tile};
    rw_.create(OpKind::buffer_store_, operands);
    return buffer;
  }

  /// Writes the tile to a buffer of its own rows, and reads it as it is to be written to `target`.
  ValueId transpose(ValueId tile, const LinearLayout& target, int inner) {
    const ir::Type t = f_.type(tile);
    const LinearLayout source = canonical(t, 1 - inner);
    const ValueId buffer = write(tile, source);
    const ValueId read = f_.result(rw_.create(OpKind::buffer_load_, std::span(&buffer, 1), {}, std::span(&t, 1)));
    f_.set_layout(read, f_.add_layout(transposing_layout(source, target, inner, t.element_bytes(), num_warps_)));
    return read;
  }

  ValueId shared_factor(OpId product, int i) {
    const Source s = source_of(f_.operand(product, i));
    const ValueId buffer = buffer_of(product, s.tile, static_cast<int>(s.axes[i == 0 ? 1 : 0]));
    if (s.axes[0] == 0) return buffer;
    rw_.at(product);
    const ValueId view = f_.result(rw_.create(OpKind::buffer_permute_, std::span(&buffer, 1), {{ir::AttrName::axes, 0, s.axes, {}}}));
    f_.set_layout(view, f_.add_layout(LinearLayout(f_.layout(buffer)).permuted(s.axes)));
    return view;
  }

  /// Ops behind the wait take a factor in registers from it: what LLVM makes of them, such as the unpacking of halves, could come before the
  /// wait otherwise. Further products only read the registers, as this one does.
  void read_behind(OpId wait, ValueId factor) {
    const BlockId block = f_.op(wait).parent;
    std::set<OpId> behind;
    for (OpId at = f_.op(wait).next; at; at = f_.op(at).next) behind.insert(at);
    for (OpId user : std::vector<OpId>(f_.value(factor).users)) {
      const OpKind k = f_.kind(user);
      if (k == OpKind::mma_ || k == OpKind::mma_async_ || k == OpKind::mma_wait_) continue;
      if (!behind.contains(ir::ancestor_in(f_, user, block))) continue;
      for (int i = 0; i < static_cast<int>(f_.op(user).operands.size()); ++i)
        if (f_.operand(user, i) == factor) rw_.set_operand(user, i, f_.result(wait, 1));
    }
  }

  void expand(OpId id) {
    std::vector<ValueId> operands = f_.op(id).operands;
    const std::vector<ValueId> tiles = operands;
    for (int i : {0, 1})
      if (ir::reads_from_shared(f_, id, i)) operands[static_cast<std::size_t>(i)] = shared_factor(id, i);
    rw_.at(id);
    rw_.create(OpKind::proxy_fence_, {});
    const std::vector<ir::Attr> attrs{{ir::AttrName::instruction, f_.attr(id, ir::AttrName::instruction), {}, {}},
                                      {ir::AttrName::warps, 0, f_.attr_list(id, ir::AttrName::warps), {}}};
    const OpId product = rw_.create(OpKind::mma_async_, operands, attrs);
    f_.set_layout(f_.result(product), f_.layout_id(f_.result(id)));
    std::vector<ValueId> awaited{f_.result(product)};
    if (operands[0] == tiles[0]) awaited.push_back(tiles[0]);
    const OpId wait = rw_.create(OpKind::mma_wait_, awaited, {{ir::AttrName::pending, 0, {}, {}}});
    for (std::size_t i = 0; i < awaited.size(); ++i) f_.set_layout(f_.result(wait, static_cast<int>(i)), f_.layout_id(awaited[i]));
    rw_.replace(id, f_.result(wait));
    if (awaited.size() > 1) read_behind(wait, tiles[0]);
    for (int i : {0, 1})
      if (operands[static_cast<std::size_t>(i)] != tiles[static_cast<std::size_t>(i)]) rw_.erase_unused(tiles[static_cast<std::size_t>(i)]);
  }

  Function& f_;
  Rewriter rw_;
  const int num_warps_;
  std::map<std::pair<ValueId, int>, ValueId> buffers_;  // of tiles, by the axis of their rows
};

}  // namespace

bool expand_async_mma(Function& f, const PassContext& context) { return Expander(f, context.num_warps).run(); }

}  // namespace tilewright::passes
