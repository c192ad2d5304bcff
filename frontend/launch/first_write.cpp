// Follows a pointer from the parameter to the operands of stores: forwards through the control flow, until nothing changes.
#include "frontend/launch/first_write.h"

#include <algorithm>
#include <vector>

namespace tilewright::detail {

namespace {

class DerivedPointers {
 public:
  DerivedPointers(const ir::Function& f, std::size_t parameter) : f_(f), derived_(f.value_capacity(), false) {
    add(f.arg(f.body(), static_cast<int>(parameter)));
    while (has_grown_) {
      has_grown_ = false;
      f.walk([&](ir::OpId id) { follow(id); });
    }
  }
  bool contains(ir::ValueId v) const { return derived_[v.index]; }

 private:
  void add(ir::ValueId v) {
    if (!f_.type(v).is_pointer() || derived_[v.index]) return;
    derived_[v.index] = has_grown_ = true;
  }

  // A pointer that an op returns, or passes to its regions, may derive from any pointer that it takes or that a region returns.
  void follow(ir::OpId id) {
    const ir::OpData& op = f_.op(id);
    const auto takes = [&](ir::OpId from) {
      const auto& operands = f_.op(from).operands;
      return std::any_of(operands.begin(), operands.end(), [&](ir::ValueId v) { return contains(v); });
    };
    bool is_derived = takes(id);
    for (const ir::BlockId region : op.regions)
      if (const ir::OpId last = f_.terminator(region); last.valid()) is_derived |= takes(last);
    if (!is_derived) return;
    for (const ir::ValueId v : op.results) add(v);
    for (const ir::BlockId region : op.regions)
      for (const ir::ValueId v : f_.block(region).args) add(v);
  }

  const ir::Function& f_;
  std::vector<bool> derived_;
  bool has_grown_ = false;
};

}  // namespace

ir::OpId first_write(const ir::Function& f, std::size_t parameter) {
  const DerivedPointers derived(f, parameter);
  ir::OpId first;
  f.walk([&](ir::OpId id) {
    if (!first.valid() && ir::info(f.kind(id)).has(ir::kWrites) && derived.contains(f.operand(id, 0))) first = id;
  });
  return first;
}

}  // namespace tilewright::detail
