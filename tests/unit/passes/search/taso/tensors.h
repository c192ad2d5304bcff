// The ops of TASO (Jia et al., SOSP 2019) on small tensors with values modulo 2^61 - 1: the shape of each result, and its values.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::passes::search::taso {

enum class TasoOp : std::uint8_t {
  matmul,
  ewadd,
  ewmul,
  smul,
  conv,       // groups as the channels of image and filter say, stride 1, zeros around the image
  conv_relu,  // the same, then relu
  poolavg,    // of 3 x 3, zeros around the image are counted
  poolmax,
  enlarge,  // zeros around a filter, to 3 x 3
  relu,     // an unknown function of elements
  concat0,
  concat1,
  split0_0,  // the first half along axis 0
  split0_1,
  split1_0,
  split1_1,
  transpose,
};
inline constexpr int kTasoOps = 17;
int operands_of(TasoOp);
std::string_view name(TasoOp);
/// The op of a name, if there is one.
std::optional<TasoOp> taso_op(std::string_view);

struct Shape {
  int rank = 0;
  std::array<int, 4> extents = {1, 1, 1, 1};
  int elements() const { return extents[0] * extents[1] * extents[2] * extents[3]; }
  /// A number for each shape.
  std::uint64_t key() const;
  friend bool operator==(const Shape&, const Shape&) = default;
};
std::string text(const Shape&);

struct Tensor {
  Shape shape;
  std::vector<std::uint64_t> values;  // row-major
};

/// The shape of a result; none if the operands do not fit. `b` is looked at for ops of two operands.
std::optional<Shape> result_shape(TasoOp, const Shape& a, const Shape& b);
/// Needs operands that fit.
Tensor evaluate(TasoOp, const Tensor& a, const Tensor& b);

Tensor random_tensor(const Shape&, std::uint64_t seed);

/// The tensors from which terms are made. Variables of a kind have one shape.
enum class Kind : std::uint8_t { rows, matrix, image, filter, row_filter, column_filter, channel_filter, number };
enum class Constant : std::uint8_t { pool_filter, identity_filter, identity_matrix, ones };
inline constexpr int kKinds = 8, kConstants = 4;

/// The extents of all tensors.
struct Sizes {
  int rows = 2, columns = 4, images = 2, channels = 4, height = 5, width = 5;
};
Shape shape_of(Kind, const Sizes&);
Tensor constant(Constant, const Sizes&);

/// All leaves: x1 x2 x3, w1 ..., i, k, h, v, g, s, and then the constants Cpool, Iconv, Imatmul and Iewmul.
struct Leaf {
  std::string name;
  std::optional<Kind> kind;
  std::optional<Constant> constant;
};
const std::vector<Leaf>& leaves();

}  // namespace tilewright::passes::search::taso
