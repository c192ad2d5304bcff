// Decides by type and precision.
#include "tileir/target/dot_order.h"

#include "tileir/attributes.h"

namespace tilewright::ir {

bool adds_bf16_blocks(const Function& f, OpId dot, const ReductionOrder& order) {
  constexpr std::int64_t kLeastExtent = 16;  // rows and columns of a tile register
  const Type a = f.type(f.operand(dot, 0)), c = f.type(f.result(dot));
  return order.has_bf16_blocks && a.element() == Element::bf16 && c.element() == Element::f32 &&
         static_cast<Precision>(f.attr(dot, AttrName::precision)) == Precision::standard && a.extent(a.rank() - 1) >= kBf16Block &&
         c.extent(c.rank() - 1) >= kLeastExtent && c.extent(c.rank() - 2) >= kLeastExtent;
}

}  // namespace tilewright::ir
