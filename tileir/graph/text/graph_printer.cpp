// Prints graphs, one node a line. Attributes are printed by the columns of graph_ops.def.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/text/lexer.h"
#include "tileir/text/literal.h"

namespace tilewright::graph {

namespace {

/// A constant or a symbol as it is; any other expression in quotes.
std::string extent_text(const Dim& d) {
  const std::string text = d.text();
  return d.is_constant() || ir::is_word(text) ? text : ir::quoted(text);
}

std::string list_text(const std::vector<Dim>& extents) {
  std::vector<std::string> texts;
  for (const Dim& d : extents) texts.push_back(extent_text(d));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

class Printer {
 public:
  Printer(const Graph& graph, PrintOptions options) : graph_(graph), options_(options) {}

  std::string print() {
    out_ = "graph {\n";
    symbols();
    composites();
    name_nodes();
    for (std::uint32_t i = 0; i < graph_.size(); ++i) node({i});
    for (const Output& output : graph_.outputs()) {
      out_ += fmt::format("  output {} %{}", ir::quoted(output.name), names_[output.node.index]);
      end_line(output.where);
    }
    return out_ + "}\n";
  }

 private:
  void end_line(const Location& at) {
    if (options_.locations && at.line > 0) out_ += fmt::format(" @ {}:{}:{}", ir::quoted(at.file), at.line, at.column);
    out_ += '\n';
  }

  void symbols() {
    const SymbolTable& table = *graph_.symbols();
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      const Symbol& s = table[i];
      out_ += fmt::format("  symbol {}", ir::is_word(s.name) ? s.name : ir::quoted(s.name));
      std::vector<std::string> bounds;
      const DimBounds any;
      if (s.bounds.min != any.min) bounds.push_back(fmt::format("min = {}", s.bounds.min));
      if (s.bounds.max != any.max) bounds.push_back(fmt::format("max = {}", s.bounds.max));
      if (s.bounds.multiple_of != any.multiple_of) bounds.push_back(fmt::format("multiple_of = {}", s.bounds.multiple_of));
      if (!bounds.empty()) out_ += fmt::format(" {{{}}}", fmt::join(bounds, ", "));
      end_line(s.where);
    }
  }

  void composites() {
    for (std::uint32_t i = 0; i < graph_.composites(); ++i) {
      out_ += fmt::format("  composite {} {}", i, ir::quoted(graph_.composite(i).name));
      end_line(graph_.composite(i).where);
    }
  }

  /// Names a node by its name for reports, an input by the name that a run uses, and others by a number. Names are made unique.
  void name_nodes() {
    std::set<std::string> used;
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node({i});
      const std::string& wanted = n.name.empty() && takes_name(n.op) ? n.text : n.name;
      names_.push_back(ir::is_word(wanted) && used.insert(wanted).second ? wanted : std::to_string(i));
    }
  }

  static bool takes_name(Op op) { return op == Op::input || op == Op::scalar; }

  void node(NodeId id) {
    const Node& n = graph_.node(id);
    out_ += fmt::format("  %{} = {}", names_[id.index], n.op == Op::map ? ir::text(n.function) : text(n.op));
    std::vector<std::string> operands, attributes;
    for (NodeId operand : n.operands) operands.push_back("%" + names_[operand.index]);
    if (!operands.empty()) out_ += fmt::format(" {}", fmt::join(operands, ", "));
    for (const AttributeInfo& row : info(n.op).attributes)
      if (std::string text = attribute(id, row.name); !text.empty()) attributes.push_back(std::move(text));
    if (!n.name.empty() && n.name != names_[id.index]) attributes.push_back(fmt::format("label = {}", ir::quoted(n.name)));
    if (n.composite) attributes.push_back(fmt::format("composite = {}", *n.composite));
    if (!attributes.empty()) out_ += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    out_ += fmt::format(" : {}", ir::text(n.element));
    if (!n.shape.empty()) out_ += list_text(n.shape);
    end_line(n.where);
  }

  /// "axes = [1]"; empty if the attribute has the value that its absence means.
  std::string attribute(NodeId id, std::string_view name) const {
    const Node& n = graph_.node(id);
    if (name == "name") return n.name.empty() && n.text == names_[id.index] ? "" : "name = " + ir::quoted(n.text);
    if (name == "text") return "text = " + ir::quoted(n.text);
    if (name == "lengths") return n.lengths.empty() ? "" : "lengths = " + list_text(n.lengths);
    if (name == "axes") return fmt::format("axes = [{}]", fmt::join(n.axes, ", "));
    if (name == "kind") return combine_text(n);
    if (name == "keep_dims") return n.keep_dims ? "keep_dims" : "";
    if (name == "reverse") return n.reverse ? "reverse" : "";
    if (name == "is_parameter") return n.is_parameter ? "is_parameter" : "";
    if (name == "precision") return n.precision == ProductPrecision::standard ? "" : fmt::format("precision = {}", text(n.precision));
    if (name == "position") return fmt::format("position = {}", n.position);
    if (name == "seed") return fmt::format("seed = {}", n.seed);
    if (name == "data") return data_text(n);
    TW_CHECK(name == "function" || name == "kernel", "an attribute of graph_ops.def that the printer does not know");
    return "";
  }

  std::string combine_text(const Node& n) const {
    std::string out = fmt::format("kind = {}", text(n.kind));
    if (n.identity) out += fmt::format(", identity = {}", ir::literal(ir::Type(n.element), *n.identity));
    if (n.combiner.valid()) out += fmt::format(", combiner = %{}", names_[n.combiner.index]);
    return out;
  }

  static std::string data_text(const Node& n) {
    std::vector<std::string> elements;
    for (std::uint64_t bits : n.data->bits) elements.push_back(ir::literal(ir::Type(n.element), bits));
    return fmt::format("data = [{}]", fmt::join(elements, ", "));
  }

  const Graph& graph_;
  PrintOptions options_;
  std::vector<std::string> names_;  // indexed by node
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, PrintOptions options) { return Printer(graph, options).print(); }

}  // namespace tilewright::graph
