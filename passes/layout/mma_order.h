// Chooses the order in which matrix instructions take rows, columns and K (ir::MmaOrder).
#pragma once
#include <cstdint>
#include <vector>

#include "passes/ir_names.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

/// How many warps share each axis of a product's result, and log2 of the extents of one warp's part.
struct MmaShare {
  std::vector<std::int64_t> warps;
  std::vector<int> log2_part;
};

/// Connects products whose results are, through element-wise ops only, factors of other products (attention).
struct MmaChain {
  OpId producer;              // the product from which the first factor is computed; none: it is not
  bool has_consumer = false;  // whether the result is the first factor of another product

  bool any() const { return producer || has_consumer; }
};

/// A dot that becomes an mma.
struct MmaProduct {
  OpId dot;
  std::int64_t row = 0;  // row in the table of instructions
  MmaChain chain = {};
  MmaShare share = {};
  bool may_swap = false;  // the instruction may multiply the transposed tiles instead
  ir::MmaOrder order = {};
  bool from_registers = false;  // an asynchronous instruction reads the first factor from registers

  const ir::MatrixInstruction& instruction() const { return ir::matrix_instructions()[static_cast<std::size_t>(row)]; }
};

/// Sets the orders of synchronous products, and swaps where `may_swap` allows it, so that a thread reads its factors with the fewest instructions: the elements of
/// a thread are neighbours in the memory that they are loaded from, unless ldmatrix delivers them in the instruction's own order. Results
/// of one type have one order, since they often meet in element-wise ops. A factor that is computed from another product stays in the
/// threads that have it if K is taken in the order of that product's columns.
///
/// Example: factors of f64, a row-major, b row-major: k [1, 2, 0] and columns [1, 2, 3, 0], so that lane 4 g + t has k 2 t and 2 t + 1 of
/// row g of a, and of columns 2 g and 2 g + 1 of b, as vectors of 16 bytes.
///
/// Requires: each product comes after its producer.
void choose_mma_orders(const Function&, std::vector<MmaProduct>&);

}  // namespace tilewright::passes
