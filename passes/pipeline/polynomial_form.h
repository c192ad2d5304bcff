// Integer values as polynomials of scalars and of the positions along the axes of a tile.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// A scalar value, or the position along an axis of a tile. Axes come after all values.
class Atom {
 public:
  static Atom value(ValueId v) { return Atom(v.index); }
  static Atom axis(int i) { return Atom(kFirstAxis + static_cast<std::uint32_t>(i)); }
  bool is_axis() const { return code_ >= kFirstAxis; }
  int axis() const { return static_cast<int>(code_ - kFirstAxis); }
  ValueId value() const { return ValueId{code_}; }
  friend auto operator<=>(const Atom&, const Atom&) = default;

 private:
  static constexpr std::uint32_t kFirstAxis = 0xffffff00u;
  explicit Atom(std::uint32_t code) : code_(code) {}
  std::uint32_t code_;
};

/// A product of atoms, in increasing order; the empty one is 1.
using Monomial = std::vector<Atom>;

/// A sum of monomials with factors that are not 0. Exact integers: index arithmetic is assumed not to wrap.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(std::int64_t constant) { add(constant, {}); }
  explicit Polynomial(Atom a) { add(1, {a}); }

  const std::map<Monomial, std::int64_t>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  /// The value, if it has no atoms.
  std::optional<std::int64_t> constant() const;
  /// Whether a factor did not fit 64 bits, or there are too many terms. Nothing is known of such a value.
  bool is_lost() const { return is_lost_; }

  void add(std::int64_t factor, const Monomial&);
  friend Polynomial operator+(const Polynomial&, const Polynomial&);
  friend Polynomial operator-(const Polynomial&, const Polynomial&);
  friend Polynomial operator*(const Polynomial&, const Polynomial&);
  friend bool operator==(const Polynomial& a, const Polynomial& b) { return a.terms_ == b.terms_ && a.is_lost_ == b.is_lost_; }

 private:
  std::map<Monomial, std::int64_t> terms_;
  bool is_lost_ = false;
};

/// Reads values as polynomials, in an iteration of a loop (a for), or outside of loops: what the loop carries and advances by a constant
/// number of times its step is a polynomial of its counter. Tiles of less than 32 bits, whose arithmetic wraps, are none, nor are casts to
/// fewer bits.
class PolynomialReader {
 public:
  PolynomialReader(const Function& f, OpId loop) : f_(f), loop_(loop) {}

  /// A value of signed integers; `axes[k]`: the axis atom that its axis k is, or -1 where it has one element. None if it is no sum of
  /// products.
  std::optional<Polynomial> read(ValueId, const std::vector<int>& axes);

  struct Pointer {
    ValueId base;  // a parameter
    Polynomial offset;
  };
  std::optional<Pointer> read_pointer(ValueId, const std::vector<int>& axes);

  /// Polynomials that are negative exactly where the mask is true: all of them. None if the mask is no conjunction of comparisons.
  std::optional<std::vector<Polynomial>> read_mask(ValueId, const std::vector<int>& axes);

  /// Whether the value has 32 bits because a value of at most 32 bits that was read is the same one, where the position along each axis is
  /// 0, or a positive multiple of it.
  bool is_narrow(const Polynomial&) const;

 private:
  struct Moved {
    ValueId from;
    std::vector<int> axes;
  };
  /// The operand of an op that only moves elements, and which axes the operand's are.
  std::optional<Moved> moved(ValueId, const std::vector<int>& axes) const;
  std::optional<Polynomial> read_op(OpId, const std::vector<int>& axes);
  std::optional<Polynomial> read_carried(ValueId);
  std::optional<Polynomial> difference(ValueId a, ValueId b, const std::vector<int>& axes, std::int64_t plus);

  const Function& f_;
  const OpId loop_;
  std::set<std::map<Monomial, std::int64_t>> narrow_;  // values of at most 32 bits at position 0 of each axis
};

}  // namespace tilewright::passes
