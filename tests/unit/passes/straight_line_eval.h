// Runs a straight line of element-wise ops over arrays, fast enough to sweep a 32-bit argument: each op over a block of lanes in a
// loop that the host compiler vectorizes. Ops without such a loop go through ir::evaluate_scalar, lane by lane.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "passes/all_passes.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/ir.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::passes::testing {

class StraightLine {
 public:
  /// The function's ops up to the first store, whose value is the result. Parameters are scalars; pointers among them are ignored.
  explicit StraightLine(const ir::Function& f);

  int ops() const { return static_cast<int>(steps_.size()); }
  /// Arguments and result as arrays of the elements' memory form (bool, small floats: bytes and bit patterns).
  void run(std::span<const void* const> arguments, void* result, std::size_t n);
  /// Only through evaluate_scalar: the oracle for this evaluator itself.
  bool slow = false;

 private:
  static constexpr std::size_t kBlock = 512;
  struct alignas(64) Lanes {
    unsigned char bytes[kBlock * 8];
  };
  struct Step {
    ir::OpKind kind;
    std::vector<int> operands;
    std::vector<ir::Type> types;
    ir::Type type;
    int result;
  };

  void fill(int slot, ir::Type, std::uint64_t bits);
  void evaluate(const Step&, std::size_t n);
  bool evaluate_fast(const Step&, std::size_t n);
  bool evaluate_cast(const Step&, std::size_t n);
  void evaluate_slow(const Step&, std::size_t n);
  template <class T>
  T* lanes(int slot) {
    return reinterpret_cast<T*>(values_[slot].bytes);
  }

  std::vector<Step> steps_;
  std::vector<ir::Type> params_;
  std::vector<Lanes> values_;  // by value id
  int result_ = -1;
};

/// visit(T{}) with the C++ type that holds an element's bits; 16- and 8-bit floats as unsigned integers.
template <class F>
auto with_type(ir::Element e, F&& visit) {
  switch (e) {
    case ir::Element::boolean: return visit(std::uint8_t{});
    case ir::Element::i8: return visit(std::int8_t{});
    case ir::Element::i16: return visit(std::int16_t{});
    case ir::Element::i32: return visit(std::int32_t{});
    case ir::Element::i64: return visit(std::int64_t{});
    case ir::Element::u8:
    case ir::Element::f8e4m3:
    case ir::Element::f8e5m2: return visit(std::uint8_t{});
    case ir::Element::u16:
    case ir::Element::f16:
    case ir::Element::bf16: return visit(std::uint16_t{});
    case ir::Element::u32: return visit(std::uint32_t{});
    case ir::Element::u64: return visit(std::uint64_t{});
    case ir::Element::f32: return visit(float{});
    case ir::Element::f64: return visit(double{});
  }
  TW_UNREACHABLE("no such element");
}

inline StraightLine::StraightLine(const ir::Function& f) : values_(f.value_capacity()) {
  for (ir::ValueId v : f.block(f.body()).args) params_.push_back(f.type(v));
  for (ir::OpId id : f.ops(f.body())) {
    if (f.kind(id) == ir::OpKind::store_) {
      result_ = static_cast<int>(f.operand(id, 1).index);
      return;
    }
    const ir::ValueId r = f.result(id);
    if (f.kind(id) == ir::OpKind::constant_) {
      fill(static_cast<int>(r.index), f.type(r), static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value)));
      continue;
    }
    Step s{f.kind(id), {}, {}, f.type(r), static_cast<int>(r.index)};
    for (ir::ValueId v : f.op(id).operands) {
      s.operands.push_back(static_cast<int>(v.index));
      s.types.push_back(f.type(v));
    }
    steps_.push_back(std::move(s));
  }
  TW_CHECK(false, "the function stores nothing");
}

inline void StraightLine::fill(int slot, ir::Type t, std::uint64_t bits) {
  const std::size_t size = ir::bytes(t.element());
  for (std::size_t i = 0; i < kBlock; ++i) std::memcpy(values_[slot].bytes + i * size, &bits, size);
}

