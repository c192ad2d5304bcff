// tilewright layout: draws the layout of a tile, and describes its conversion to another layout.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <optional>

#include "frontend/cli/commands/command.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout/layout_print.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

using namespace ir;

/// A --transpose, --reshape or --slice of the layout; they apply in the order of the command line.
struct Step {
  std::string option, value;
};

struct Options {
  std::string shape, order, bases, element = "f32", convert_to, svg;
  std::optional<int> vector, warps;
  std::vector<Step> steps;
  bool colour = false;
};

std::vector<int> parse_numbers(const std::string& text, std::string_view option) {
  std::vector<int> numbers;
  const char *at = text.data(), *const end = at + text.size();
  for (;; ++at) {
    int n = 0;
    const auto [rest, wrong] = std::from_chars(at, end, n);
    if (wrong != std::errc() || (rest != end && *rest != ','))
      throw UsageError(fmt::format("{}: '{}' is not a list of numbers with commas between", option, text));
    numbers.push_back(n);
    if (rest == end) return numbers;
    at = rest;
  }
}

int log2_of(int n, std::string_view what) {
  if (n < 1 || !std::has_single_bit(static_cast<unsigned>(n)))
    throw UsageError(fmt::format("{} is {}; it must be a power of two", what, n));
  return std::countr_zero(static_cast<unsigned>(n));
}

std::vector<int> parse_shape(const std::string& text, std::string_view option) {
  std::vector<int> log2_extents;
  for (const int n : parse_numbers(text, option))
    log2_extents.push_back(log2_of(n, fmt::format("{}: extent {}", option, log2_extents.size())));
  if (log2_extents.size() > kMaxRank)
    throw UsageError(fmt::format("{}: {} extents; a tile has at most {}", option, log2_extents.size(), kMaxRank));
  if (const int bits = std::accumulate(log2_extents.begin(), log2_extents.end(), 0); bits > kMaxLog2Elements)
    throw UsageError(fmt::format("{}: 2^{} elements; a tile has at most 2^{}", option, bits, kMaxLog2Elements));
  return log2_extents;
}

/// Parses an axis order "1,0" for a tile with `rank` axes. If the text is empty, the last axis varies fastest.
std::vector<int> parse_order(const std::string& text, std::size_t rank, std::string_view option) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (text.empty()) return order;
  std::vector<int> named = parse_numbers(text, option), sorted = named;
  std::sort(sorted.begin(), sorted.end());
  if (!std::equal(sorted.begin(), sorted.end(), order.rbegin(), order.rend()))
    throw UsageError(fmt::format("{}: '{}' must name each of the axes 0 to {} once", option, text, static_cast<int>(rank) - 1));
  return named;
}

LinearLayout parse_bases(const std::string& text, const std::vector<int>& log2_extents, std::string_view option) {
  std::string error;
  const std::optional<LinearLayout> l = parse_layout(text, log2_extents, error);
  if (!l) throw UsageError(fmt::format("{}: {}", option, error));
  for (const HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp, HardwareDim::block})
    if (l->bits(d) > 0 && l->bits(HardwareDim::offset) > 0)
      throw UsageError(fmt::format("{}: bases of offset are those of shared memory; there is no {} then", option, ir::text(d)));
  return *l;
}

LinearLayout first_layout(const Options& o) {
  const std::vector<int> log2_extents = parse_shape(o.shape, "--shape");
  if (!o.bases.empty()) {
    if (!o.order.empty() || o.vector || o.warps)
      throw UsageError("--bases says all of the layout; --order, --vector and --warps are for blocked ones");
    return parse_bases(o.bases, log2_extents, "--bases");
  }
  constexpr int kVector = 1, kWarps = 4, kMostWarps = 32;
  const int warps = log2_of(o.warps.value_or(kWarps), "--warps"), vector = log2_of(o.vector.value_or(kVector), "--vector");
  if (1 << warps > kMostWarps) throw UsageError(fmt::format("--warps is {}; a block has at most {}", 1 << warps, kMostWarps));
  return blocked_layout(log2_extents, vector, parse_order(o.order, log2_extents.size(), "--order"), warps);
}

/// Applies a step to the layout and returns its title, such as "--reshape 32,2".
std::string apply(const Step& s, LinearLayout& l) {
  if (s.option == "--transpose") {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(l.rank()));
    std::iota(axes.rbegin(), axes.rend(), 0);
    l = l.permuted(axes);
    return s.option;
  }
  if (s.option == "--reshape") {
    const std::vector<int> extents = parse_shape(s.value, s.option);
    if (const int bits = std::accumulate(extents.begin(), extents.end(), 0); bits != l.log2_elements())
      throw UsageError(fmt::format("--reshape: {} elements; the tile has {}", 1 << bits, 1 << l.log2_elements()));
    l = l.reshaped(extents);
  } else {
    const std::vector<int> axis = parse_numbers(s.value, s.option);
    if (axis.size() != 1 || axis[0] < 0 || axis[0] >= l.rank())
      throw UsageError(fmt::format("--slice: '{}' is not an axis; the tile has {}", s.value,
                                   l.rank() == 1 ? "axis 0" : fmt::format("axes 0 to {}", l.rank() - 1)));
    l = l.without_axis(axis[0]);
  }
  return fmt::format("{} {}", s.option, s.value);
}

