// Products of matrices whose factors come by bulk copies on Hopper, as programs.
#pragma once
#include <string>

#include "tests/fuzz/program.h"

namespace tilewright::test {

/// c = a b, of m x k and k x n elements, one tile of c in a program.
struct ProductKernel {
  int rows = 64, columns = 64, depth = 32;  // of a tile
  int warps = 4, stages = 3;
  bool left_is_turned = false, right_is_turned = false;  // neighbours are along the rows of a, along the columns of b are none
  bool has_batches = false;                              // program id 2 counts matrices; their number of rows is that of a
  bool has_heads = false;                                // or heads of batches, at distances that are parameters
  bool is_view = false;          // rows of a begin some elements behind its address, and some rows before position 0
  bool is_grouped = false;       // groups of programs, of at most %group rows of tiles, go through the columns
  bool is_divided = false;       // the row of tiles is a quotient by a parameter
  bool has_lower_bounds = true;  // masks leave out negative positions
  std::string of_pitch = "{divisible_by = 8, positive}";
  std::string of_columns = {};  // attributes of n
  std::string result = "f32";   // elements of c; sums are f32, or i32
  std::string element = "f16";  // of a and b; of i8 the result is i32
  /// Rows of c are some elements apart, at a multiple of 16 bytes, so that bulk stores may write them. Else they are behind each other.
  bool has_result_pitch = false;
  bool result_is_turned = false;  // neighbours are along the columns of c
  bool has_odd_mask = false;      // every other element of c is not written
  /// What becomes of %sums: f32[SHAPE] before the cast; r, of f32, is a matrix with the extents of c and its pitch. SHAPE, %ri and %rj are
  /// the shape of a tile and the position of each element in c; the result is %value.
  std::string epilogue = {};
  bool adds = false;  // relaxed atomics add the tile of each batch to one matrix c
};

/// Epilogues: + r[j]; max(x, 0) x; + r[i, j]; each one in f32.
extern const char *const kBias, *const kActivation, *const kResidual;

struct ProductShape {
  int m, n, k;
};

/// The factors are small whole numbers and halves, whose products and sums are exact. `above`: how many rows of a view are before position
/// 0, and the divisor of is_divided.
fuzz::Program program(const ProductKernel&, const ProductShape&, int above = 5);

/// (q k^T) v, the first product rounded to f16: 128 rows of q, which stay in the loop over `keys` rows of k and v, 128 at a time.
fuzz::Program chained_products(int rows, int keys, int stages);

}  // namespace tilewright::test
