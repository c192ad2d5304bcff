// Accesses whose tile is a box of a tensor: rows at one distance from each other, of which a mask leaves out those outside of the tensor.
#pragma once
#include <climits>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/pipeline/polynomial_form.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

inline constexpr std::int64_t kMostCoordinate = INT32_MAX;

/// The reason why a tile is no box for a buffer whose slabs are along another axis than elements that are neighbours in memory.
inline constexpr const char* kNoNeighbours = "neighbours in its buffer are none in memory";

/// element (i, j) of the tile is base[offset + (c0 + i) * stride + c1 + j], or 0 where c0 + i >= extent0 or c1 + j >= extent1.
///
/// Example, a tile of a matrix of m rows at the distance k, of program p in iteration at: c0 = 64 p, stride = k, extent0 = m; c1 = at,
/// extent1 = k.
struct TensorBox {
  struct Axis {
    Polynomial coordinate;
    std::vector<Polynomial> extents;  // the least one counts; none: no mask bounds the axis
    Polynomial stride;                // in elements
    int box = 1;
    int unit = 1;                  // the map counts positions and extents in units, of which they are multiples
    bool has_lower_bound = false;  // the mask leaves out negative positions
    bool may_be_empty = false;     // an extent may be less than 1
    bool is_wide = false;          // the coordinate may have more than 32 bits
  };
  ValueId base;
  Polynomial offset;              // in elements, from the base to position 0 of all axes
  std::vector<Axis> axes;         // that along which elements are neighbours is the last one; the first ones may be no axes of the tile.
                                  // If one copy writes all slabs of a slot, an axis in front of the tile's counts them.
  std::vector<ValueId> divisors;  // which the map must find to be positive in all programs
  int slab_bytes = 0;
  bool is_turned = false;  // neighbours are along the tile's first axis
};

/// The box that a load of a loop (a for) reads into a canonical buffer of this layout, or that a store or an atomic writes from one outside
/// of loops (`loop` is none), or the reason why it is none. The host must be able to compute the extents and the strides when it launches
/// the kernel, and know then that they are multiples of 16 bytes, and that strides are positive. Positions are not negative: the divisors
/// in them that are not known to be positive, such as the rows of tiles in a group of programs, are those that the host refuses a launch
/// for, if one of its programs may divide by another number.
std::variant<TensorBox, std::string> find_tensor_box(const Function&, OpId loop, OpId access, const ir::LinearLayout& buffer,
                                                     const AxisInfoAnalysis&);

/// Emits the map before the op of the body that is or encloses `at`.
ValueId make_tensor_map(Rewriter&, OpId at, const TensorBox&, ir::Element);
/// Emits the coordinates before an op of the loop; what does not change there, before the loop. Outside of loops both are one op.
std::vector<ValueId> make_coordinates(Rewriter&, OpId loop, OpId before, const TensorBox&);

}  // namespace tilewright::passes
