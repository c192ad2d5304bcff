// Parses graphs: one token of lookahead, types checked by the shape rules.
#include <fmt/format.h>

#include <map>

#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shape_rules.h"
#include "tileir/graph/text/dim_text.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/graph/verifier.h"
#include "tileir/text/lexer.h"
#include "tileir/text/literal.h"
#include "tileir/text/suggestion.h"

namespace tilewright::graph {

namespace {

using ir::Token;
using ir::TokenKind;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file), file_(file), token_(lexer_.next()) {}

  Graph parse() {
    expect_word("graph");
    expect('{');
    while (!token_.is('}')) item();
    advance();
    if (token_.kind != TokenKind::end) fail(token_, "expected the end of the text");
    for (const GraphProblem& problem : verify(graph_)) throw Error(problem.where, problem.message);
    return std::move(graph_);
  }

 private:
  // ---- tokens ----

  Location at(const Token& t) const { return {file_, static_cast<int>(t.line), static_cast<int>(t.column)}; }
  [[noreturn]] void fail(const Token& t, const std::string& message) const { throw Error(at(t), message); }
  static std::string shown(const Token& t) { return t.kind == TokenKind::end ? "the end of the text" : fmt::format("'{}'", t.text); }

  Token advance() { return std::exchange(token_, lexer_.next()); }
  Token expect(TokenKind kind, std::string_view what) {
    if (token_.kind != kind) fail(token_, fmt::format("expected {}, not {}", what, shown(token_)));
    return advance();
  }
  void expect(char c) {
    if (!token_.is(c)) fail(token_, fmt::format("expected '{}', not {}", c, shown(token_)));
    advance();
  }
  void expect_word(std::string_view word) {
    if (token_.kind != TokenKind::word || token_.text != word) fail(token_, fmt::format("expected '{}', not {}", word, shown(token_)));
    advance();
  }
  bool take(char c) {
    if (!token_.is(c)) return false;
    advance();
    return true;
  }

  std::int64_t integer(std::string_view what) {
    const Token t = expect(TokenKind::number, what);
    const ir::ParsedLiteral value = ir::parse_literal(ir::Type(ir::Element::i64), t.text);
    if (!value.error.empty()) fail(t, value.error);
    return static_cast<std::int64_t>(value.bits);
  }
  std::uint32_t below(std::int64_t limit, std::string_view what) {
    const Token t = token_;
    const std::int64_t value = integer(what);
    if (value < 0 || value >= limit) fail(t, fmt::format("{} {} is out of range", what, value));
    return static_cast<std::uint32_t>(value);
  }

  /// The location that follows "@", or the text's own location.
  Location location(const Token& start) {
    if (!take('@')) return at(start);
    Location there{expect(TokenKind::string, "a file in quotes").text, 0, 0};
    expect(':');
    there.line = static_cast<int>(below(INT32_MAX, "a line"));
    expect(':');
    there.column = static_cast<int>(below(INT32_MAX, "a column"));
    return there;
  }

