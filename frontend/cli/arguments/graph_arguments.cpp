// Parses the arguments of textual graphs.
#include "frontend/cli/arguments/graph_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <random>
#include <utility>

#include "frontend/cli/files/errors.h"
#include "frontend/graph/run_memory.h"
#include "runtime/plan/extent_equation.h"
#include "tileir/graph/shapes.h"
#include "tileir/text/literal.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

using detail::ExtentEquation;

namespace {

constexpr std::int64_t kUnknown = -1;

class Parsing {
 public:
  Parsing(const graph::Graph& g, Files& files) : graph_(g), table_(*g.symbols()), files_(files) {
    result_.symbols.resize(table_.size(), kUnknown);
  }

  void word(const std::string& text) {
    const auto [name, value] = split_assignment(text, "--arg");
    if (const auto symbol = table_.find(name)) return set_symbol(*symbol, value);
    const auto node = graph_.find_input(name);
    if (!node) fail_unknown(name);
    if (is_given(*node)) throw UsageError(fmt::format("{} '{}' is given twice", kind_of(*node), name));
    Argument a = parse_value(receiver_of(*node), with_type(*node, value), files_);
    if (a.is_buffer()) add_equations(*node, a, value);
    result_.given.push_back({*node, std::move(a)});
  }

  GraphArguments finish(std::optional<std::uint64_t> seed) {
    solve();
    std::string missing;
    const auto miss = [&](const std::string& what) { missing += (missing.empty() ? "" : ", ") + what; };
    for (std::uint32_t s = 0; s < table_.size(); ++s)
      if (result_.symbols[s] == kUnknown) miss(fmt::format("symbol '{}' (a number)", table_[s].name));
    const std::vector<bool> needed = graph_.needed_nodes();
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      const graph::Op op = graph_.node({i}).op;
      const bool is_random = op == graph::Op::input && seed;
      if (op != graph::Op::input && op != graph::Op::scalar) continue;
      if (needed[i] && !is_given({i}) && !is_random)
        miss(fmt::format("{} '{}' ({})", kind_of({i}), graph_.node({i}).text, receiver_of({i}).expected()));
    }
    if (!missing.empty()) throw UsageError(fmt::format("no --arg gives a value to {}", missing));
    check_equations();
    std::mt19937_64 random(seed.value_or(0));
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      if (needed[i] && graph_.node({i}).op == graph::Op::input && !is_given({i})) make_random({i}, random);
    return std::move(result_);
  }

 private:
  struct Equation {
    ExtentEquation extent;
    std::int64_t value;
    graph::NodeId node;
    std::string given;  // as the user wrote it: "'x.npy'"
  };

  const char* kind_of(graph::NodeId id) const {
    const graph::Node& n = graph_.node(id);
    return n.op == graph::Op::scalar ? "scalar" : n.is_parameter ? "parameter" : "input";
  }

  Receiver receiver_of(graph::NodeId id) const {
    const graph::Node& n = graph_.node(id);
    const ir::Type type = n.op == graph::Op::scalar ? ir::Type(n.element) : ir::Type::pointer(n.element, false);
    return {n.text, type,
            fmt::format("{} '{}' is {}{}", kind_of(id), n.text, ir::text(n.element), n.shape.empty() ? "" : graph::shape_text(n.shape))};
  }

  /// The graph knows the type of a scalar, so "0.5" is read as "f32:0.5".
  std::string with_type(graph::NodeId id, const std::string& value) const {
    const graph::Node& n = graph_.node(id);
    const bool is_plain = n.op == graph::Op::scalar && ir::parse_literal(ir::Type(n.element), value).error.empty();
    return is_plain ? fmt::format("{}:{}", ir::text(n.element), value) : value;
  }

