// Checks the arguments of launches and views, and computes the argument attributes that specializations rely on.
#include "tilewright/detail/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/trace/ir_type.h"
#include "runtime/device.h"
#include "tileir/builder.h"
#include "tilewright/kernel.h"

namespace tilewright::detail {

namespace {

// The largest divisor that specializations know: enough for 16-byte accesses, small enough for few variants.
constexpr std::int64_t kClass = 16;

std::int64_t element_bytes(Code c) {
  switch (c) {
    case Code::boolean:
    case Code::i8:
    case Code::u8:
    case Code::f8e4m3:
    case Code::f8e5m2: return 1;
    case Code::i16:
    case Code::u16:
    case Code::f16:
    case Code::bf16: return 2;
    case Code::i32:
    case Code::u32:
    case Code::f32: return 4;
    case Code::i64:
    case Code::u64:
    case Code::f64: return 8;
  }
  return 8;
}

bool is_integer(Code c) { return c >= Code::i8 && c <= Code::u64; }

/// Whether the word is an integer from 1 to 2^31 - 1.
bool is_positive(TypeCode type, std::uint64_t bits) {
  const ir::Type t = ir_type(type);
  if (!t.is_integer()) return false;
  const std::int64_t value = ir::integer_value(t.element(), bits);
  return value > 0 && value <= INT32_MAX;
}

/// The largest power of two that divides n, at most kClass; kClass for 0.
std::int64_t power_of_two_in(std::uint64_t n) {
  n |= kClass;
  return static_cast<std::int64_t>(n & -n);
}

}  // namespace

std::string Arguments::Position::text() const {
  return field < 0 ? fmt::format("argument {}", argument + 1) : fmt::format("argument {}, field {}", argument + 1, field + 1);
}

void Arguments::fail(const std::string& message) const {
  const std::string kernel = kernel_ != nullptr ? fmt::format("kernel '{}': ", name_of(kernel_, at_)) : "";
  throw Error(location_of(at_), fmt::format("{}{}: {}", kernel, position_.text(), message));
}

void Arguments::advance() { ++(depth_ == 0 ? position_.argument : position_.field); }

void Arguments::begin_fields() {
  if (depth_++ == 0) position_.field = 0;
}

void Arguments::end_fields() {
  if (--depth_ == 0) position_ = {position_.argument + 1};
}

void Arguments::refuse_number(Scalar number, Scalar least, Scalar greatest) const {
  const auto shown = [](Scalar s) {
    switch (s.kind) {
      case Scalar::Kind::real: return fmt::format("{:g}", s.real);
      case Scalar::Kind::signed_integer: return std::to_string(static_cast<std::int64_t>(s.bits));
      default: return std::to_string(s.bits);
    }
  };
  fail(fmt::format("{} does not fit this parameter: it must be {} to {}", shown(number), shown(least), shown(greatest)));
}

void Arguments::add_word(TypeCode type, std::uint64_t bits, std::int64_t divisible_by) {
  bits_.push_back(bits);
  words_.push_back({.type = type, .divisible_by = divisible_by, .positive = is_positive(type, bits)});
}

void Arguments::forget_signs() {
  for (Word& w : words_) w.positive = false;
}

void Arguments::add_device(rt::Device* device) {
  if (device_ && device_ != device)
    fail(fmt::format("its buffer is on device '{}', but that of {} is on device '{}'", device->name(), device_position_.text(),
                     device_->name()));
  if (!device_) device_position_ = position_;
  device_ = device;
}

void Arguments::add_pointer(TypeCode type, const PointerArgument& p) {
  add_pointer_word(type, p);
  advance();
}

void Arguments::add_pointer_word(TypeCode type, const PointerArgument& p) {
  const std::int64_t bytes = element_bytes(type.element);
  if (p.is_stand_in) {
    if (p.alignment < bytes || (p.alignment & (p.alignment - 1)) != 0)
      fail(fmt::format("an alignment of {} bytes; it must be a power of two and at least {}, the size of an element", p.alignment, bytes));
    add_word(type, 0, std::min<std::int64_t>(p.alignment, kClass));
    words_.back().disjoint = true;
  } else {
    const void* memory = p.raw;
    if (p.buffer) {
      if (!p.buffer->device()) fail("this buffer is empty: it was never allocated, or has been moved from");
      memory = p.buffer->at(p.offset, at_);
      add_device(p.buffer->device().get());
    }
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    const std::int64_t alignment = power_of_two_in(address);
    if (alignment < bytes) fail(fmt::format("the pointer {:#x} is not aligned to {} bytes, the size of an element", address, bytes));
    add_word(type, address, alignment);
    compare_with_others(p, address);
  }
}

// Whether a pointer is disjoint from all others. For a pointer that is not, the kernel needs barriers where a thread may read a value that
// another thread wrote.
void Arguments::compare_with_others(const PointerArgument& p, std::uint64_t address) {
  words_.back().disjoint = true;
  if (!p.buffer && !p.raw) return;  // a null pointer
  Reach mine{words_.size() - 1, address, address, p.buffer};
  if (p.buffer) {
    mine.begin = reinterpret_cast<std::uint64_t>(p.buffer->memory());
    mine.end = mine.begin + p.buffer->size() * static_cast<std::uint64_t>(element_bytes(words_.back().type.element));
  }
  for (const Reach& other : reaches_)
    if (may_meet(mine, other)) words_[mine.word].disjoint = words_[other.word].disjoint = false;
  reaches_.push_back(mine);
}

bool Arguments::may_meet(const Reach& a, const Reach& b) {
  if (a.buffer && b.buffer) return a.begin < b.end && b.begin < a.end;
  // A raw pointer into one allocation, or to its end, is disjoint from other allocations. The bounds of memory that the user wrapped, and
  // of the memory of other raw pointers, are not known.
  const bool is_allocation = (a.buffer && a.buffer->is_owned()) || (b.buffer && b.buffer->is_owned());
  return !is_allocation || (a.begin <= b.end && b.begin <= a.end);
}

std::vector<Arguments::Reach> Arguments::written() const {
  std::vector<Reach> written;
  for (const Reach& r : reaches_)
    if (words_.data()[r.word].type.indirection == Indirection::pointer) written.push_back(r);
  return written;
}

void Arguments::add_value(Code code, std::uint64_t bits) {
  // Only the low bits decide, for any width and sign: 16 divides -32 in two's complement too.
  add_word({code}, bits, is_integer(code) && element_bytes(code) >= 2 ? power_of_two_in(bits) : 1);
  advance();
}

void Arguments::add_stand_in(Code code, std::int64_t divisible_by) {
  if (divisible_by < 1) fail(fmt::format("a multiple of {}; the divisor must be at least 1", divisible_by));
  if (divisible_by > 1 && !is_integer(code)) fail(fmt::format("a multiple of {} that is not an integer", divisible_by));
  add_word({code}, 0, power_of_two_in(static_cast<std::uint64_t>(divisible_by)));
  words_.back().positive = is_integer(code);
  advance();
}

void Arguments::add_view(TypeCode pointer, const HostView& view, std::span<const std::int64_t> extents,
                         std::span<const std::int64_t> strides) {
  if (!view.made()) fail("the view is empty: a view comes from tw::view()");
  // This is checked again because another buffer may have been moved into this one since the view was made.
  if (view.buffer) check_view(*view.buffer, extents, strides, at_);
  add_pointer_word(pointer, {.buffer = view.buffer, .alignment = view.alignment, .is_stand_in = view.buffer == nullptr});
  for (std::int64_t e : extents) add_word({Code::i64}, static_cast<std::uint64_t>(e), power_of_two_in(static_cast<std::uint64_t>(e)));
  for (std::int64_t s : strides) {
    add_word({Code::i64}, static_cast<std::uint64_t>(s), power_of_two_in(static_cast<std::uint64_t>(s)));
    key_.add(static_cast<std::uint8_t>(s == 1));  // the strides that the specialization knows to be 1
  }
  advance();
}

void row_major(std::span<const std::int64_t> extents, std::span<std::int64_t> strides, const Here& at) {
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i] < 0) throw Error(location_of(at), fmt::format("view: extent {} of axis {}; it must not be negative", extents[i], i));
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(extents[i], 1), &stride))
      throw Error(location_of(at), fmt::format("view: extents {{{}}} have more than 2^63 elements", fmt::join(extents, ", ")));
  }
}

