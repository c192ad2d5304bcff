// Which element types each element-wise op takes, found by asking the op table's own rules.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tileir/ir.h"
#include "tileir/op_info.h"

namespace tilewright::fuzz {

struct Signature {
  std::vector<ir::Element> operands;
  ir::Element result;
};

/// Every combination of elements (pointers aside) that the rule of an op accepts for operands of one shape. Empty for ops that are not
/// element-wise.
std::span<const Signature> signatures(ir::OpKind);
/// The ops that have any.
std::span<const ir::OpKind> elementwise_ops();

/// How often each op of the table occurs.
class Coverage {
 public:
  void count(const ir::Function&);
  std::uint64_t of(ir::OpKind k) const { return counts_[static_cast<std::size_t>(k)]; }
  /// The ops of the table that never occurred.
  std::vector<ir::OpKind> missing() const;

 private:
  std::array<std::uint64_t, 256> counts_{};  // OpKind is a byte
};

}  // namespace tilewright::fuzz
