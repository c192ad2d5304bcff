// Plans how threads read and write buffers in shared memory, and the layouts of buffers.
#pragma once
#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "tileir/layout/linear_layout.h"
#include "tileir/type.h"

namespace tilewright::passes {

/// The layout of a part of a buffer in the buffer's coordinates: the same threads and registers, at the start of a larger tile.
ir::LinearLayout in_buffer(const ir::LinearLayout& part, const ir::LinearLayout& buffer);

/// log2 of the elements that a thread reads or writes at once (up to 16 bytes): registers that are aligned neighbours in memory. Any bits
/// of a register's number may select them.
int log2_shared_vector(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes);

/// As above, for a copy from global memory, where the register bits `vector` (lowest first) select neighbours.
int log2_copy_vector(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes, std::span<const int> vector);

/// A tile that ldmatrix reads. The instruction gives each thread words of 4 bytes from 8 x 8 matrices of 2-byte elements; the rows of 16
/// bytes may be anywhere in shared memory: lanes 8 i to 8 i + 7 provide the addresses of the rows of matrix i.
///
/// Bytes are transposed in pairs. A thread gets two words, which hold two bytes each of rows k, k + 1 and of rows k + 2, k + 3:
///   k0n0 k0n1 k1n0 k1n1, k2n0 k2n1 k3n0 k3n1    ->    k0n0 k1n0 k2n0 k3n0, k0n1 k1n1 k2n1 k3n1
/// and exchanges bytes, so that each word holds one byte of each row.
struct MatrixLoad {
  bool transposes = false;
  int log2_packed = 0;         // elements in a word
  std::vector<int> matrices;   // the bits of a register's number that count words and matrices of an instruction: at most two
  int pair = -1;               // for bytes in pairs: the register bit that selects the byte of a pair; else -1
  ir::F2Matrix thread_offset;  // from lane and warp to one part of the row's offset, in elements
  ir::F2Matrix by_register;    // from the register's number to the other part

  /// The bits of a register's number that select elements within one instruction.
  std::uint32_t within_instruction() const;
};
/// None if the layouts do not allow it (rows are not contiguous, or elements of more than 2 bytes must be transposed).
std::optional<MatrixLoad> plan_matrix_load(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes);

/// As above, of a tile that stmatrix writes; the fragments are those of ldmatrix. None also if vectors take fewer wavefronts, or as many in as
/// few instructions.
std::optional<MatrixLoad> plan_matrix_store(const ir::LinearLayout& registers, const ir::LinearLayout& memory, int element_bytes);

/// A layout for a buffer that threads write under one layout, in vectors of up to 16 bytes, and read under another. Its rows are along the
/// axis on which the writer has neighbours; chunks of 16 bytes are permuted so that the reader has few or no bank conflicts.
ir::LinearLayout buffer_layout(const ir::LinearLayout& writer, const ir::LinearLayout& reader, int element_bytes);

/// The wavefronts of a warp that reads a tile from one buffer and writes it to another one, and the instructions.
struct AccessCost {
  int wavefronts, accesses;
  auto operator<=>(const AccessCost&) const = default;
};
AccessCost access_cost(const ir::LinearLayout& threads, const ir::LinearLayout& source, const ir::LinearLayout& target, int element_bytes);

/// The axis along which the lowest registers of a thread are neighbours; the last axis if there is none.
int axis_of_neighbours(const ir::LinearLayout& writer);

/// Approximately how many instructions a thread executes to read a tile from a buffer whose rows are along axis `inner`: loads, and
/// instructions that assemble bytes to words and bring words into the order of the registers. used_in_place: an instruction uses words as
/// they are loaded, so the registers of a vector must be neighbours in its operand.
int read_cost(const ir::LinearLayout& registers, int inner, int element_bytes, bool used_in_place);

}  // namespace tilewright::passes
