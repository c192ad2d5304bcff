// Replaces conversions by cheaper ones: of smaller tiles, or of tiles from which their operand is computed; or removes them.
//
//   convert(cast(x))            -> cast(convert(x))       if x has smaller elements; the same for other cheap element-wise and shape ops
//   convert(broadcast(x))       -> broadcast(convert(x))
//   convert(convert(x))         -> convert(x)
//
// Input, output: distributed. Numerics do not change. See tests/files/passes/remove_layout_conversions/.
#include "passes/layout/rematerializable.h"
#include "passes/layout/rematerializer.h"
#include "passes/pass.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr int kMaxDepth = 12;

class ConversionRemover {
 public:
  explicit ConversionRemover(Function& f) : rw_(f), f_(f), costs_(f), rematerializer_(rw_, costs_, policy()) {}

  bool run() {
    std::vector<OpId> conversions;
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::convert_layout_) conversions.push_back(id);
    });
    for (OpId id : conversions)
      if (!f_.erased(id)) visit(id);
    return rw_.changed();
  }

 private:
  RematerializationPolicy policy() const {
    const auto may_recompute = [this](ValueId v) { return f_.value(v).op && recompute_cost(f_, f_.value(v).op); };
    return {RematerializationPolicy::Threshold::if_cheaper, kMaxDepth, may_recompute, {}};
  }

  void visit(OpId conversion) {
    const ValueId operand = f_.operand(conversion, 0);
    const LayoutId layout = f_.layout_id(f_.result(conversion));
    ValueId v = operand;
    while (const OpId inner = f_.defined_by(v, OpKind::convert_layout_)) v = f_.operand(inner, 0);
    if (f_.layout_id(v) == layout)
      rw_.replace(conversion, v);
    else if (rematerializer_.is_cheaper_than_conversion(v, layout))
      rw_.replace(conversion, rematerializer_.get(v, layout));
    else if (v != operand)
      rw_.set_operand(conversion, 0, v);
    else
      return;
    rw_.erase_unused(operand);
  }

  Rewriter rw_;
  Function& f_;
  ConversionCosts costs_;
  Rematerializer rematerializer_;
};

}  // namespace

bool remove_layout_conversions(Function& f, const PassContext&) { return ConversionRemover(f).run(); }

}  // namespace tilewright::passes
