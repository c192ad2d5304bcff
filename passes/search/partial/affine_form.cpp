// Ranges, conditions and divisions of affine forms.
#include "passes/search/partial/affine_form.h"

#include <algorithm>

namespace tilewright::passes::search {
namespace {

std::int64_t floor_of_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

/// The first position along an axis, counted from the corner, of a part of the box in which form >= bound holds everywhere or nowhere; 0 if
/// there is none. If there are two such parts, the position that decides more positions is taken.
std::int64_t deciding_split(std::int64_t step, std::int64_t length, ValueRange rest, std::int64_t bound) {
  const std::int64_t size = std::abs(step);
  // With a positive step, positions from `all` on are at least the bound, and those before `none` are below it. A negative step mirrors this.
  const std::int64_t all = floor_of_quotient(bound - rest.least + size - 1, size),
                     none = floor_of_quotient(bound - 1 - rest.greatest, size) + 1;
  const std::int64_t after_all = floor_of_quotient(rest.least - bound, size) + 1,
                     before_none = floor_of_quotient(rest.greatest - bound, size) + 1;
  const std::int64_t front = step > 0 ? none : after_all, back = step > 0 ? all : before_none;
  const bool has_front = front > 0 && front < length, has_back = back > 0 && back < length;
  if (!has_front && !has_back) return 0;
  if (has_front && has_back) return front >= length - back ? front : back;
  return has_front ? front : back;
}

}  // namespace

AffineForm& AffineForm::operator+=(const AffineForm& other) {
  base += other.base;
  for (std::size_t k = 0; k < steps.size(); ++k) steps[k] += other.steps[k];
  return *this;
}

AffineForm AffineForm::mapped(std::int64_t factor, std::int64_t offset) const {
  AffineForm result = *this;
  result.base = base * factor + offset;
  for (std::int64_t& step : result.steps) step *= factor;
  return result;
}

ValueRange range_of(const AffineForm& form, const Box& box) {
  ValueRange range{form.base, form.base};
  for (std::size_t k = 0; k < box.size(); ++k) {
    const std::int64_t last = form.steps[k] * (box[k].length() - 1);
    (last < 0 ? range.least : range.greatest) += last;
  }
  return range;
}

std::variant<bool, BoxSplit> is_at_least(const AffineForm& form, std::int64_t bound, const Box& box) {
  const ValueRange range = range_of(form, box);
  if (range.least >= bound) return true;
  if (range.greatest < bound) return false;
  // The axis that moves the form most comes first.
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < box.size(); ++k)
    if (form.steps[k] != 0 && box[k].length() > 1) axes.push_back(k);
  const auto movement = [&](std::size_t k) { return std::abs(form.steps[k]) * (box[k].length() - 1); };
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return movement(a) > movement(b); });
  for (std::size_t k : axes) {
    const std::int64_t last = form.steps[k] * (box[k].length() - 1);
    const ValueRange rest{range.least - std::min<std::int64_t>(last, 0), range.greatest - std::max<std::int64_t>(last, 0)};
    if (const std::int64_t at = deciding_split(form.steps[k], box[k].length(), rest, bound)) return BoxSplit{k, box[k].begin + at};
  }
  return BoxSplit{axes[0], box[axes[0]].begin + box[axes[0]].length() / 2};
}

std::variant<Quotient, BoxSplit> divide(const AffineForm& form, std::int64_t divisor, const Box& box) {
  Quotient result;
  // Each step is divided into a multiple of the divisor and the remainder of least size, so that the remainder of the form changes as
  // little as possible.
  for (std::size_t k = 0; k < box.size(); ++k) {
    result.quotient.steps[k] = floor_of_quotient(2 * form.steps[k] + divisor, 2 * divisor);
    result.remainder.steps[k] = form.steps[k] - result.quotient.steps[k] * divisor;
  }
  result.quotient.base = floor_of_quotient(form.base, divisor);
  result.remainder.base = form.base - result.quotient.base * divisor;
  const std::int64_t quotient = floor_of_quotient(range_of(result.remainder, box).least, divisor);
  const auto is_next = is_at_least(result.remainder, (quotient + 1) * divisor, box);
  if (const auto* split = std::get_if<BoxSplit>(&is_next)) return *split;
  result.quotient.base += quotient;
  result.remainder.base -= quotient * divisor;
  return result;
}

}  // namespace tilewright::passes::search
