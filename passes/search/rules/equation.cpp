// Text of equations, and equations of terms.
#include "passes/search/rules/equation.h"

#include <fmt/format.h>

#include <cctype>

#include "tilewright/error.h"

namespace tilewright::passes::search {
namespace {

struct UnaryName {
  Op op;
  std::string_view name;
};
constexpr UnaryName kUnaryNames[] = {
    {Op::sum, "sum"}, {Op::function, "f"}, {Op::view, "view"}, {Op::part0, "part0"}, {Op::part1, "part1"},
};

/// sum := product {"+" product};  product := factor {"*" factor};  factor := variable | name "(" sum ")" | "(" sum ")" | "[" sum "|" sum "]"
class Parser {
 public:
  Parser(std::string_view source, std::string& variables) : source_(source), variables_(variables) {}

  Pattern parse() {
    const int root = sum();
    if (!at_end()) fail("an operator or the end");
    Pattern pattern;
    put(root, pattern);
    return pattern;
  }

 private:
  int make(Op op, int a, int b = -1, int variable = -1) {
    made_.push_back({op, variable, {a, b}});
    return static_cast<int>(made_.size()) - 1;
  }
  /// Copies a node and what it is made of, each node before its operands.
  int put(int node, Pattern& pattern) {
    const PatternNode n = made_[static_cast<std::size_t>(node)];
    const std::size_t at = pattern.size();
    pattern.push_back(n);
    for (std::size_t i = 0; i < 2; ++i)
      if (n.in[i] >= 0) {
        const int operand = put(n.in[i], pattern);
        pattern[at].in[i] = operand;
      }
    return static_cast<int>(at);
  }

  int sum() {
    int a = product();
    while (take('+')) a = make(Op::add, a, product());
    return a;
  }
  int product() {
    int a = factor();
    while (take('*')) a = make(Op::product, a, factor());
    return a;
  }
  int factor() {
    if (take('(')) {
      const int a = sum();
      expect(')');
      return a;
    }
    if (take('[')) {
      const int a = sum();
      expect('|');
      const int b = sum();
      expect(']');
      return make(Op::cat, a, b);
    }
    const std::size_t begin = at_;
    while (at_ < source_.size() && std::isalnum(static_cast<unsigned char>(source_[at_]))) ++at_;
    const std::string_view word = source_.substr(begin, at_ - begin);
    if (take('(')) {
      for (const UnaryName& u : kUnaryNames)
        if (u.name == word) {
          const int a = sum();
          expect(')');
          return make(u.op, a);
        }
    } else if (word.size() == 1 && std::islower(static_cast<unsigned char>(word[0]))) {
      std::size_t v = variables_.find(word[0]);
      if (v == variables_.npos) v = variables_.size(), variables_ += word[0];
      if (v < kMaxVariables) return make(Op::variable, -1, -1, static_cast<int>(v));
    }
    at_ = begin;
    fail("a variable, sum, f, view, part0, part1, '(' or '['");
  }

  bool at_end() {
    while (at_ < source_.size() && source_[at_] == ' ') ++at_;
    return at_ == source_.size();
  }
  bool take(char c) {
    if (at_end() || source_[at_] != c) return false;
    ++at_;
    at_end();
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }
  [[noreturn]] void fail(const std::string& expected) {
    throw Error({}, fmt::format("rule '{}': expected {} at position {}", source_, expected, at_ + 1));
  }