/// Parses bases, or "ORDER:VECTOR" for a blocked layout with the same number of warps.
LinearLayout destination_of(const std::string& text, const LinearLayout& source) {
  constexpr std::string_view kOption = "--convert-to";
  if (text.starts_with('{')) return parse_bases(text, source.log2_extents(), kOption);
  const auto colon = text.find(':');
  const std::vector<int> order = parse_order(text.substr(0, colon), source.log2_extents().size(), kOption);
  int vector = 1;
  if (colon != text.npos) {
    const std::vector<int> numbers = parse_numbers(text.substr(colon + 1), kOption);
    if (numbers.size() != 1) throw UsageError(fmt::format("{}: '{}' must be ORDER, ORDER:VECTOR or bases in braces", kOption, text));
    vector = numbers[0];
  }
  return blocked_layout(source.log2_extents(), log2_of(vector, fmt::format("{}: the vector", kOption)), order,
                        source.bits(HardwareDim::warp), source.bits(HardwareDim::lane));
}

void check_convertible(const LinearLayout& l, std::string_view option) {
  if (l.bits(HardwareDim::offset) > 0) throw UsageError(fmt::format("{} is of shared memory; a conversion is between registers", option));
  if (!l.is_surjective()) throw UsageError(fmt::format("{} does not hold every element of the tile", option));
}

void execute(const Options& o, Session& session) {
  const std::optional<Element> element = parse_element(o.element);
  if (!element) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kElementCount; ++i) names.push_back(ir::text(static_cast<Element>(i)));
    throw UsageError(fmt::format("--element: '{}' is not an element type{}", o.element, suggestion(o.element, names)));
  }
  LinearLayout l = first_layout(o);
  std::string title;
  for (const Step& s : o.steps) title += fmt::format("{}{}", title.empty() ? "after " : ", ", apply(s, l));
  std::vector<Picture> pictures = {{title.empty() ? "layout" : title, l}};
  std::string conversion;
  if (!o.convert_to.empty()) {
    const LinearLayout to = destination_of(o.convert_to, l);
    check_convertible(l, "the layout");
    check_convertible(to, "--convert-to");
    for (const HardwareDim d : {HardwareDim::lane, HardwareDim::warp, HardwareDim::block})
      if (l.bits(d) != to.bits(d))
        throw UsageError(fmt::format("--convert-to has {} {}s; the layout has {}", to.size(d), ir::text(d), l.size(d)));
    pictures[0].title = fmt::format("from{}", title.empty() ? "" : ", " + title);
    pictures.push_back({"to", to});
    const Conversion c = plan_conversion(l, to, *element);
    if (c.shared) pictures.push_back({"shared memory", *c.shared});
    conversion = c.text;
  }
  std::string out;
  for (const Picture& p : pictures)
    out += fmt::format("{}{}{}\n{}", out.empty() ? "" : "\n", pictures.size() == 1 && title.empty() ? "" : p.title + ": ",
                       describe(p.layout, *element), draw(p.layout, o.colour));
  if (!conversion.empty()) out += "\n" + conversion;
  if (!o.svg.empty()) {
    if (l.log2_elements() > kMaxLog2SvgElements)
      throw UsageError(
          fmt::format("--svg: {} elements are too many for a picture; at most {}", 1 << l.log2_elements(), 1 << kMaxLog2SvgElements));
    session.files.write(o.svg, draw_svg(pictures, *element));
  }
  if (o.svg != "-") session.files.write("-", out);
}

}  // namespace

void add_layout(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "layout", "Show which thread holds each element of a tile, and its conversion to another layout",
                            "Examples: rows by vectors of four; a sum over the columns; a transpose, by columns afterwards, as a picture\n"
                            "  tilewright layout --shape 16,64 --order 1,0 --vector 4 --warps 4\n"
                            "  tilewright layout --shape 16,64 --vector 4 --slice 1\n"
                            "  tilewright layout --shape 64,64 --vector 8 --element f16 --convert-to 0,1:8 --svg transpose.svg\n"
                            "  tilewright layout --shape 4,4 --bases '{register = [[0, 1]], lane = [[1, 0], [2, 0], [0, 2]]}'",
                            o, execute);
  c->add_option("--shape", o->shape, "Extents of the tile: powers of two")->required()->type_name("N,...");
  c->add_option("--order", o->order, "Axes from the one that varies fastest; default: the last first")->type_name("AXIS,...");
  c->add_option("--vector", o->vector, "Neighbours that a thread holds; default: 1")->type_name("N");
  c->add_option("--warps", o->warps, "Warps of 32 lanes; default: 4")->type_name("N");
  c->add_option("--bases", o->bases, "Any other layout, in the textual form")->type_name("LAYOUT");
  const auto step = [&](const char* name) { return [o, name](const std::string& value) { o->steps.push_back({name, value}); }; };
  // The result depends on the order of these options, so each is recorded when it is parsed.
  c->add_flag_function(
       "--transpose", [o](std::int64_t) { o->steps.push_back({"--transpose", ""}); }, "Then the axes in reverse order")
      ->trigger_on_parse();
  c->add_option_function<std::string>("--reshape", step("--reshape"), "Then the same elements under other extents")
      ->trigger_on_parse()
      ->type_name("N,...");
  c->add_option_function<std::string>("--slice", step("--slice"), "Then the layout after a reduce along an axis")
      ->trigger_on_parse()
      ->type_name("AXIS");
  c->add_option("--convert-to", o->convert_to, "Then how it moves to a blocked layout, or to bases in braces")->type_name("ORDER:VECTOR");
  std::string elements;
  for (int i = 0; i < kElementCount; ++i) elements += fmt::format("{}{}", i == 0 ? "" : "|", ir::text(static_cast<Element>(i)));
  c->add_option("--element", o->element, "Type of the elements; default: f32")->type_name(elements);
  c->add_option("--svg", o->svg, "A picture as well; - is standard output, instead of text")->type_name("FILE");
  c->add_flag("--colour", o->colour, "Colours of a terminal, by warp");
}

}  // namespace tilewright::cli
