// Arithmetic modulo the two primes.
#include "passes/fusion/check/field.h"

namespace tilewright::passes::fusion {

namespace {

// All primes below 47 are squares modulo p, so numbers that are products of them have roots.
constexpr std::uint64_t kExponents = 952804987596247319u;
constexpr Modulus kExponentModulus(kExponents), kValueModulus(2 * kExponents + 1);
// Every square except 1 has order q.
constexpr std::uint64_t kGenerator = 9;

}  // namespace

const Modulus& Modulus::values() { return kValueModulus; }
const Modulus& Modulus::exponents() { return kExponentModulus; }

std::uint64_t Modulus::power(std::uint64_t base, std::uint64_t exponent) const {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 == 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

std::uint64_t Modulus::of(std::int64_t value) const {
  const std::uint64_t magnitude = (value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value)) % m_;
  return value < 0 ? subtract(0, magnitude) : magnitude;
}

std::uint64_t Modulus::of(const ir::Rational& r) const {
  const auto residue = [&](ir::Int128 v) {
    const bool is_negative = v < 0;
    const auto magnitude = static_cast<std::uint64_t>((is_negative ? -v : v) % m_);
    return is_negative ? subtract(0, magnitude) : magnitude;
  };
  const std::uint64_t numerator = residue(r.numerator());
  return r.is_integer() ? numerator : multiply(numerator, inverse(residue(r.denominator())));
}

std::uint64_t field_exp(std::uint64_t exponent) { return kValueModulus.power(kGenerator, exponent); }

std::uint64_t field_power(const Modulus& m, std::uint64_t base, const ir::Rational& exponent) {
  if (exponent.is_integer()) {
    const ir::Rational magnitude = exponent.is_negative() ? -exponent : exponent;
    const std::uint64_t result = m.power(base, static_cast<std::uint64_t>(magnitude.numerator()));
    return exponent.is_negative() ? m.inverse(result) : result;
  }
  return m.power(base, kExponentModulus.of(exponent));
}

bool has_root(std::uint64_t value) { return kValueModulus.power(value, kExponents) == 1; }

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace tilewright::passes::fusion
