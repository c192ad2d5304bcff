// Traces the named scans.
#include "tilewright/ops/scan.h"

#include "frontend/ops/combine.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

constexpr std::string_view kNames[] = {"cumsum", "cumprod", "cummax", "cummin"};

ir::OpKind combiner(Scan s) {
  switch (s) {
    case Scan::cumsum: return ir::OpKind::add_;
    case Scan::cumprod: return ir::OpKind::mul_;
    case Scan::cummax: return ir::OpKind::maximum_;
    case Scan::cummin: return ir::OpKind::minimum_;
  }
  TW_UNREACHABLE("a scan without an op");
}

}  // namespace

Made scan(Scan s, const Handle& t, std::int64_t axis, bool reverse, const Here& at) {
  Emit e(kNames[static_cast<int>(s)], at);
  e.expect_no_combine();
  ir::ValueId x = e.value(t, "t");
  const ir::Type type = e.type(x);
  std::vector<ir::Attr> attrs{ir::Attr{ir::AttrName::axis, e.axis(axis, type.rank(), x, "t"), {}}};
  if (reverse) attrs.push_back(ir::Attr{ir::AttrName::reverse, 1, {}});
  // 16-bit floats have too few bits for a running sum. Maxima and minima give the same result in f32, which targets use anyway.
  const bool widen = type.is_float() && ir::bits(type.element()) <= 16;
  if (widen) x = e.b().cast(x, ir::Element::f32);
  const ir::ValueId result = combine_by(e, ir::OpKind::scan_, combiner(s), x, std::move(attrs));
  return made(widen ? e.b().cast(result, type.element()) : result);
}

}  // namespace tilewright::detail
