// Atomics that a thread combines before it updates memory.
//
// If no op uses the old values of an atomic, a thread may first combine its values for one address: locked instructions take ten times as
// long as others. The atomics on one array have a window in scratch memory: a copy of a part of the array, which begins as the identity of
// their operation. Lanes inside combine there. A lane outside widens the window, or moves it; then what is not the identity goes to memory,
// as the rest does at the end of the thread's range of programs. Lines of a window cost time, and each lane saves some: a lane for whose
// line too few lanes have paid goes to memory directly, and so does all of a range in which too many lanes are far from each other.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace llvm {
class Value;
}

namespace tilewright::backend::host {

class Emitter;

/// The atomics of a function whose values may reach memory late: their order is relaxed, their old values have no use, and no later access
/// of the program may read or overwrite what they write. A function with other atomics or volatile accesses has none, because its programs
/// may signal each other.
std::set<ir::OpId> combinable_atomics(const ir::Function&);

class CombinedAtomics {
 public:
  explicit CombinedAtomics(std::set<ir::OpId> ops) : ops_(std::move(ops)) {}
  bool has(ir::OpId id) const { return ops_.contains(id); }
  /// Allocates empty windows, before the first program.
  void begin(Emitter&);
  /// Reads lanes of an operand from the first one on.
  using Read = std::function<llvm::Value*(std::size_t operand, llvm::Value* first, unsigned lanes)>;
  /// Executes one lane, if it is active.
  using Update = std::function<void(llvm::Value* lane, bool is_combined)>;
  /// Executes an atomic. Combines lanes together if all of them are inside of the window, and calls `update` for others.
  void for_each_lane(Emitter&, ir::OpId, const Read&, const Update&);
  /// Combines the value of an active lane. x: the address, and the value.
  void add(Emitter&, ir::OpId, const std::vector<llvm::Value*>& x);
  /// Writes what is left to memory, after the last program.
  void finish(Emitter&);

 private:
  struct Window {
    ir::OpId op;  // one of its atomics
    // Offsets in scratch memory: the copy, the offsets in it of some lanes; the address where the window begins, its size, and how many
    // lines may be added.
    std::int64_t values, offsets, first, bytes, credit;
  };
  /// A window has the atomics of one operation on one type and one array.
  Window& window_of(const ir::Function&, ir::OpId);
  static llvm::Value* get(Emitter&, std::int64_t offset);
  static void set(Emitter&, std::int64_t offset, llvm::Value*);
  /// Combines some lanes from the first one on.
  void combine_together(Emitter&, ir::OpId, llvm::Value* first, std::int64_t lanes, const Read&, const Update&);
  /// Writes a window to memory.
  void flush(Emitter&, const Window&);

  const std::set<ir::OpId> ops_;
  std::map<std::tuple<ir::OpKind, ir::Element, std::uint32_t>, Window> windows_;
};

}  // namespace tilewright::backend::host
