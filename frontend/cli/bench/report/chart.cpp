// Draws results as SVG: for each case one bar for this library and one for each peer; the length is the share of the roofline. Debian 12
// has no package of a C++ chart library.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/cli/bench/report/results.h"
#include "tileir/text/xml_text.h"

namespace tilewright::cli::bench {

namespace {

constexpr double kWidth = 960, kLeft = 210, kRight = 190, kTop = 116, kBottom = 46;
constexpr double kBarHeight = 15, kBarGap = 3, kGroupGap = 16, kLeastGroup = 32;
constexpr std::array<std::string_view, 7> kColours = {"#2563eb", "#f59e0b", "#10b981", "#8b5cf6", "#ef4444", "#0891b2", "#64748b"};
constexpr double kMostShare = 1.5;  // longer bars are cut off

struct Bar {
  std::size_t series;
  double value, lower, upper;  // in units of the axis
  std::string label;
};
struct Group {
  std::string title, subtitle;
  std::vector<Bar> bars;
  std::string note;  // replaces the bars
  double height() const { return std::max(kLeastGroup, static_cast<double>(bars.size()) * (kBarHeight + kBarGap) - kBarGap); }
};
struct Chart {
  std::vector<std::string> series;
  std::vector<Group> groups;
  double most = 0, step = 0;  // greatest value and tick distance of the axis
  std::string axis;
  bool is_share = false;
};

/// The number of a series by name; adds a new one at the end.
std::size_t series_of(Chart& chart, const std::string& name) {
  const auto found = std::find(chart.series.begin(), chart.series.end(), name);
  if (found != chart.series.end()) return static_cast<std::size_t>(found - chart.series.begin());
  chart.series.push_back(name);
  return chart.series.size() - 1;
}

void add_times(Chart& chart, Group& group, const CaseResult& c) {
  const double roofline = c.roofline_ms(), ours = c.ours().times.median;
  for (const Contestant& p : c.contestants) {
    // The copy itself defines the memory roofline.
    if (!p.measured() || p.name == "memcpy") continue;
    const double ms = p.times.median, share = roofline / ms;
    const std::string label = &p == &c.ours() ? fmt::format("{}, {}", percent(share), rate_text(c, ms))
                                              : fmt::format("{}, {} our time", percent(share), ratio_text(ms / ours));
    group.bars.push_back({series_of(chart, p.name), share, roofline / p.times.upper, roofline / p.times.lower, label});
  }
}

void add_estimates(Chart& chart, Group& group, const Counted& counted) {
  for (const Counted::Estimate& e : counted.estimates)
    group.bars.push_back({series_of(chart, e.gpu), e.microseconds, e.microseconds, e.microseconds,
                          fmt::format("{:.1f} us, bound by {}", e.microseconds, e.bound)});
}

/// A step of 1, 2 or 5 times a power of ten, so that the axis has about five ticks.
double axis_step(double most) {
  const double power = std::pow(10, std::floor(std::log10(std::max(most, 1e-9) / 5)));
  for (const double step : {1.0, 2.0, 5.0})
    if (most / (step * power) <= 6) return step * power;
  return 10 * power;
}

Chart chart_of(const Results& r) {
  Chart chart;
  chart.is_share = r.rounds > 0;
  for (const CaseResult& c : r.cases) {
    Group group{c.kernel, c.shape + (c.type.empty() ? "" : " " + c.type), {}, c.contestants.empty() ? "" : c.ours().failure};
    if (c.counted)
      add_estimates(chart, group, *c.counted);
    else
      add_times(chart, group, c);
    for (const Bar& b : group.bars) chart.most = std::max(chart.most, b.value);
    chart.groups.push_back(std::move(group));
  }
  chart.most = chart.is_share ? std::clamp(std::ceil(chart.most * 4) / 4, 1.0, kMostShare) : std::max(chart.most * 1.05, 1e-3);
  chart.step = chart.is_share ? 0.25 : axis_step(chart.most);
  chart.axis = chart.is_share ? "share of the roofline: a copy of as many bytes, or the operations at the peak, whichever takes longer"
                              : "microseconds, estimated from what the emulator counted";
  return chart;
}

class Drawing {
 public:
  Drawing(const Chart& chart, const Results& results) : chart_(chart), results_(results), bottom_(kTop) {
    for (const Group& g : chart.groups) bottom_ += g.height() + kGroupGap;
  }

