// Matrix products in numbers: fragments of a warp unpacked into rows and columns, and the sums of products, as vector instructions.
#pragma once
#include <array>

#include "runtime/emulator/machine.h"
#include "runtime/emulator/ptx_types.h"

namespace tilewright::rt::emulator {

inline constexpr int kMostRows = 16, kColumns = 8, kMostDepth = 64;

/// a: [row][k]; b: [k][column].
struct ProductOperands {
  alignas(64) std::array<std::array<double, kMostDepth>, kMostRows> a;
  alignas(64) std::array<std::array<double, kColumns>, kMostDepth> b;
};
using ProductSums = std::array<std::array<double, kColumns>, kMostRows>;

/// From registers to numbers. Element e of register r of lane l: row l / 4 + 8 (r % 2) of the 16 of a, or l / 4 of 8, and k = E (l % 4) +
/// e + 4 E (r / 2), or 4 E r, with E elements in a register; b has columns for rows, and its registers all follow each other along k.
void gather_a(const Warp&, const s32* slots, int registers, Type, bool two_rows, ProductOperands&);
void gather_b(const Warp&, const s32* slots, int registers, Type, ProductOperands&);

/// The sums along k, in its order. `is_exact`: no product of two elements is rounded, so that fused multiply-adds give the same.
void sum_products(const ProductOperands&, int rows, int depth, bool is_exact, ProductSums&);

}  // namespace tilewright::rt::emulator
