// Atomics that a thread combines before it updates memory.
//
// If nobody uses the old values of an atomic, a thread may first combine its values for one address: locked instructions take ten times as
// long as others. Each kind of atomic has a table in scratch memory with one slot for each hash of an address. A value for an address whose
// slot holds another one evicts it: its combined value goes to memory. The rest goes to memory at the end of the thread's range of
// programs, for which a list says which slots are filled. Where addresses are many, a table only costs time: after too many evictions in a
// range, its atomics go to memory directly.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
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
  /// Allocates and empties the tables, before the first program.
  void begin(Emitter&);
  /// Executes an atomic: calls update(lane, is_combined) in a loop over the lanes whose values go through the table, and in another one for
  /// those that go to memory directly.
  void for_each_lane(Emitter&, ir::OpId, const std::function<void(llvm::Value* lane, bool is_combined)>& update);
  /// Combines the value of an active lane. x: the address, and the value.
  void add(Emitter&, ir::OpId, const std::vector<llvm::Value*>& x);
  /// Writes what is left to memory, after the last program.
  void finish(Emitter&);

 private:
  struct Table {
    ir::OpId op;                                       // one of its atomics
    std::int64_t keys, values, filled, count, credit;  // offsets in scratch memory
  };
  /// A table has the atomics of one operation on one type.
  Table& table_of(const ir::Function&, ir::OpId);

  const std::set<ir::OpId> ops_;
  std::map<std::pair<ir::OpKind, ir::Element>, Table> tables_;
};

}  // namespace tilewright::backend::host
