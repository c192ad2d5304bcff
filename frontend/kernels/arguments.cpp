// Checks of the arguments of the kernel library.
#include "tilewright/kernels/detail/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>

#include "runtime/device.h"
#include "tileir/scalar_fit.h"
#include "tilewright/detail/enumerator.h"

namespace tilewright::kernels::host {

namespace {

using Int = __int128;

/// One axis of the difference of two addresses: index * stride for 0 <= index <= last, with stride > 0.
struct Term {
  Int stride, last;
};

/// The terms of two arrays at most.
class Terms {
 public:
  void add(const Term& t) { terms_[size_++] = t; }
  Term* begin() { return terms_.data(); }
  Term* end() { return begin() + size_; }

 private:
  std::array<Term, 2 * AxisNumbers::kMost> terms_;
  std::size_t size_ = 0;
};

/// Whether a sum of terms can be in [low, high]. Terms are sorted by descending stride. After `budget` steps it gives up and returns true.
bool reaches(std::span<const Term> terms, Int low, Int high, int& budget) {
  if (low > high) return false;
  if (terms.empty()) return low <= 0 && 0 <= high;
  if (--budget < 0) return true;
  Int rest = 0, divisor = 0;
  for (const Term& t : terms.subspan(1)) {
    rest += t.stride * t.last;
    divisor = divisor == 0 ? t.stride : std::gcd(static_cast<std::int64_t>(divisor), static_cast<std::int64_t>(t.stride));
  }
  const auto floor_div = [](Int a, Int b) { return a / b - (a % b != 0 && a < 0); };
  const auto& [stride, last] = terms[0];
  const Int first = std::max<Int>(0, -floor_div(-(low - rest), stride));
  const Int end = std::min<Int>(last, floor_div(high, stride));
  for (Int i = first; i <= end; ++i)
    if (reaches(terms.subspan(1), low - i * stride, high - i * stride, budget)) return true;
  return false;
}

/// Whether different indices lead to different elements: each stride is larger than the range that smaller strides cover.
bool is_injective(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) {
  Terms terms;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 1) terms.add({strides[i] < 0 ? -Int{strides[i]} : Int{strides[i]}, extents[i] - 1});
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.stride < b.stride; });
  Int reach = 0;
  for (const Term& t : terms) {
    if (t.stride <= reach) return false;
    reach += t.stride * t.last;
  }
  return true;
}

}  // namespace

bool share_memory(const StridedBytes& a, const StridedBytes& b) {
  // Element i of a is at A + sum(i * s), element j of b at B + sum(j * t). They share a byte if B - A + sum(j * t) - sum(i * s) is in
  // (-bytes of b, bytes of a). Negative terms are reversed: i * -s = (last - i) * s - last * s.
  Terms terms;
  Int begin = Int{b.begin} - a.begin, most = 0;
  const auto add = [&](const StridedBytes& v, int sign) {
    for (std::size_t i = 0; i < v.extents.size(); ++i) {
      if (v.extents[i] == 0) return false;
      Int stride = Int{v.strides[i]} * sign;
      const Int last = v.extents[i] - 1;
      if (stride == 0 || last == 0) continue;
      if (stride < 0) begin += stride * last, stride = -stride;
      terms.add({stride, last});
      most += stride * last;
    }
    return true;
  };
  if (!add(a, -1) || !add(b, 1)) return false;
  if (begin >= a.element_bytes || begin + most <= -b.element_bytes) return false;  // one lies behind the other
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.stride > y.stride; });
  int budget = 10000;
  return reaches({terms.begin(), terms.end()}, -begin - b.element_bytes + 1, -begin + a.element_bytes - 1, budget);
}

std::string ArgumentCheck::View_::shape() const { return fmt::format("[{}]", fmt::join(extents, ", ")); }

void ArgumentCheck::fail(const std::string& message) const {
  throw Error(detail::location_of(at_), fmt::format("{}: {}", function_, message));
}

void ArgumentCheck::add(View_ view) {
  if (!view.memory.made() || !view.memory.buffer) fail(fmt::format("'{}' is empty: a view comes from tw::view()", view.name));
  if (!view.memory.buffer->device())
    fail(fmt::format("the buffer of '{}' is empty: it was never allocated, or has been moved from", view.name));
  views_.push_back(std::move(view));
}

const ArgumentCheck::View_& ArgumentCheck::find(const char* name) const {
  return *std::find_if(views_.begin(), views_.end(), [&](const View_& v) { return std::strcmp(v.name, name) == 0; });
}

std::size_t ArgumentCheck::axis_of(const View_& v, int axis) const {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(v.extents.size()) : axis);
}

std::int64_t ArgumentCheck::extent(const char* name, int axis) const {
  const View_& v = find(name);
  return v.extents[axis_of(v, axis)];
}

