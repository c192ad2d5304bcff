// A finite field in which exp is a homomorphism, so that formulas with exponentials can be compared exactly.
//
// p = 2 q + 1, where p and q are prime. Values are residues modulo p, exponents are residues modulo q, and exp(x) = w^x mod p, where w has
// order q: exp(x + y) = exp(x) exp(y) holds as for real numbers. x^(n / d) is x^(n d') with d d' = 1 mod q, which is consistent with
// products and with exp. Other functions are hashes: equal operands give equal results, and no other law holds. Two different formulas
// agree at a random point with a probability of about degree / p (Schwartz-Zippel); p has 61 bits. The method is that of Mirage (Wu et al.,
// 2024).
#pragma once
#include <cstdint>

#include "tileir/rational.h"

namespace tilewright::passes::fusion {

/// Arithmetic modulo one of the two primes.
class Modulus {
 public:
  static const Modulus& values();     // p
  static const Modulus& exponents();  // q

  explicit constexpr Modulus(std::uint64_t m) : m_(m) {}
  std::uint64_t prime() const { return m_; }
  std::uint64_t add(std::uint64_t a, std::uint64_t b) const { return a + b >= m_ ? a + b - m_ : a + b; }
  std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const { return a >= b ? a - b : a + m_ - b; }
  std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{a} * b % m_);
  }
  std::uint64_t power(std::uint64_t base, std::uint64_t exponent) const;
  /// Requires: not 0.
  std::uint64_t inverse(std::uint64_t a) const { return power(a, m_ - 2); }
  std::uint64_t of(std::int64_t) const;
  std::uint64_t of(const ir::Rational&) const;

 private:
  std::uint64_t m_;
};

/// exp of an exponent, which is a residue modulo q; the result is a residue modulo p.
std::uint64_t field_exp(std::uint64_t exponent);
/// base^exponent for a fraction; base is a residue of the modulus.
std::uint64_t field_power(const Modulus&, std::uint64_t base, const ir::Rational& exponent);
/// Whether a residue modulo p is a square, so that it has a root.
bool has_root(std::uint64_t value);
/// A hash of two words (splitmix64): the value of functions that obey no law.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace tilewright::passes::fusion