inline void StraightLine::run(std::span<const void* const> arguments, void* result, std::size_t n) {
  int result_bytes = 0;
  for (const Step& s : steps_)
    if (s.result == result_) result_bytes = ir::bytes(s.type.element());
  TW_CHECK(result_bytes > 0, "the result is not an op's");
  for (std::size_t at = 0; at < n; at += kBlock) {
    const std::size_t count = std::min(kBlock, n - at);
    std::size_t argument = 0;
    for (std::size_t p = 0; p < params_.size(); ++p) {
      if (params_[p].is_pointer()) continue;
      const std::size_t size = ir::bytes(params_[p].element());
      std::memcpy(values_[p].bytes, static_cast<const unsigned char*>(arguments[argument++]) + at * size, count * size);
    }
    for (const Step& s : steps_) evaluate(s, count);
    std::memcpy(static_cast<unsigned char*>(result) + at * result_bytes, values_[result_].bytes, count * result_bytes);
  }
}

inline void StraightLine::evaluate(const Step& s, std::size_t n) {
  if (slow || !evaluate_fast(s, n)) evaluate_slow(s, n);
}

inline void StraightLine::evaluate_slow(const Step& s, std::size_t n) {
  std::uint64_t operands[3];
  const std::size_t size = ir::bytes(s.type.element());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < s.operands.size(); ++k) {
      const std::size_t width = ir::bytes(s.types[k].element());
      operands[k] = 0;
      std::memcpy(&operands[k], values_[s.operands[k]].bytes + i * width, width);
    }
    const std::uint64_t r = ir::evaluate_scalar(s.kind, s.types, std::span(operands, s.operands.size()), s.type);
    std::memcpy(values_[s.result].bytes + i * size, &r, size);
  }
}

template <class To, class From>
To saturating(From x) {
  if (!(x == x)) return 0;
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  return x < low ? std::numeric_limits<To>::min() : x >= high ? std::numeric_limits<To>::max() : static_cast<To>(x);
}

inline bool StraightLine::evaluate_cast(const Step& s, std::size_t n) {
  const ir::Element from = s.types[0].element(), to = s.type.element();
  if ((ir::is_float(from) && ir::bits(from) < 32) || (ir::is_float(to) && ir::bits(to) < 32)) return false;
  if (from == ir::Element::boolean || to == ir::Element::boolean) return false;
  with_type(from, [&](auto a) {
    with_type(to, [&](auto b) {
      using From = decltype(a);
      using To = decltype(b);
      const From* x = lanes<From>(s.operands[0]);
      To* r = lanes<To>(s.result);
      for (std::size_t i = 0; i < n; ++i) {
        if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
          r[i] = saturating<To>(x[i]);
        else
          r[i] = static_cast<To>(x[i]);
      }
    });
  });
  return true;
}

