// Writes SVG.
#include "runtime/plan/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>

#include "tileir/text/xml_text.h"

namespace tilewright::detail {

namespace {

constexpr double kCharacter = 7.3, kMargin = 20;
constexpr std::string_view kOverLines = "bytes";  // the style of texts that are drawn over lines

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

double SvgCanvas::width(std::string_view text) {
  return kCharacter * static_cast<double>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string SvgCanvas::shortened(std::string_view text, std::size_t count) {
  std::size_t characters = 0, cut = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!starts_character(text[i])) continue;
    if (characters + 3 == count) cut = i;
    if (++characters > count) return std::string(text.substr(0, cut)) + "...";
  }
  return std::string(text);
}

void SvgCanvas::grow(double x, double y) {
  width_ = std::max(width_, x + kMargin);
  height_ = std::max(height_, y + kMargin);
}

void SvgCanvas::box(const Box& b, const char* style, std::string_view fill) {
  elements_ += fmt::format("<rect class=\"{}\"{} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\"/>\n", style,
                           fill.empty() ? "" : fmt::format(" style=\"fill:{}\"", fill), b.x, b.y, b.width, b.height);
  grow(b.right(), b.bottom());
}

void SvgCanvas::text(double x, double y, std::string_view text, std::string_view style, Anchor anchor) {
  // Some viewers do not know paint-order, with which the outline of a text covers lines.
  if (style == kOverLines) {
    const double left = anchor == Anchor::end ? x - width(text) : x;
    texts_ += fmt::format("<path class=\"blank\" d=\"M{:.1f},{:.1f} h{:.1f} v{:.1f} h-{:.1f} z\"/>\n", left - 2, y - 10, width(text) + 4,
                          kLine - 4, width(text) + 4);
  }
  texts_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", style, x, y,
                        anchor == Anchor::end ? " text-anchor=\"end\"" : "", ir::xml_escaped(text));
  grow(anchor == Anchor::end ? x : x + width(text), y);
}

void SvgCanvas::arrow(Point start, Point curve_start, Point control1, Point control2, Point curve_end, Point end) {
  edges_ += fmt::format(
      "<path class=\"edge\" marker-end=\"url(#head)\" d=\"M{:.1f},{:.1f} L{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} "
      "L{:.1f},{:.1f}\"/>\n",
      start.x, start.y, curve_start.x, curve_start.y, control1.x, control1.y, control2.x, control2.y, curve_end.x, curve_end.y, end.x,
      end.y);
  for (Point p : {start, curve_start, control1, control2, curve_end, end}) grow(p.x, p.y);
}

std::string SvgCanvas::finish() const {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="#555"/></marker></defs>
<style>
text {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12px; fill: #222; }}
.title {{ font-weight: bold; }} .small {{ fill: #666; }}
.bytes {{ fill: #444; }} .blank {{ fill: #fff; }}
.kernel {{ fill: #eef3fb; stroke: #3a6ab0; stroke-width: 1.5; }} .node {{ fill: #fff; stroke: #a9bfdd; }}
.tensor {{ fill: #f6f6f2; stroke: #8d8d80; }} .edge {{ fill: none; stroke: #555; stroke-width: 1.2; }}
</style>
<rect width="100%" height="100%" fill="#fff"/>
{2}</svg>
)",
                     width_, height_, elements_ + edges_ + texts_);
}

}  // namespace tilewright::detail