  bool is_given(graph::NodeId id) const {
    for (const GraphArgument& a : result_.given)
      if (a.node == id) return true;
    return false;
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      if (const graph::Node& n = graph_.node({i}); n.op == graph::Op::input || n.op == graph::Op::scalar) names.push_back(n.text);
    for (std::uint32_t s = 0; s < table_.size(); ++s) names.push_back(table_[s].name);
    throw UsageError(fmt::format("the graph has no input, scalar or symbol '{}'{}; it has {}", name, ir::suggestion(name, names),
                                 names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"))));
  }

  void set_symbol(std::uint32_t symbol, const std::string& text) {
    const ir::ParsedLiteral value = ir::parse_literal(ir::Type(ir::Element::i64), text);
    const Symbol& s = table_[symbol];
    if (!value.error.empty()) throw UsageError(fmt::format("symbol '{}' is an extent, and '{}' is not an integer", s.name, text));
    if (result_.symbols[symbol] != kUnknown) throw UsageError(fmt::format("symbol '{}' is given twice", s.name));
    result_.symbols[symbol] = static_cast<std::int64_t>(value.bits);
    check_bounds(symbol);
  }

  void check_bounds(std::uint32_t symbol) const {
    const Symbol& s = table_[symbol];
    const std::int64_t v = result_.symbols[symbol];
    if (v < s.bounds.min) throw UsageError(fmt::format("symbol '{}' is {}; it must be at least {}", s.name, v, s.bounds.min));
    if (v > s.bounds.max) throw UsageError(fmt::format("symbol '{}' is {}; it must be at most {}", s.name, v, s.bounds.max));
    if (v % s.bounds.multiple_of != 0)
      throw UsageError(fmt::format("symbol '{}' is {}; it must be a multiple of {}", s.name, v, s.bounds.multiple_of));
  }

  /// A file must have the input's shape. Zeros, and the memory of an input with strides, have only a number of elements.
  void add_equations(graph::NodeId id, const Argument& a, const std::string& value) {
    const graph::Node& n = graph_.node(id);
    const bool is_file = !value.starts_with("zeros:");
    if (!n.lengths.empty()) return;
    if (is_file && a.shape.size() != n.shape.size())
      throw UsageError(fmt::format("{}, and '{}' is [{}]", receiver_of(id).text, value, fmt::join(a.shape, ", ")));
    if (!is_file) {
      equations_.push_back({ExtentEquation(graph::element_count(n.shape), table_), a.elements, id, value});
      return;
    }
    for (std::size_t axis = 0; axis < n.shape.size(); ++axis)
      equations_.push_back({ExtentEquation(n.shape[axis], table_), a.shape[axis], id, fmt::format("{}, axis {}", value, axis)});
  }

  void solve() {
    for (bool changes = true; std::exchange(changes, false);)
      for (const Equation& e : equations_) {
        std::uint32_t unknown = 0;
        int unknowns = 0;
        for (std::uint32_t s : e.extent.symbols())
          if (result_.symbols[s] == kUnknown) unknown = s, ++unknowns;
        if (unknowns != 1) continue;
        const ExtentEquation::Solution solution = e.extent.solve(unknown, result_.symbols, e.value);
        if (solution.kind != ExtentEquation::Solution::Kind::found) continue;
        result_.symbols[unknown] = solution.value;
        check_bounds(unknown);
        changes = true;
      }
  }

  void check_equations() const {
    for (const Equation& e : equations_) {
      const Dim& d = e.extent.extent();
      const std::optional<std::int64_t> expected = d.is_constant() ? d.value() : d.evaluate(result_.symbols);
      if (expected == e.value) continue;
      std::string symbols;
      for (std::uint32_t s : e.extent.symbols())
        symbols += fmt::format("{}{} = {}", symbols.empty() ? ", where " : ", ", table_[s].name, result_.symbols[s]);
      throw UsageError(fmt::format("{}{}, and '{}' has {}", receiver_of(e.node).text, symbols, e.given, e.value));
    }
  }

  void make_random(graph::NodeId id, std::mt19937_64& random) {
    const graph::Node& n = graph_.node(id);
    Argument a{.name = n.text, .type = receiver_of(id).type};
    a.elements = detail::span_of(graph_, id, result_.symbols);
    a.shape = {a.elements};
    a.bytes = detail::random_elements(n.element, a.elements, random);
    result_.given.push_back({id, std::move(a)});
  }

  const graph::Graph& graph_;
  const SymbolTable& table_;
  Files& files_;
  GraphArguments result_;
  std::vector<Equation> equations_;
};

}  // namespace

GraphArguments parse_graph_arguments(const graph::Graph& g, std::span<const std::string> words, std::optional<std::uint64_t> random_seed,
                                     Files& files) {
  Parsing parsing(g, files);
  for (const std::string& w : words) parsing.word(w);
  return parsing.finish(random_seed);
}

}  // namespace tilewright::cli