  std::string svg() {
    const double height = bottom_ + kBottom;
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#1f2937\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        kWidth, height);
    draw_heading();
    draw_axis();
    double y = kTop;
    for (const Group& g : chart_.groups) {
      draw_group(g, y);
      y += g.height() + kGroupGap;
    }
    return out_ + "</svg>\n";
  }

 private:
  double x_of(double value) const { return kLeft + (kWidth - kLeft - kRight) * std::min(value, chart_.most) / chart_.most; }

  void text(double x, double y, std::string_view what, std::string_view attributes = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, ir::xml_escaped(what));
  }

  void draw_heading() {
    text(20, 30, "tilewright bench", "font-size=\"18\" font-weight=\"600\"");
    std::string device = results_.facts.empty() ? "" : results_.facts.front().second;
    if (device.size() > 110) device = device.substr(0, 107) + "...";
    text(20, 50, device, "fill=\"#4b5563\"");
    std::string how =
        fmt::format("tilewright {}{}, {}", results_.version, results_.commit.empty() ? "" : " (" + results_.commit + ")", results_.date);
    if (chart_.is_share) how += results_.cold ? "; cold caches; medians, lines: quartiles" : "; warm caches; medians, lines: quartiles";
    if (results_.interrupted) how += "; interrupted";
    text(20, 66, how, "fill=\"#4b5563\"");
    double x = kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      out_ +=
          fmt::format("<rect x=\"{:.1f}\" y=\"76\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\n", x, kColours[i % kColours.size()]);
      text(x + 17, 86, chart_.series[i]);
      x += 17 + 7.5 * static_cast<double>(chart_.series[i].size()) + 22;
    }
  }

  void draw_axis() {
    for (double value = 0; value <= chart_.most * 1.0001; value += chart_.step) {
      const bool is_roofline = chart_.is_share && std::abs(value - 1) < 1e-9;
      out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\" stroke=\"{3}\"/>\n", x_of(value), kTop - 6,
                          bottom_ - kGroupGap + 6, is_roofline ? "#6b7280" : "#e5e7eb");
      if (is_roofline) text(x_of(value), kTop - 9, "roofline", "text-anchor=\"middle\" font-size=\"11\" fill=\"#6b7280\"");
      text(x_of(value), bottom_ + 6, chart_.is_share ? fmt::format("{:.0f} %", 100 * value) : fmt::format("{:g}", value),
           "text-anchor=\"middle\" fill=\"#4b5563\"");
    }
    text(kLeft, bottom_ + 26, chart_.axis, "fill=\"#4b5563\"");
  }

  void draw_group(const Group& g, double top) {
    const double middle = top + g.height() / 2;
    text(kLeft - 12, middle - 2, g.title, "text-anchor=\"end\" font-weight=\"600\"");
    text(kLeft - 12, middle + 13, g.subtitle, "text-anchor=\"end\" fill=\"#4b5563\"");
    if (g.bars.empty()) text(kLeft + 8, middle + 4, g.note.empty() ? "not measured" : g.note, "fill=\"#b91c1c\"");
    double y = middle - (static_cast<double>(g.bars.size()) * (kBarHeight + kBarGap) - kBarGap) / 2;
    for (const Bar& b : g.bars) {
      const double end = x_of(b.value);
      out_ += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n", kLeft, y,
                          std::max(end - kLeft, 1.0), kBarHeight, kColours[b.series % kColours.size()]);
      double label = end;
      if (b.upper > b.lower) {
        out_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#111827\" stroke-width=\"1.2\"/>\n",
                            x_of(b.lower), x_of(b.upper), y + kBarHeight / 2);
        label = std::max(label, x_of(b.upper));
      }
      // Draws a white outline first, because some viewers ignore paint-order.
      text(label + 7, y + kBarHeight - 3.5, b.label, "font-size=\"11\" stroke=\"#ffffff\" stroke-width=\"3\"");
      text(label + 7, y + kBarHeight - 3.5, b.label, "font-size=\"11\"");
      y += kBarHeight + kBarGap;
    }
  }

  const Chart& chart_;
  const Results& results_;
  double bottom_;
  std::string out_;
};

}  // namespace

std::string chart_svg(const Results& r) {
  const Chart chart = chart_of(r);
  return Drawing(chart, r).svg();
}

}  // namespace tilewright::cli::bench
