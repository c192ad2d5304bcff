// How a sort goes: what a record is, where records are, and its scratch, for its code and its allocation.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/axis_order.h"

namespace tilewright::passes {

/// Rows are sorted as records: an unsigned number whose order is the one asked for, made of the key and, below it, of the index within
/// the row, so that no two are equal and any network sorts stably. Integers that nothing is sorted along with have no index: equal ones
/// cannot be told apart.
struct SortPlan {
  SortPlan(const ir::Function&, ir::OpId, int num_warps);

  ir::LinearLayout layout;  // of the operands, without free registers
  ir::AxisOrder places;
  std::vector<int> across;  // register bits that are not of a row
  int log2_extent = 0, log2_kept = 0;
  bool has_index = false;
  bool splits_words = false;  // the index has a second word, of 32 bits
  int key_bits = 0, word_bits = 0;

  /// Where an operand's elements come from once records are sorted.
  enum class Source : std::uint8_t { record, index, shared };
  std::vector<Source> sources;

  /// All steps one after another; or loops over them where that would be too much code; or also over records, which then lie in local
  /// memory, as a thread has no registers for them.
  enum class Network : std::uint8_t { written_out, loops, memory };
  Network network = Network::written_out;
  /// How many records of a thread go to another warp at once; two such groups have room.
  int exchange_group = 1;
  std::int64_t scratch_bytes = 0;

  int record_bytes() const { return word_bits / 8 + (splits_words ? 4 : 0); }
};

}  // namespace tilewright::passes
