// A sort: its records, the network that orders them, and its scratch.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/axis_order.h"

namespace tilewright::passes {

/// Rows are sorted as records. A record is an unsigned number that compares in the requested order: the key and, below it, the index within
/// the row, so that no two records are equal and any network sorts stably. Integers that are sorted without other tiles need no index:
/// equal ones cannot be distinguished.
struct SortPlan {
  SortPlan(const ir::Function&, ir::OpId, int num_warps);

  ir::LinearLayout layout;  // of the operands, without free registers
  ir::AxisOrder order;
  std::vector<int> across;  // register bits that do not belong to a row
  int log2_extent = 0, log2_kept = 0;
  bool has_index = false;
  bool splits_words = false;  // the index has a second word, of 32 bits
  int key_bits = 0, word_bits = 0;

  /// Where the elements of an operand come from after the records are sorted.
  enum class Source : std::uint8_t { record, index, shared };
  std::vector<Source> sources;

  /// unrolled: all steps; loops: over the steps, if unrolling takes too much code; memory: loops over steps and records, with records in
  /// local memory, if a thread has too few registers for them.
  enum class Network : std::uint8_t { unrolled, loops, memory };
  Network network = Network::unrolled;
  /// Records of a thread that are sent to another warp at once; the scratch has room for two such groups.
  int exchange_group = 1;
  std::int64_t scratch_bytes = 0;

  int record_bytes() const { return word_bits / 8 + (splits_words ? 4 : 0); }
};

}  // namespace tilewright::passes