  std::string_view source_;
  std::string& variables_;
  std::size_t at_ = 0;
  Pattern made_;
};

std::string text_at(const Pattern& p, int node, const std::string& variables) {
  const PatternNode& n = p[static_cast<std::size_t>(node)];
  const auto operand = [&](std::size_t i) { return text_at(p, n.in[i], variables); };
  const auto enclosed = [&](std::size_t i) {
    const Op inner = p[static_cast<std::size_t>(n.in[i])].op;
    const bool is_looser = inner == Op::add || (inner == Op::product && n.op == Op::product);
    return is_looser ? "(" + operand(i) + ")" : operand(i);
  };
  switch (n.op) {
    case Op::variable: return std::string(1, variables[static_cast<std::size_t>(n.variable)]);
    case Op::product: return enclosed(0) + " * " + enclosed(1);
    case Op::add: return enclosed(0) + " + " + enclosed(1);
    case Op::cat: return "[" + operand(0) + " | " + operand(1) + "]";
    default: break;
  }
  for (const UnaryName& u : kUnaryNames)
    if (u.op == n.op) return fmt::format("{}({})", u.name, operand(0));
  return "";
}

/// Names variables in the order in which they occur, left side first.
std::string named_in_order(const Pattern& left, const Pattern& right, int count) {
  std::string names(static_cast<std::size_t>(count), '?');
  char next = 'a';
  for (const Pattern* p : {&left, &right}) {
    // The nodes of a pattern are in the order of its text but for exchanged operands, so operands are followed.
    std::vector<int> open = {0};
    while (!open.empty()) {
      const PatternNode& n = (*p)[static_cast<std::size_t>(open.back())];
      open.pop_back();
      if (n.op == Op::variable && names[static_cast<std::size_t>(n.variable)] == '?') names[static_cast<std::size_t>(n.variable)] = next++;
      for (std::size_t i = 2; i-- > 0;)
        if (n.in[i] >= 0) open.push_back(n.in[i]);
    }
  }
  return names;
}

int append(const TermTable& terms, int term, Pattern& pattern, std::vector<int>& variables) {
  const Node& n = terms.node(term);
  const std::size_t at = pattern.size();
  pattern.push_back({n.op, -1, {-1, -1}});
  if (n.op == Op::variable) {
    const auto found = std::find(variables.begin(), variables.end(), n.attribute);
    pattern[at].variable = static_cast<int>(found - variables.begin());
    if (found == variables.end()) variables.push_back(n.attribute);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(n)); ++i) {
    const int operand = append(terms, n.in[i].term, pattern, variables);
    pattern[at].in[i] = operand;
  }
  return static_cast<int>(at);
}

}  // namespace

Equation parse_equation(std::string_view left, std::string_view right) {
  Equation e;
  e.left = Parser(left, e.variables).parse();
  e.right = Parser(right, e.variables).parse();
  return e;
}

std::string text(const Pattern& p, const std::string& variables) { return text_at(p, 0, variables); }

std::string text(const Equation& e) { return text(e.left, e.variables) + " = " + text(e.right, e.variables); }

std::string identity(const Equation& e) {
  std::vector<std::pair<int, std::size_t>> commutative;  // side, node
  for (int s = 0; s < 2; ++s)
    for (std::size_t i = 0; i < e.side(s).size(); ++i)
      if (is_commutative(e.side(s)[i].op)) commutative.emplace_back(s, i);
  std::string least;
  for (unsigned swaps = 0; swaps < 1u << commutative.size(); ++swaps) {
    Equation other = e;
    for (std::size_t i = 0; i < commutative.size(); ++i)
      if (swaps >> i & 1) {
        auto& in = (commutative[i].first == 0 ? other.left : other.right)[commutative[i].second].in;
        std::swap(in[0], in[1]);
      }
    for (int side = 0; side < 2; ++side) {
      std::swap(other.left, other.right);
      other.variables = named_in_order(other.left, other.right, static_cast<int>(e.variables.size()));
      if (std::string t = text(other); least.empty() || t < least) least = t;
    }
  }
  return least;
}

Equation without_labels(const TermTable& terms, int left, int right) {
  Equation e;
  std::vector<int> variables;
  append(terms, left, e.left, variables);
  append(terms, right, e.right, variables);
  for (std::size_t i = 0; i < variables.size(); ++i) e.variables += static_cast<char>('a' + i);
  return e;
}

int ops_of(const Pattern& p) {
  return static_cast<int>(std::count_if(p.begin(), p.end(), [](const PatternNode& n) { return n.op != Op::variable; }));
}

bool has_op(const Pattern& p, Op op) {
  return std::any_of(p.begin(), p.end(), [&](const PatternNode& n) { return n.op == op; });
}

bool nests_sums(const Pattern& p) {
  return std::any_of(p.begin(), p.end(),
                     [&](const PatternNode& n) { return n.op == Op::sum && p[static_cast<std::size_t>(n.in[0])].op == Op::sum; });
}

unsigned variables_of(const Pattern& p) {
  unsigned variables = 0;
  for (const PatternNode& n : p)
    if (n.op == Op::variable) variables |= 1u << n.variable;
  return variables;
}

}  // namespace tilewright::passes::search