inline bool StraightLine::evaluate_fast(const Step& s, std::size_t n) {
  using K = ir::OpKind;
  if (s.kind == K::cast_) return evaluate_cast(s, n);
  if (s.kind == K::bitcast_) {
    std::memcpy(values_[s.result].bytes, values_[s.operands[0]].bytes, n * ir::bytes(s.type.element()));
    return true;
  }
  const ir::Element e = s.types.back().element();
  if (s.kind == K::select_)
    return with_type(e, [&](auto tag) {
      using T = decltype(tag);
      const std::uint8_t* c = lanes<std::uint8_t>(s.operands[0]);
      const T *a = lanes<T>(s.operands[1]), *b = lanes<T>(s.operands[2]);
      T* r = lanes<T>(s.result);
      for (std::size_t i = 0; i < n; ++i) r[i] = c[i] ? a[i] : b[i];
      return true;
    });
  if (ir::is_float(e) && ir::bits(e) < 32) return false;
  return with_type(e, [&](auto tag) {
    using T = decltype(tag);
    const T* a = lanes<T>(s.operands[0]);
    const T* b = s.operands.size() > 1 ? lanes<T>(s.operands[1]) : a;
    const auto map = [&](auto f) {
      using R = decltype(f(a[0], b[0]));
      using Stored = std::conditional_t<std::is_same_v<R, bool>, std::uint8_t, T>;
      Stored* r = lanes<Stored>(s.result);
      for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<Stored>(f(a[i], b[i]));
      return true;
    };
    switch (s.kind) {
      case K::eq_: return map([](T x, T y) { return x == y; });
      case K::ne_: return map([](T x, T y) { return x != y; });
      case K::lt_: return map([](T x, T y) { return x < y; });
      case K::le_: return map([](T x, T y) { return x <= y; });
      case K::gt_: return map([](T x, T y) { return x > y; });
      case K::ge_: return map([](T x, T y) { return x >= y; });
      default: break;
    }
    if constexpr (std::is_floating_point_v<T>) {
      switch (s.kind) {
        case K::add_: return map([](T x, T y) { return x + y; });
        case K::sub_: return map([](T x, T y) { return x - y; });
        case K::mul_: return map([](T x, T y) { return x * y; });
        case K::div_:
        case K::div_rn_: return map([](T x, T y) { return x / y; });
        case K::neg_: return map([](T x, T) { return -x; });
        case K::abs_: return map([](T x, T) { return std::fabs(x); });
        case K::sqrt_: return map([](T x, T) { return std::sqrt(x); });
        case K::rint_: return map([](T x, T) { return std::nearbyint(x); });
        case K::trunc_: return map([](T x, T) { return std::trunc(x); });
        case K::copysign_: return map([](T x, T y) { return std::copysign(x, y); });
        case K::fma_: {
          const T* c = lanes<T>(s.operands[2]);
          T* r = lanes<T>(s.result);
          for (std::size_t i = 0; i < n; ++i) r[i] = std::fma(a[i], b[i], c[i]);
          return true;
        }
        default: return false;
      }
    } else {
      using U = std::make_unsigned_t<T>;
      constexpr unsigned width = sizeof(T) * 8;
      if (e == ir::Element::boolean && s.kind != K::bit_and_ && s.kind != K::bit_or_ && s.kind != K::bit_xor_) return false;
      switch (s.kind) {
        case K::add_: return map([](T x, T y) { return static_cast<U>(static_cast<U>(x) + static_cast<U>(y)); });
        case K::sub_: return map([](T x, T y) { return static_cast<U>(static_cast<U>(x) - static_cast<U>(y)); });
        case K::mul_: return map([](T x, T y) { return static_cast<U>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)); });
        case K::bit_and_: return map([](T x, T y) { return static_cast<U>(x & y); });
        case K::bit_or_: return map([](T x, T y) { return static_cast<U>(x | y); });
        case K::bit_xor_: return map([](T x, T y) { return static_cast<U>(x ^ y); });
        case K::shl_: return map([](T x, T y) { return static_cast<U>(static_cast<U>(y) < width ? static_cast<U>(x) << y : U{0}); });
        case K::shr_:
          return map([](T x, T y) {
            return static_cast<T>(static_cast<U>(y) < width ? x >> y : x >> (width - 1) >> (std::is_signed_v<T> ? 0 : 1));
          });
        default: return false;
      }
    }
  });
}

/// store p, op(x0, x1), expanded and legalized.
inline ir::Function expanded(ir::OpKind k, ir::Element e, bool has_fma, std::vector<ir::Attr> attrs = {}) {
  ir::Function f("one");
  std::vector<ir::ValueId> xs;
  for (int i = 0; i < ir::info(k).min_operands(); ++i) xs.push_back(f.add_param(ir::Type(e, {}), {"x" + std::to_string(i)}));
  const ir::ValueId p = f.add_param(ir::Type::pointer(e, false), {"p"});
  ir::Builder b(f);
  const ir::ValueId stored[] = {p, f.result(b.create(k, xs, std::move(attrs)))};
  b.create(ir::OpKind::store_, stored);
  PassContext context;
  context.target.has_fma = has_fma;
  expand_math(f, context);
  legalize_floats(f, context);
  REQUIRE(ir::verify(f).empty());
  return f;
}

}  // namespace tilewright::passes::testing
