// SVG elements with text whose width is known: all text has a monospaced font.
#pragma once
#include <string>
#include <string_view>

namespace tilewright::detail {

class SvgCanvas {
 public:
  static constexpr double kLine = 17;  // from one line of text to the next
  /// Of text in pixels. The widest of the usual monospaced fonts has 0.602 of the size for a character.
  static double width(std::string_view text);
  /// At most `count` characters; "..." stands for the rest.
  static std::string shortened(std::string_view text, std::size_t count);

  struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
  };
  /// fill: a colour in place of that of the style.
  void box(const Box&, const char* style, std::string_view fill = {});
  enum class Anchor { start, end };
  /// `y`: of the baseline.
  void text(double x, double y, std::string_view, std::string_view style, Anchor = Anchor::start);
  /// An arrow along a line, a cubic curve and a line: the ends, and in between the two ends of the curve and its control points.
  struct Point {
    double x, y;
  };
  void arrow(Point start, Point curve_start, Point control1, Point control2, Point curve_end, Point end);
  /// The picture; nothing is drawn outside of it.
  std::string finish() const;

 private:
  void grow(double x, double y);
  std::string elements_, edges_, texts_;  // in this order: no box is drawn over the head of an arrow, and no line over a text
  double width_ = 0, height_ = 0;
};

}  // namespace tilewright::detail