void check_view(const RawBuffer& buffer, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides, const Here& at) {
  buffer.at(0, at);
  // Offsets of the first and the last element of the view; 128 bits hold any sum of five products.
  __int128 lowest = 0, highest = 0;
  bool is_empty = false;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 0) throw Error(location_of(at), fmt::format("view: extent {} of axis {}; it must not be negative", extents[i], i));
    is_empty |= extents[i] == 0;
    (strides[i] < 0 ? lowest : highest) += static_cast<__int128>(extents[i] - 1) * strides[i];
  }
  if (is_empty || (lowest >= 0 && highest < static_cast<__int128>(buffer.size()))) return;
  const auto shown = [](__int128 v) { return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : static_cast<std::int64_t>(v); };
  throw Error(location_of(at),
              fmt::format("view: extents {{{}}} with strides {{{}}} reach from element {} to element {} of a buffer of {} elements",
                          fmt::join(extents, ", "), fmt::join(strides, ", "), shown(lowest), shown(highest), buffer.size()));
}

int view_axis(std::int64_t axis, int rank, const char* what, const Here& at) {
  if (axis < -rank || axis >= rank)
    throw Error(location_of(at), fmt::format("{}: axis {} of a view of rank {}; it must be {} to {}", what, axis, rank, -rank, rank - 1));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void no_view_parameter(const char* what, const Here& at) {
  throw Error(location_of(at),
              fmt::format("{}: this view is not a parameter of a kernel: pass it to the launch, and use the parameter here", what));
}

void no_view(const char* what, const Here& at) {
  throw Error(location_of(at), fmt::format("{}: the view is empty: a view comes from tw::view()", what));
}

}  // namespace tilewright::detail
