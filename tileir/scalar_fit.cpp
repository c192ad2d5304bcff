// Checks C++ numbers against the element types of the values that they are used with.
#include "tileir/scalar_fit.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::detail {

namespace {

struct IntegerRange {
  std::int64_t least;
  std::uint64_t greatest;
};
IntegerRange range_of(ir::Element e) {
  const int n = ir::bits(e);
  const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  if (ir::is_unsigned(e)) return {0, all};
  return {-static_cast<std::int64_t>(all >> 1) - 1, all >> 1};
}

bool negative(const Scalar& s) { return s.kind == Scalar::Kind::signed_integer && static_cast<std::int64_t>(s.bits) < 0; }

std::string text_of(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Kind::signed_integer: return fmt::format("{}", static_cast<std::int64_t>(s.bits));
    case Scalar::Kind::unsigned_integer: return fmt::format("{}", s.bits);
    case Scalar::Kind::real: return fmt::format("{}", s.real);
    case Scalar::Kind::boolean: return s.bits != 0 ? "true" : "false";
  }
  TW_UNREACHABLE("kind of a scalar");
}

double greatest(ir::Element e) {
  switch (e) {
    case ir::Element::f16: return 65504;
    case ir::Element::bf16: return ir::float_value(e, 0x7f7f);
    case ir::Element::f8e4m3: return 448;
    case ir::Element::f8e5m2: return 57344;
    case ir::Element::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

FittedScalar fit_real(double v, ir::Element e) {
  if (!ir::is_float(e)) return {0, fmt::format("{} is not a number of {}", v, ir::text(e))};
  if (std::isinf(v) && e == ir::Element::f8e4m3) return {0, "f8e4m3 has no infinity"};
  const std::uint64_t bits = ir::element_bits(e, v);
  if (std::isfinite(v) && !std::isfinite(ir::float_value(e, bits)))
    return {0, fmt::format("constant {} overflows {}, whose greatest value is {}", v, ir::text(e), greatest(e))};
  return {bits, {}};
}

}  // namespace

FittedScalar fit(const Scalar& s, ir::Element e) {
  if (s.kind == Scalar::Kind::real) return fit_real(s.real, e);
  if (e == ir::Element::boolean) {
    if (s.bits <= 1) return {s.bits, {}};
    return {0, fmt::format("constant {} does not fit {} (0 to 1)", text_of(s), ir::text(e))};
  }
  if (ir::is_float(e)) {
    const std::uint64_t magnitude = negative(s) ? 0 - s.bits : s.bits;
    const double v = negative(s) ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
    const FittedScalar rounded = fit_real(v, e);
    if (!rounded.problem.empty()) return rounded;
    const bool exact =
        magnitude == 0 || (std::bit_width(magnitude) - std::countr_zero(magnitude) <= 53 && ir::float_value(e, rounded.bits) == v);
    if (exact) return rounded;
    return {0, fmt::format("constant {} is not exact in {}: write it as a float to have it rounded", text_of(s), ir::text(e))};
  }
  const IntegerRange r = range_of(e);
  const bool fits = negative(s) ? static_cast<std::int64_t>(s.bits) >= r.least : s.bits <= r.greatest;
  if (fits) return {ir::element_bits(e, static_cast<std::int64_t>(s.bits)), {}};
  return {0, fmt::format("constant {} does not fit {} ({} to {})", text_of(s), ir::text(e), r.least, r.greatest)};
}

}  // namespace tilewright::detail
