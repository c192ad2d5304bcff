// How threads read and write buffers in shared memory, and the layouts of buffers.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tileir/layout/linear_layout.h"
#include "tileir/type.h"

namespace tilewright::passes {

/// The same threads and registers, for a tile at the start of a larger one: the layout of a part of a buffer in the buffer's coordinates.
ir::LinearLayout in_buffer(const ir::LinearLayout& part, const ir::LinearLayout& buffer);

/// log2 of the elements that a thread reads or writes at once (up to 16 bytes): registers that are aligned neighbours in memory. Any bits
/// of a register's number may count them.
int log2_shared_vector(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes);

/// The same for a copy from global memory, where registers `vector` (bits of a register's number, lowest first) are neighbours.
int log2_copy_vector(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes, std::span<const int> vector);

/// A tile read by ldmatrix, which gives each thread words of 4 bytes of 8 x 8 matrices of 2-byte elements whose rows of 16 bytes are
/// anywhere in shared memory: lanes 8 i to 8 i + 7 say where those of matrix i are.
///
/// Bytes are transposed in pairs. A thread gets two words that hold two bytes each of rows k, k + 1 and k + 2, k + 3:
///   k0n0 k0n1 k1n0 k1n1, k2n0 k2n1 k3n0 k3n1    ->    k0n0 k1n0 k2n0 k3n0, k0n1 k1n1 k2n1 k3n1
/// and exchanges bytes, so that each word holds one byte of each row.
struct MatrixLoad {
  bool transposes = false;
  int log2_packed = 0;         // elements of a word
  std::vector<int> matrices;   // the bits of a register's number that count the words, and matrices, of an instruction: at most two
  int pair = -1;               // of bytes in pairs: the bit of a register's number that says which byte of a pair; else -1
  ir::F2Matrix thread_offset;  // from lane and warp to the part of the row's offset, in elements
  ir::F2Matrix by_register;    // from the number of a register to the other part

  /// The bits of a register's number that do not tell instructions apart.
  std::uint32_t within_instruction() const;
};
/// None: the layouts do not fit (rows are not contiguous, or elements of more than 2 bytes are to be transposed).
std::optional<MatrixLoad> plan_matrix_load(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes);

/// A layout for a buffer that threads write under one layout, in vectors of up to 16 bytes, and read under another: rows along the axis in
/// which the writer has neighbours, whose chunks of 16 bytes are permuted so that the reader has few bank conflicts, or none.
ir::LinearLayout buffer_layout(const ir::LinearLayout& writer, const ir::LinearLayout& reader, int element_bytes);

/// About how many instructions a thread executes to read a tile from a buffer whose rows are along axis `inner`: loads, and those that
/// bring bytes into words, and words into the order of the registers. used_in_place: an instruction takes words as they are loaded, so that
/// the registers of a vector must be neighbours in its operand.
int read_cost(const ir::LinearLayout& registers, int inner, int element_bytes, bool used_in_place);

}  // namespace tilewright::passes
