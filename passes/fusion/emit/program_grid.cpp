// Computes the positions of programs from their ids: a dimension of the grid for each axis, or one dimension for all.
#include "passes/fusion/emit/program_grid.h"

#include <algorithm>
#include <tuple>

#include "passes/fusion/expr/integer_range.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

class ProgramGrid {
 public:
  ProgramGrid(EmitContext& context, const AxisMap<std::int64_t>& sizes, const AxisSet& kept, Axis columns,
              std::vector<GridFactor> (&grid)[3])
      : context_(context), ir_(context.ir), build_(context.build), sizes_(sizes), kept_(kept), columns_(columns), grid_(grid) {}

  void run() {
    // Axes with tiles come first, so that programs which read the same data run at about the same time. With `columns`, the tiled axes come
    // before `columns`, and axes without tiles come last. Otherwise axes with larger tiles come first.
    std::vector<Axis> axes;
    for (const auto& [axis, size] : sizes_) axes.push_back(axis);
    const auto rank = [&](Axis a) {
      const std::int64_t size = sizes_.at(a);
      return columns_ ? std::tuple(size == 1, a == columns_, -size, a->name) : std::tuple(false, false, -size, a->name);
    };
    std::sort(axes.begin(), axes.end(), [&](Axis a, Axis b) { return rank(a) < rank(b); });
    constexpr std::int64_t kMostOfInnerDimensions = 65535;
    bool is_separate = axes.size() <= 3;
    for (std::size_t i = 1; i < axes.size(); ++i)
      is_separate = is_separate && axes[i]->extent.greatest() / sizes_.at(axes[i]) < kMostOfInnerDimensions;
    if (is_separate) {
      for (std::size_t i = 0; i < axes.size(); ++i) set_start(axes[i], program_id(static_cast<int>(i)), static_cast<int>(i));
      return;
    }
    ir::ValueId rest = program_id(0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (i + 1 == axes.size()) {
        set_start(axes[i], rest, 0);
        break;
      }
      const ir::ValueId count = tile_count(axes[i]);
      set_start(axes[i], ir_.binary(OpKind::rem_, rest, count), 0);
      rest = ir_.binary(OpKind::div_, rest, count);
    }
  }

 private:
  ir::ValueId program_id(int axis) {
    return ir_.function().result(ir_.create(OpKind::program_id_, {}, {ir::Attr{ir::AttrName::axis, axis, {}}}));
  }

  // The number of tiles along an axis, as an i32.
  ir::ValueId tile_count(Axis a) {
    const std::int64_t size = sizes_.at(a);
    if (a->extent.is_constant()) return build_.integer(Element::i32, (a->extent.value() + size - 1) / size).value;
    const Part extent = context_.extent(a->extent, Element::i64);
    const Part rounded = build_.binary(OpKind::add_, extent, build_.integer(Element::i64, size - 1), {});
    const ir::ValueId count = ir_.cast(ir_.binary(OpKind::div_, rounded.value, build_.integer(Element::i64, size).value), Element::i32);
    return has_program_if_empty(a) ? ir_.binary(OpKind::maximum_, count, build_.integer(Element::i32, 1).value) : count;
  }

  // Whether the kernel has a program even if the axis has no positions.
  bool has_program_if_empty(Axis a) const { return kept_.contains(a) && a->extent.least() < 1; }

  void set_start(Axis a, ir::ValueId id, int dimension) {
    const std::int64_t size = sizes_.at(a);
    grid_[dimension].push_back({a->extent, size, has_program_if_empty(a)});
    AxisTile t{size, id, !has_program_if_empty(a) && ends_with_tile(a->extent, size)};
    if (size > 1) {
      const bool is_narrow = fits({0, a->extent.greatest() == INT64_MAX ? INT64_MAX - 1 : a->extent.greatest() + size}, Element::i32);
      const Element e = is_narrow ? Element::i32 : Element::i64;
      t.start = ir_.binary(OpKind::mul_, ir_.cast(id, e), build_.integer(e, size).value);
    }
    context_.scopes.innermost().tiles[a] = t;
  }

  EmitContext& context_;
  ir::Builder& ir_;
  TileBuilder& build_;
  const AxisMap<std::int64_t>& sizes_;
  const AxisSet& kept_;
  const Axis columns_;
  std::vector<GridFactor> (&grid_)[3];
};

}  // namespace

void distribute_over_grid(EmitContext& context, const AxisMap<std::int64_t>& sizes, const AxisSet& kept, Axis columns,
                          std::vector<GridFactor> (&grid)[3]) {
  ProgramGrid(context, sizes, kept, columns, grid).run();
}

}  // namespace tilewright::passes::fusion