void ArgumentCheck::equal(const char* name, int axis, const char* symbol, const char* other, int other_axis) const {
  const View_& v = find(name);
  const View_& o = find(other);
  const std::int64_t want = o.extents[axis_of(o, other_axis)];
  if (v.extents[axis_of(v, axis)] != want)
    fail(fmt::format("'{}' is {}; the extent of its axis {} must be {} = {} of '{}', which is {}", name, v.shape(), axis_of(v, axis),
                     symbol, want, other, o.shape()));
}

void ArgumentCheck::equal(const char* name, int axis, const char* symbol, std::int64_t want) const {
  const View_& v = find(name);
  if (v.extents[axis_of(v, axis)] != want)
    fail(fmt::format("'{}' is {}; the extent of its axis {} must be {} = {}", name, v.shape(), axis_of(v, axis), symbol, want));
}

void ArgumentCheck::same_shape(const char* name, const char* other, int count) const {
  const View_& v = find(name);
  const View_& o = find(other);
  const std::size_t checked = count < 0 ? v.extents.size() : static_cast<std::size_t>(count);
  AxisNumbers want = v.extents;
  std::copy_n(o.extents.begin(), checked, want.begin());
  if (v.extents != want)
    fail(fmt::format("'{}' is {}; it must be [{}] as '{}' is {}", name, v.shape(), fmt::join(want, ", "), other, o.shape()));
}

void ArgumentCheck::same_extent(const char* name, int axis, const char* other, int other_axis) const {
  const View_& v = find(name);
  const View_& o = find(other);
  const std::int64_t want = o.extents[axis_of(o, other_axis)];
  if (v.extents[axis_of(v, axis)] != want)
    fail(fmt::format("'{}' is {}; the extent of its axis {} must be {} as that of axis {} of '{}', which is {}", name, v.shape(),
                     axis_of(v, axis), want, axis_of(o, other_axis), other, o.shape()));
}

void ArgumentCheck::at_most(const char* name, int axis, std::int64_t most) const {
  const View_& v = find(name);
  if (v.extents[axis_of(v, axis)] > most)
    fail(fmt::format("'{}' is {}; the extent of its axis {} must be at most {}", name, v.shape(), axis_of(v, axis), most));
}

void ArgumentCheck::head_group(const char* name, const char* of, int axis) const {
  const View_& v = find(name);
  const View_& o = find(of);
  const std::int64_t heads = v.extents[axis_of(v, axis)], key_heads = o.extents[axis_of(o, axis)];
  if (heads > 0 && (key_heads == 0 || heads % key_heads != 0))
    fail(fmt::format("'{}' is {}; its {} heads must be a multiple of the {} heads of '{}', which is {}", name, v.shape(), heads, key_heads,
                     of, o.shape()));
}

void ArgumentCheck::extra(int number, const detail::HostView& memory, const std::vector<std::int64_t>& extents) const {
  const std::string name = fmt::format("extra argument {} of the epilogue", number);
  if (!memory.made()) fail(fmt::format("{} is empty: a view comes from tw::view()", name));
  const rt::Device* const on = memory.buffer ? memory.buffer->device().get() : nullptr;
  if (!on) fail(fmt::format("the buffer of {} is empty: it was never allocated, or has been moved from", name));
  const View_& first = views_.front();
  if (on != first.memory.buffer->device().get())
    fail(fmt::format("{}, which is [{}], is on device '{}', but '{}' is on device '{}'; all arguments must be on one device", name,
                     fmt::join(extents, ", "), on->name(), first.name, first.memory.buffer->device()->name()));
}

std::uint64_t ArgumentCheck::element_bits(const char* name, const tilewright::detail::Scalar& number,
                                          tilewright::detail::TypeCode type) const {
  const tilewright::detail::FittedScalar fitted = tilewright::detail::fit(number, static_cast<ir::Element>(type.element));
  if (!fitted.problem.empty()) fail(fmt::format("{}: {}", name, fitted.problem));
  return fitted.bits;
}

std::int64_t ArgumentCheck::broadcast(std::initializer_list<const char*> inputs, const char* result, int axis) const {
  const View_* largest = nullptr;
  for (const char* name : inputs) {
    const View_& v = find(name);
    const std::int64_t extent = v.extents[axis_of(v, axis)];
    if (largest && extent != 1 && largest->extents[axis_of(*largest, axis)] != 1 && extent != largest->extents[axis_of(*largest, axis)])
      fail(fmt::format("'{}' is {}; the extent of its axis {}, of the batch, must be 1 or {} as of '{}', which is {}", name, v.shape(),
                       axis_of(v, axis), largest->extents[axis_of(*largest, axis)], largest->name, largest->shape()));
    if (!largest || largest->extents[axis_of(*largest, axis)] == 1) largest = &v;
  }
  equal(result, axis, "batch", largest->name, axis);
  return extent(result, axis);
}

namespace {

/// The axis along which the elements are contiguous; -1 if there is none.
std::ptrdiff_t contiguous_axis(std::span<const std::int64_t> strides) {
  return strides.rend() - std::find(strides.rbegin(), strides.rend(), 1) - 1;
}

}  // namespace

