// The textual form of layouts: each basis by its coordinates.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tileir/layout/linear_layout.h"
#include "tileir/text/suggestion.h"

namespace tilewright::ir {

namespace {

constexpr HardwareDim kDims[] = {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp, HardwareDim::block, HardwareDim::offset};

/// Reads a layout; stops at the first mistake.
class LayoutReader {
 public:
  LayoutReader(std::string_view text, std::vector<int> log2_extents) : rest_(text), layout_(std::move(log2_extents)) {}

  std::optional<LinearLayout> read(std::string& error) {
    read_layout();
    if (error_.empty()) return std::move(layout_);
    error = std::move(error_);
    return std::nullopt;
  }

 private:
  void read_layout() {
    if (!expect('{')) return;
    for (bool first = true; !accept('}'); first = false) {
      if (!first && !expect(',')) return;
      if (!read_dimension()) return;
    }
    skip_space();
    if (!rest_.empty()) fail("the end of the layout");
  }

  bool read_dimension() {
    skip_space();
    std::size_t letters = 0;
    while (letters < rest_.size() && rest_[letters] >= 'a' && rest_[letters] <= 'z') ++letters;
    const std::string_view word = rest_.substr(0, letters);
    const auto spell = [](HardwareDim d) { return text(d); };
    const auto dim = std::find_if(std::begin(kDims), std::end(kDims), [&](HardwareDim d) { return text(d) == word; });
    if (dim == std::end(kDims)) {
      if (word.empty()) return fail("a dimension");
      error_ = fmt::format("'{}' is none of register, lane, warp, block, offset{}", word, suggestion(word, kDims, spell));
      return false;
    }
    if (seen_ >> static_cast<int>(*dim) & 1) {
      error_ = fmt::format("'{}' stands there twice", word);
      return false;
    }
    seen_ |= 1u << static_cast<int>(*dim);
    rest_.remove_prefix(letters);
    return expect('=') && read_bases(*dim);
  }

  bool read_bases(HardwareDim d) {
    if (!expect('[')) return false;
    for (bool first = true; !accept(']'); first = false) {
      if (!first && !expect(',')) return false;
      if (++bases_ > 32) {
        error_ = "a layout has at most 32 bases";
        return false;
      }
      if (!read_basis(d)) return false;
    }
    return true;
  }

  bool read_basis(HardwareDim d) {
    if (!expect('[')) return false;
    std::vector<std::uint32_t> coordinates;
    while (!accept(']')) {
      if (!coordinates.empty() && !expect(',')) return false;
      skip_space();
      std::uint32_t value = 0;
      const auto [end, wrong] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (wrong == std::errc::invalid_argument) return fail("a coordinate");
      const std::string_view number = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
      rest_.remove_prefix(number.size());
      const std::size_t axis = coordinates.size();
      if (axis < layout_.log2_extents().size() && (wrong != std::errc() || value >> layout_.log2_extents()[axis] != 0)) {
        error_ = fmt::format("axis {} has extent {}; a basis of {} says {}", axis, 1u << layout_.log2_extents()[axis], text(d), number);
        return false;
      }
      coordinates.push_back(value);
    }
    if (coordinates.size() != layout_.log2_extents().size()) {
      const auto counted = [](std::size_t n, std::string_view one, std::string_view many) {
        return fmt::format("{} {}", n, n == 1 ? one : many);
      };
      error_ = fmt::format("a basis of {} has {}; the tile has {}", text(d), counted(coordinates.size(), "coordinate", "coordinates"),
                           counted(layout_.log2_extents().size(), "axis", "axes"));
      return false;
    }
    layout_.add_basis(d, layout_.flat(coordinates));
    return true;
  }

  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool expect(char c) { return accept(c) || fail(fmt::format("'{}'", c)); }
  bool fail(std::string_view expected) {
    error_ = fmt::format("{} where {} was expected", rest_.empty() ? "the end" : fmt::format("'{}'", rest_.substr(0, 12)), expected);
    return false;
  }

  std::string_view rest_;
  LinearLayout layout_;
  std::string error_;
  std::uint32_t seen_ = 0;
  int bases_ = 0;
};

}  // namespace

std::string text(const LinearLayout& layout) {
  std::string out = "{";
  for (const HardwareDim d : kDims) {
    if (layout.bits(d) == 0) continue;
    out += fmt::format("{}{} = [", out == "{" ? "" : ", ", text(d));
    bool first = true;
    for (const std::uint32_t b : layout.bases(d)) {
      out += fmt::format("{}[{}]", first ? "" : ", ", fmt::join(layout.coordinates(b), ", "));
      first = false;
    }
    out += "]";
  }
  return out + "}";
}

std::optional<LinearLayout> parse_layout(std::string_view text, std::vector<int> log2_extents, std::string& error) {
  return LayoutReader(text, std::move(log2_extents)).read(error);
}

}  // namespace tilewright::ir