  template <class F>
  void list(F&& element) {
    expect('[');
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']');
  }

  // ---- items ----

  void item() {
    const Token start = token_;
    if (start.kind == TokenKind::value) return node();
    if (start.kind == TokenKind::word && start.text == "symbol") return symbol();
    if (start.kind == TokenKind::word && start.text == "composite") return composite();
    if (start.kind == TokenKind::word && start.text == "output") return output();
    fail(start, fmt::format("expected a node, 'symbol', 'composite', 'output' or '}}', not {}", shown(start)));
  }

  void symbol() {
    const Token start = advance(), name = token_;
    if (name.kind != TokenKind::word && name.kind != TokenKind::string) fail(name, "expected the name of a symbol, not " + shown(name));
    advance();
    if (graph_.symbols()->find(name.text)) fail(name, fmt::format("symbol '{}' is defined twice", name.text));
    DimBounds bounds;
    const Token brace = token_;
    if (take('{')) {
      do {
        const Token bound = expect(TokenKind::word, "a bound");
        expect('=');
        std::int64_t* const value = bound.text == "min"           ? &bounds.min
                                    : bound.text == "max"         ? &bounds.max
                                    : bound.text == "multiple_of" ? &bounds.multiple_of
                                                                  : nullptr;
        if (value == nullptr) fail(bound, fmt::format("'{}' is not a bound of a symbol: min, max or multiple_of", bound.text));
        *value = integer("a number");
      } while (take(','));
      expect('}');
    }
    if (bounds.min < 0 || bounds.multiple_of < 1 || bounds.max / bounds.multiple_of * bounds.multiple_of < bounds.min)
      fail(brace, fmt::format("no value of '{}' is within its bounds", name.text));
    graph_.symbols()->add(name.text, bounds, location(start));
  }

  void composite() {
    const Token start = advance();
    const Token number = token_;
    if (below(INT32_MAX, "a number") != graph_.composites())
      fail(number, fmt::format("composites count up; this is {}", graph_.composites()));
    std::string name = expect(TokenKind::string, "a name in quotes").text;
    graph_.add_composite({std::move(name), location(start)});
  }

  void output() {
    const Token start = advance();
    std::string name = expect(TokenKind::string, "a name in quotes").text;
    const NodeId id = operand();
    graph_.add_output({std::move(name), id, location(start)});
  }

  NodeId operand() {
    const Token t = expect(TokenKind::value, "a node");
    const auto found = nodes_.find(t.text);
    if (found == nodes_.end()) fail(t, fmt::format("'%{}' is not defined", t.text));
    return found->second;
  }

  void node() {
    const Token name = advance();
    if (nodes_.contains(name.text)) fail(name, fmt::format("'%{}' is defined twice", name.text));
    expect('=');
    Node n;
    const Token op = expect(TokenKind::word, "an op");
    op_of(op, n);
    if (token_.kind == TokenKind::value) {
      do n.operands.push_back(operand());
      while (take(','));
    }
    if (ir::is_word(name.text)) n.name = name.text;
    std::vector<Attribute> later;  // attributes that need the element type, which comes after them
    bool is_named = false;
    if (take('{')) {
      do attribute(n, later, is_named);
      while (take(','));
      expect('}');
    }
    if ((n.op == Op::input || n.op == Op::scalar) && !is_named) n.text = std::exchange(n.name, "");
    expect(':');
    type(n);
    for (const Attribute& a : later) literals(n, a);
    n.where = location(name);
    const Inferred inferred = infer(graph_, n);
    if (!inferred.ok()) fail(op, fmt::format("{}: {}", op.text, inferred.error));
    if (inferred.element != n.element || inferred.shape != n.shape)
      fail(op, fmt::format("{}: the type is {} {}; its operands give {} {}", op.text, ir::text(n.element), shape_text(n.shape),
                           ir::text(inferred.element), shape_text(inferred.shape)));
    nodes_[name.text] = graph_.append(std::move(n));
  }

  void op_of(const Token& t, Node& n) const {
    if (const auto function = parse_function(t.text)) {
      n.op = Op::map, n.function = *function;
      return;
    }
    const auto op = parse_op(t.text);
    if (!op || *op == Op::map)
      fail(t, fmt::format("unknown op '{}'{}", t.text, ir::suggestion(t.text, all_ops(), [](Op o) { return text(o); })));
    if (*op == Op::call) fail(t, "a kernel of the user has no text");
    n.op = *op;
  }

  Dim extent() {
    const Token t = advance();
    if (t.kind == TokenKind::number || t.kind == TokenKind::word || t.kind == TokenKind::string) {
      if (t.kind == TokenKind::number && t.text[0] == '-') return 0 - parse_dim(t.text.substr(1), *graph_.symbols(), at(t));
      return parse_dim(t.text, *graph_.symbols(), at(t));
    }
    fail(t, fmt::format("expected an extent, not {}", shown(t)));
  }

  void type(Node& n) {
    const Token t = expect(TokenKind::word, "an element type");
    const auto element = ir::parse_element(t.text);
    if (!element) fail(t, fmt::format("unknown element type '{}'", t.text));
    n.element = *element;
    if (token_.is('[')) list([&] { n.shape.push_back(extent()); });
  }

  // ---- attributes ----

  struct Attribute {
    std::string name;
    std::vector<Token> values;
  };

  static bool has(Op op, std::string_view name) {
    if (name == "label" || name == "composite") return true;
    if (name == "identity" || name == "combiner") return op == Op::reduce;
    for (const AttributeInfo& row : info(op).attributes)
      if (row.name == name) return name != "function" && name != "kernel";
    return false;
  }

  void attribute(Node& n, std::vector<Attribute>& later, bool& is_named) {
    const Token t = expect(TokenKind::word, "an attribute");
    if (!has(n.op, t.text)) fail(t, fmt::format("'{}' is not an attribute of {}", t.text, text(n.op)));
    if (t.text == "keep_dims") return void(n.keep_dims = true);
    if (t.text == "reverse") return void(n.reverse = true);
    if (t.text == "is_parameter") return void(n.is_parameter = true);
    expect('=');
    const Token value = token_;
    if (t.text == "name" || t.text == "text") {
      n.text = expect(TokenKind::string, "a text in quotes").text;
      is_named = true;
    } else if (t.text == "label") {
      n.name = expect(TokenKind::string, "a name in quotes").text;
    } else if (t.text == "composite") {
      n.composite = below(graph_.composites(), "composite");
    } else if (t.text == "lengths") {
      list([&] { n.lengths.push_back(extent()); });
    } else if (t.text == "axes") {
      list([&] { n.axes.push_back(static_cast<int>(below(kMaxRank, "axis"))); });
    } else if (t.text == "kind") {
      const auto kind = parse_combine(advance().text);
      if (!kind) fail(value, fmt::format("unknown reduction '{}'", value.text));
      n.kind = *kind;
    } else if (t.text == "precision") {
      const auto precision = parse_precision(advance().text);
      if (!precision) fail(value, fmt::format("unknown precision '{}'", value.text));
      n.precision = *precision;
    } else if (t.text == "combiner") {
      n.combiner = operand();
    } else if (t.text == "position") {
      n.position = static_cast<int>(below(2, "position"));
    } else if (t.text == "seed") {
      const ir::ParsedLiteral seed = ir::parse_literal(ir::Type(ir::Element::u64), expect(TokenKind::number, "a number").text);
      if (!seed.error.empty()) fail(value, seed.error);
      n.seed = seed.bits;
    } else {
      Attribute a{t.text, {}};
      if (t.text == "data")
        list([&] { a.values.push_back(advance()); });
      else
        a.values.push_back(advance());
      later.push_back(std::move(a));
    }
  }

  void literals(Node& n, const Attribute& a) const {
    TW_CHECK(a.name == "data" || a.name == "identity", "an attribute of graph_ops.def that the parser does not know");
    std::vector<std::uint64_t> bits;
    for (const Token& t : a.values) {
      const ir::ParsedLiteral value = ir::parse_literal(ir::Type(n.element), t.text);
      if (!value.error.empty()) fail(t, value.error);
      bits.push_back(value.bits);
    }
    if (a.name == "data")
      n.data = std::make_shared<const ConstantData>(ConstantData{std::move(bits)});
    else
      n.identity = bits.at(0);
  }

  ir::Lexer lexer_;
  std::string file_;
  Token token_;
  Graph graph_;
  std::map<std::string, NodeId> nodes_;
};

}  // namespace

Graph parse(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

}  // namespace tilewright::graph
