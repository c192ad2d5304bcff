// Prints floats of every format as shortest decimals, and reads them back exactly.
#include "tileir/text/literal.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

enum class Reading { ok, malformed, out_of_range };

template <class T>
Reading read_whole(std::string_view word, T& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc::result_out_of_range) return Reading::out_of_range;
  return error == std::errc() && end == word.data() + word.size() ? Reading::ok : Reading::malformed;
}

/// Reads a decimal and rounds it once for f32 and f64; smaller formats go through double.
Reading read_decimal(Element e, std::string_view word, std::uint64_t& bits) {
  // from_chars accepts these words too, but not every format has inf and nan.
  if (word.find_first_of("iInN") != std::string_view::npos) return Reading::malformed;
  if (e == Element::f32) {
    float v = 0;
    const Reading r = read_whole(word, v);
    bits = std::bit_cast<std::uint32_t>(v);
    return r;
  }
  double v = 0;
  const Reading r = read_whole(word, v);
  if (r != Reading::ok) return r;
  bits = element_bits(e, v);
  return std::isfinite(float_value(e, bits)) ? Reading::ok : Reading::out_of_range;
}

std::string shortest(Element e, std::uint64_t bits) {
  const double v = float_value(e, bits);
  if (e == Element::f64) return fmt::format("{}", v);
  if (e == Element::f32) return fmt::format("{}", static_cast<float>(v));
  if (v == std::trunc(v) && std::fabs(v) < 1e6) return fmt::format("{}", v);  // all digits: 65504, not 65500, which has the same bits
  for (int digits = 1;; ++digits) {
    std::string s = fmt::format("{:.{}g}", v, digits);
    std::uint64_t back = 0;
    if (read_decimal(e, s, back) == Reading::ok && back == bits) return s;
    TW_CHECK(digits < 17, "a float has no decimal that reads back");
  }
}

std::string float_literal(Element e, std::uint64_t bits) {
  const double v = float_value(e, bits);
  if (std::isnan(v)) return bits == element_bits(e, kNan) ? "nan" : fmt::format("{:#x}", bits);
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string s = shortest(e, bits);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

ParsedLiteral special_float(Element e, double v, std::string_view word) {
  const std::uint64_t bits = element_bits(e, v);
  // f8e4m3 has no infinity.
  if (std::isinf(v) && !std::isinf(float_value(e, bits))) return {0, fmt::format("{} has no {}", text(e), word)};
  return {bits, {}};
}

ParsedLiteral float_bits(Element e, std::string_view word) {
  if (word == "nan") return special_float(e, kNan, word);
  if (word == "inf") return special_float(e, kInf, word);
  if (word == "-inf") return special_float(e, -kInf, word);
  std::uint64_t bits = 0;
  switch (read_decimal(e, word, bits)) {
    case Reading::ok: return {bits, {}};
    case Reading::out_of_range: return {0, fmt::format("{} is out of range for {}", word, text(e))};
    case Reading::malformed: break;
  }
  return {0, fmt::format("'{}' is not a value of type {}", word, text(e))};
}

template <class T>
ParsedLiteral integer_bits(Element e, std::string_view word) {
  T v = 0;
  const Reading r = read_whole(word, v);
  if (r == Reading::malformed) return {0, fmt::format("'{}' is not a value of type {}", word, text(e))};
  const std::uint64_t wrapped = element_bits(e, static_cast<std::int64_t>(v));
  if (r == Reading::out_of_range || static_cast<T>(integer_value(e, wrapped)) != v)
    return {0, fmt::format("{} does not fit {}", word, text(e))};
  return {wrapped, {}};
}

ParsedLiteral hex_bits(const Type& t, std::string_view word) {
  std::uint64_t v = 0;
  const std::string_view digits = word.substr(2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v, 16);
  const int width = t.element_bits();
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return {0, fmt::format("'{}' is not a number", word)};
  if (error == std::errc::result_out_of_range || (width < 64 && v >> width != 0))
    return {0, fmt::format("{} does not fit the {} bits of {}", word, width, text(t.scalar()))};
  return {v, {}};
}

}  // namespace

std::string literal(const Type& t, std::uint64_t bits) {
  if (t.is_pointer()) return bits == 0 ? "0" : fmt::format("{:#x}", bits);
  const Element e = t.element();
  if (t.is_bool()) return bits == 0 ? "false" : bits == 1 ? "true" : fmt::format("{:#x}", bits);
  if (t.is_float()) return float_literal(e, bits);
  if (element_bits(e, static_cast<std::int64_t>(bits)) != bits) return fmt::format("{:#x}", bits);  // malformed: the raw bits
  return e == Element::u64 ? fmt::format("{}", bits) : fmt::format("{}", integer_value(e, bits));
}

ParsedLiteral parse_literal(const Type& t, std::string_view word) {
  if (word.starts_with("0x")) return hex_bits(t, word);
  if (t.is_pointer())
    return word == "0" ? ParsedLiteral{} : ParsedLiteral{0, fmt::format("'{}' is not a pointer; a pointer constant is 0", word)};
  if (t.is_bool()) {
    if (word == "true" || word == "false") return {word == "true", {}};
    return {0, fmt::format("'{}' is not a value of type i1; expected true or false", word)};
  }
  if (t.is_float()) return float_bits(t.element(), word);
  return t.element() == Element::u64 ? integer_bits<std::uint64_t>(t.element(), word) : integer_bits<std::int64_t>(t.element(), word);
}

}  // namespace tilewright::ir
