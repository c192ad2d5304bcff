// SVG elements with text of known width: all text is in a monospaced font.
#pragma once
#include <string>
#include <string_view>

namespace tilewright::detail {

class SvgCanvas {
 public:
  static constexpr double kLine = 17;  // distance between lines of text
  /// The width of a text in pixels. In the widest of the usual monospaced fonts, a character has 0.602 of the font size.
  static double width(std::string_view text);
  /// Shortens to at most `count` characters; "..." stands for the rest.
  static std::string shortened(std::string_view text, std::size_t count);

  struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
  };
  /// `fill`: a colour that replaces that of the style.
  void box(const Box&, const char* style, std::string_view fill = {});
  enum class Anchor { start, end };
  /// `y`: the baseline of the text.
  void text(double x, double y, std::string_view, std::string_view style, Anchor = Anchor::start);
  /// An arrow made of a line, a cubic curve and a line. The points are the two ends and, in between, the ends of the curve and its control
  /// points.
  struct Point {
    double x, y;
  };
  void arrow(Point start, Point curve_start, Point control1, Point control2, Point curve_end, Point end);
  /// The picture. Nothing is drawn outside of it.
  std::string finish() const;

 private:
  void grow(double x, double y);
  std::string elements_, edges_, texts_;  // drawn in this order, so that no box covers the head of an arrow, and no line covers a text
  double width_ = 0, height_ = 0;
};

}  // namespace tilewright::detail