std::string ArgumentCheck::types() const {
  std::string text;
  for (const View_& v : views_) text += fmt::format("{}{};{}", text.empty() ? "" : ",", v.type, contiguous_axis(v.strides));
  return text;
}

std::size_t ArgumentCheck::types_hash() const {
  std::size_t hash = 0;
  for (const View_& v : views_)
    hash = hash * 1000003 + std::hash<std::string_view>()(v.type) * 31 + static_cast<std::size_t>(contiguous_axis(v.strides));
  return hash;
}

std::vector<detail::Arguments::Reach> ArgumentCheck::reread(std::span<const detail::Arguments::Reach> extras) const {
  std::vector<detail::Arguments::Reach> memory;
  for (const View_& v : views_) {
    if (!v.written || std::find(v.extents.begin(), v.extents.end(), 0) != v.extents.end()) continue;
    // The range from the lowest to the highest element.
    std::int64_t first = 0, last = 0;
    for (std::size_t i = 0; i < v.extents.size(); ++i) (v.strides[i] < 0 ? first : last) += (v.extents[i] - 1) * v.strides[i];
    const auto start = reinterpret_cast<std::uint64_t>(v.memory.buffer->memory());
    const auto at = [&](std::int64_t element) { return start + static_cast<std::uint64_t>(element * v.element_bytes); };
    const detail::Arguments::Reach result{.word = 0, .begin = at(first), .end = at(last + 1), .buffer = v.memory.buffer};
    const auto meets = [&](const detail::Arguments::Reach& extra) { return detail::Arguments::may_meet(result, extra); };
    if (v.updated || std::any_of(extras.begin(), extras.end(), meets)) memory.push_back(result);
  }
  return memory;
}

Device ArgumentCheck::device() const { return Device(views_.front().memory.buffer->device()); }

void ArgumentCheck::finish() const {
  const auto bytes_of = [](const View_& v) {
    StridedBytes s{static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(v.memory.buffer->memory())), v.element_bytes, v.extents,
                   v.strides};
    // The stride of an axis with at most one element has no meaning and may be any number.
    for (std::size_t i = 0; i < s.strides.size(); ++i) s.strides[i] = s.extents[i] > 1 ? s.strides[i] * v.element_bytes : 0;
    return s;
  };
  for (const View_& v : views_) {
    const View_& first = views_.front();
    detail::check_view(*v.memory.buffer, v.extents, v.strides, at_);
    if (v.memory.buffer->device() != first.memory.buffer->device())
      fail(fmt::format("'{}' is on device '{}', but '{}' is on device '{}'; all arguments must be on one device", v.name,
                       v.memory.buffer->device()->name(), first.name, first.memory.buffer->device()->name()));
    if (std::any_of(v.extents.begin(), v.extents.end(), [](std::int64_t e) { return e > INT32_MAX; }))
      fail(fmt::format("'{}' is {}; an extent is at most {}", v.name, v.shape(), INT32_MAX));
  }
  for (const View_& result : views_) {
    if (!result.written) continue;
    if (!is_injective(result.extents, result.strides))
      fail(
          fmt::format("elements of '{}' share memory: extents {{{}}} with strides {{{}}}; each element of a result needs memory of its own",
                      result.name, fmt::join(result.extents, ", "), fmt::join(result.strides, ", ")));
    for (const View_& other : views_)
      if (&other != &result && share_memory(bytes_of(result), bytes_of(other)))
        fail(fmt::format("'{}', a result, shares memory with '{}'; it needs memory of its own", result.name, other.name));
  }
}

void ArgumentCheck::options(const Options& options) const {
  const rt::Device* on = options.stream.handle() ? options.stream.device().get() : nullptr;
  const View_& first = views_.front();
  if (on && on != first.memory.buffer->device().get())
    fail(fmt::format("the stream is on device '{}', but '{}' is on device '{}'", on->name(), first.name,
                     first.memory.buffer->device()->name()));
  const std::string mistake = detail::enumerator_mistake("precision", options.precision, Precision::ieee, "Precision");
  if (!mistake.empty()) fail(mistake);
  if (!options.configuration) return;
  const Configuration& c = *options.configuration;
  const std::pair<const char*, int> sizes[] = {{"bm", c.bm}, {"bn", c.bn}, {"bk", c.bk}};
  for (const auto& [name, size] : sizes)
    if (size < 1 || size > 65536 || !std::has_single_bit(static_cast<unsigned>(size)))
      fail(fmt::format("{} = {} of the configuration; it must be a power of two from 1 to 65536", name, size));
  const std::pair<const char*, int> counts[] = {{"group", c.group}, {"splits", c.splits}};
  for (const auto& [name, count] : counts)
    if (count < 1 || count > 65536) fail(fmt::format("{} = {} of the configuration; it must be 1 to 65536", name, count));
}

}  // namespace tilewright::kernels::host
