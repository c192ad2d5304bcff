// The base class of tile handles, and arguments of operations: values of the current trace, C++ constants, and their lines.
#pragma once
#include <cstdint>

#include "tilewright/detail/scalar.h"
#include "tilewright/here.h"

namespace tilewright::detail {

/// A new value of the current trace, from which a handle is constructed.
struct Made {
  std::uint32_t value;
};

class Trace;

/// A variable of a kernel: it names a value of the trace that it belongs to, or nothing. While it names a value, the trace knows it, so
/// loops and branches see which variables were assigned in them. A handle may outlive its trace; using it then is an error.
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(Made);
  Handle(const Handle& other) noexcept {
    if (other.trace_ != 0) adopt(other, 0);
  }
  // A move keeps the variable's identity: a vector may move its elements in the body of a loop.
  Handle(Handle&& other) noexcept {
    if (other.trace_ != 0) adopt(other, other.variable_);
  }
  Handle& operator=(const Handle& other) noexcept {
    if (other.trace_ != trace_)
      rebind(other);
    else
      value_ = other.value_;
    return *this;
  }
  ~Handle() {
    if (trace_ != 0) leave();
  }

 private:
  friend class Trace;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  void adopt(const Handle&, std::uint32_t variable) noexcept;
  void rebind(const Handle&) noexcept;
  void leave() noexcept;

  // Mutable because even a const variable outside a loop gets another value while the loop's body is traced.
  mutable std::uint32_t value_ = kNone;
  std::uint32_t trace_ = 0;     // the trace's serial number; 0: never named a value
  std::uint32_t slot_ = 0;      // index in the trace's table of handles
  std::uint32_t variable_ = 0;  // the variable's number; a move keeps it
};

/// The state of a variable when a loop or a branch began.
struct Variable {
  const Handle* handle;
  std::uint32_t slot, id, value;
};

/// One argument of an operation: a handle, or a constant.
struct Input {
  Input(const Handle& tile, const Here& here) : handle(&tile), at(here) {}
  Input(Scalar number, const Here& here) : constant(number), at(here) {}
  const Handle* handle = nullptr;
  Scalar constant;
  Here at;
};

/// An optional argument: a handle, a constant, or nothing.
struct Maybe {
  Maybe() = default;
  Maybe(const Handle& tile) : handle(&tile) {}
  Maybe(Scalar number) : constant(number), is_constant(true) {}
  bool given() const { return handle != nullptr || is_constant; }
  const Handle* handle = nullptr;
  Scalar constant;
  bool is_constant = false;
};

// The element-wise operations: their names in the op table and in messages.
// clang-format off
#define TW_UNARY_OPERATIONS(X)                                                                                            \
  X(neg, "operator-") X(bit_not, "operator~") X(abs, "abs") X(ceil, "ceil") X(floor, "floor") X(round, "round")           \
  X(rint, "rint") X(trunc, "trunc") X(sqrt, "sqrt") X(rsqrt, "rsqrt") X(exp, "exp") X(exp2, "exp2") X(log, "log")         \
  X(log2, "log2") X(sin, "sin") X(cos, "cos") X(tan, "tan") X(tanh, "tanh") X(erf, "erf") X(isnan, "isnan")               \
  X(isinf, "isinf") X(popcount, "popcount") X(clz, "clz") X(ffs, "ffs") X(reverse_bits, "reverse_bits") X(exp10, "exp10") \
  X(expm1, "expm1") X(log10, "log10") X(log1p, "log1p") X(asin, "asin") X(acos, "acos") X(atan, "atan") X(sinh, "sinh")   \
  X(cosh, "cosh") X(cbrt, "cbrt")
#define TW_BINARY_OPERATIONS(X)                                                                                         \
  X(add, "operator+") X(sub, "operator-") X(mul, "operator*") X(div, "operator/") X(rem, "operator%")                   \
  X(bit_and, "operator&") X(bit_or, "operator|") X(bit_xor, "operator^") X(shl, "operator<<") X(shr, "operator>>")      \
  X(eq, "operator==") X(ne, "operator!=") X(lt, "operator<") X(le, "operator<=") X(gt, "operator>") X(ge, "operator>=") \
  X(minimum, "minimum") X(maximum, "maximum") X(fmin, "fmin") X(fmax, "fmax") X(copysign, "copysign") X(pow, "pow")     \
  X(umulhi, "umulhi") X(div_rn, "div_rn") X(atan2, "atan2") X(hypot, "hypot")
// clang-format on
enum class Unary : std::uint8_t {
  logical_not,
#define X(name, text) name,
  TW_UNARY_OPERATIONS(X)
#undef X
};
enum class Binary : std::uint8_t {
  logical_and,
  logical_or,
#define X(name, text) name,
  TW_BINARY_OPERATIONS(X)
#undef X
};

Made constant(Scalar, TypeCode, const Here&);
Made unary(Unary, const Input&);
/// `meet` is the common element type to which both sides are converted first.
Made binary(Binary, const Input& a, const Input& b, TypeCode meet);
Made offset_pointer(const Input& pointer, const Input& offset, bool negative);
Made cast(const Handle&, TypeCode, const Here&);
Made bitcast(const Handle&, TypeCode, const Here&);
/// Ptr<T> -> Ptr<const T>; an empty handle gives an empty one.
Handle add_const(const Handle&, const Here&);
/// The type of a handle's value, for shape(), rank() and extent(). Throws Error if the handle is empty or belongs to another trace.
int rank(const Handle&, const Here&);
std::int64_t extent(const Handle&, std::int64_t axis, const Here&);
/// The value of parameter `index` of the kernel that is being traced.
Made parameter_value(int index);

// The element types that the operators of tiles and tensors take.
template <class T>
concept Ordered = NumberElement<T>;
template <class T>
concept Comparable = NumberElement<T> || BoolElement<T>;
template <class T>
concept Bitwise = IntegerElement<T> || BoolElement<T>;

}  // namespace tilewright::detail
