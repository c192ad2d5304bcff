// Draws layouts as SVG.
#include <fmt/format.h>

#include <algorithm>

#include "tileir/diagnostics.h"
#include "tileir/layout/element_coordinates.h"
#include "tileir/layout/layout_print.h"
#include "tileir/text/xml_text.h"

namespace tilewright::ir {

namespace {

constexpr int kRowHeight = 18, kMargin = 40, kTitleHeight = 28, kLetterWidth = 6;
constexpr int kBanks = 32, kBankBytes = 4;

/// Builds the SVG text of one picture below those before it.
class SvgPicture {
 public:
  SvgPicture(const Picture& picture, Element e) : picture_(picture), layout_(picture.layout), coordinates_(layout_), element_(e) {
    TW_CHECK(layout_.log2_elements() <= kMaxLog2SvgElements, "a picture has at most 2^14 elements");
    for (std::uint32_t i = 0; i < elements(); i += run()) longest_ = std::max(longest_, cell_text(coordinates_(i)).size());
  }

  int width() const { return kMargin + static_cast<int>(columns() / run()) * cell_width() + kMargin; }
  int height() const { return kTitleHeight + static_cast<int>(elements() / columns() + grids()) * kRowHeight + kRowHeight; }

  std::string text(int top) const {
    std::string out =
        fmt::format("<text x=\"{}\" y=\"{}\" class=\"title\">{}</text>\n", kMargin, top + kTitleHeight - 10, xml_escaped(picture_.title));
    int y = top + kTitleHeight;
    const std::uint32_t rows = static_cast<std::uint32_t>(elements() / columns() / grids());
    for (std::uint32_t grid = 0; grid < grids(); ++grid) {
      for (std::uint32_t c = 0; c < columns(); c += run()) out += label(x_of(c) + 3, y + 13, fmt::format("{}", c), "start");
      y += kRowHeight;
      for (std::uint32_t row = 0; row < rows; ++row, y += kRowHeight) {
        const std::uint32_t first = (grid * rows + row) * columns();
        out += label(kMargin - 6, y + 13, row_name(first), "end");
        for (std::uint32_t c = 0; c < columns(); c += run()) out += cell(first + c, x_of(c), y);
      }
    }
    return out;
  }

 private:
  std::uint32_t elements() const { return 1u << layout_.log2_elements(); }
  std::uint32_t columns() const { return layout_.rank() > 0 ? 1u << layout_.log2_extents().back() : 1; }
  std::uint32_t grids() const {
    const int rank = layout_.rank();
    return rank > 2 ? elements() >> (layout_.log2_extents().back() + layout_.log2_extents()[static_cast<std::size_t>(rank) - 2]) : 1;
  }
  std::uint32_t run() const { return 1u << coordinates_.log2_run(); }
  int cell_width() const { return static_cast<int>(longest_) * kLetterWidth + 8; }
  int x_of(std::uint32_t column) const { return kMargin + static_cast<int>(column / run()) * cell_width(); }
  std::string cell_text(const std::optional<HardwareCoordinate>& p) const { return p ? coordinates_.text(*p, run()) : ""; }

  std::string row_name(std::uint32_t flat) const {
    std::vector<std::uint32_t> c = layout_.coordinates(flat);
    if (c.size() < 2) return "";
    c.pop_back();
    return fmt::format("{}", fmt::join(c, ","));
  }

  /// One hue for each warp, or each bank; higher lanes are darker.
  std::string fill(const HardwareCoordinate& p) const {
    if (coordinates_.in_memory()) {
      const std::uint32_t bank =
          p[static_cast<std::size_t>(HardwareDim::offset)] * static_cast<std::uint32_t>(bytes(element_)) / kBankBytes % kBanks;
      return fmt::format("hsl({:.0f},70%,82%)", bank * 360.0 / kBanks);
    }
    const std::uint32_t warps = layout_.size(HardwareDim::warp), lanes = layout_.size(HardwareDim::lane);
    return fmt::format("hsl({:.0f},70%,{:.0f}%)", 210 + 360.0 * p[static_cast<std::size_t>(HardwareDim::warp)] / warps,
                       92 - 20.0 * p[static_cast<std::size_t>(HardwareDim::lane)] / lanes);
  }

  std::string cell(std::uint32_t flat, int x, int y) const {
    const std::optional<HardwareCoordinate> p = coordinates_(flat);
    std::string out = fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", x, y, cell_width(), kRowHeight,
                                  p ? fill(*p) : "#fff");
    if (p) out += label(x + 3, y + 13, cell_text(p), "start");
    return out + "\n";
  }

  static std::string label(int x, int y, std::string_view text, std::string_view anchor) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x, y, anchor, xml_escaped(text));
  }

  const Picture& picture_;
  const LinearLayout& layout_;
  ElementCoordinates coordinates_;
  Element element_;
  std::size_t longest_ = 1;
};

}  // namespace

std::string draw_svg(std::span<const Picture> pictures, Element e) {
  std::string body;
  int width = 0, height = 0;
  for (const Picture& p : pictures) {
    const SvgPicture svg(p, e);
    body += svg.text(height);
    width = std::max(width, svg.width());
    height += svg.height();
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
             "<style>text {{ font: 10px monospace; }} .title {{ font: bold 13px sans-serif; }} rect {{ stroke: #888; stroke-width: 0.5; "
             "}}</style>\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\" style=\"stroke: none\"/>\n",
             width, height) +
         body + "</svg>\n";
}

}  // namespace tilewright::ir
