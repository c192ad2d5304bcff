// Formats device_print. Placeholders are parsed here; fmt applies the format spec after the colon to each element.
#include "tileir/text/print_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <vector>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/text/plural.h"

namespace tilewright::ir {

namespace {

// NumPy's defaults: a tile with more elements than the first number is shortened to the second number at each end of an axis.
constexpr std::int64_t kMostElements = 1000, kEnds = 3;
constexpr int kMostDigits = 3;  // of a width or a precision

struct PrintFormat {
  std::vector<std::string> literals;  // the text between placeholders: one more than there are placeholders
  std::vector<std::string> specs;     // the text after the colon
  std::string error;
};

bool has_long_number(std::string_view spec) {
  int digits = 0;
  return std::any_of(spec.begin(), spec.end(), [&](char c) {
    digits = std::isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    return digits > kMostDigits;
  });
}

PrintFormat parse(std::string_view text) {
  PrintFormat p{{""}, {}, {}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      p.literals.back() += c;
      ++i;
    } else if (c == '}') {
      p.error = "a } without {; a brace as such is }}";
      return p;
    } else if (c == '{') {
      const std::size_t end = text.find_first_of("{}", i + 1);
      if (end == std::string_view::npos || text[end] != '}') {
        p.error = "a { without }; a brace as such is {{";
        return p;
      }
      std::string_view inside = text.substr(i + 1, end - i - 1);
      if (!inside.empty() && inside.front() != ':') {
        p.error = fmt::format("'{{{}}}' in the text; values have no names or numbers: {{}} and {{:spec}} take them in order", inside);
        return p;
      }
      if (!inside.empty()) inside.remove_prefix(1);
      if (has_long_number(inside)) {
        p.error = fmt::format("'{{:{}}}' in the text; widths and precisions have at most {} digits", inside, kMostDigits);
        return p;
      }
      p.specs.emplace_back(inside);
      p.literals.emplace_back();
      i = end;
    } else {
      p.literals.back() += c;
    }
  }
  return p;
}

/// Throws fmt::format_error if the spec does not suit the element.
std::string formatted(const Type& t, std::uint64_t bits, const std::string& spec) {
  const auto as = [&](auto v) { return fmt::format(fmt::runtime("{:" + spec + "}"), v); };
  if (t.is_pointer()) return spec.empty() ? fmt::format("{:#x}", bits) : as(bits);
  if (t.is_bool()) return as(bits != 0);
  const Element e = t.element();
  if (is_signed(e)) return as(integer_value(e, bits));
  if (is_unsigned(e)) return as(static_cast<std::uint64_t>(integer_value(e, bits)));
  double v = float_value(e, bits);
  if (std::isnan(v)) v = std::fabs(v);  // the sign of a NaN has no meaning
  return e == Element::f64 ? as(v) : as(static_cast<float>(v));
}

class Filler {
 public:
  Filler(const Type& t, const std::string& spec, const std::function<std::uint64_t(std::int64_t)>& bits, std::string& out)
      : type_(t), spec_(spec), bits_(bits), out_(out), abridged_(t.elements() > kMostElements) {}

  void fill(int axis, std::int64_t first) {
    if (axis == type_.rank()) {
      out_ += formatted(type_.scalar(), bits_(first), spec_);
      return;
    }
    const std::int64_t extent = type_.extent(axis);
    out_ += '[';
    for (std::int64_t i = 0; i < extent; ++i) {
      if (i > 0) out_ += ", ";
      if (abridged_ && extent > 2 * kEnds && i == kEnds) {
        out_ += "..., ";
        i = extent - kEnds;
      }
      fill(axis + 1, (first * extent) + i);
    }
    out_ += ']';
  }

 private:
  const Type& type_;
  const std::string& spec_;
  const std::function<std::uint64_t(std::int64_t)>& bits_;
  std::string& out_;
  const bool abridged_;
};

}  // namespace

std::string wrong_with_print(std::string_view text, std::span<const Type> values) {
  const PrintFormat p = parse(text);
  if (!p.error.empty()) return p.error;
  if (p.specs.size() != values.size())
    return fmt::format("the text has {} {{}} for {}", plural(p.specs.size(), "placeholder"), plural(values.size(), "value"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    try {
      formatted(values[i].scalar(), 0, p.specs[i]);
    } catch (const fmt::format_error& e) {
      return fmt::format("'{{:{}}}' does not suit value {}, which is {}: {}", p.specs[i], i + 1, ir::text(values[i]), e.what());
    }
  }
  return {};
}

std::string fill_print(std::string_view text, std::span<const Type> values, const std::function<std::uint64_t(int, std::int64_t)>& bits) {
  const PrintFormat p = parse(text);
  TW_CHECK(p.error.empty() && p.specs.size() == values.size(), "a text of device_print that was not checked");
  std::string out = p.literals[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::function<std::uint64_t(std::int64_t)> element = [&](std::int64_t k) { return bits(static_cast<int>(i), k); };
    Filler(values[i], p.specs[i], element, out).fill(0, 0);
    out += p.literals[i + 1];
  }
  return out;
}

std::string element_text(const Type& t, std::uint64_t bits) { return formatted(t.scalar(), bits, ""); }

}  // namespace tilewright::ir
