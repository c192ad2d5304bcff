// A recursive-descent reader of the textual form, driven by the op table. The grammar is in tileir/README.md.
#include "tileir/text/parser.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/text/lexer.h"
#include "tileir/text/literal.h"
#include "tileir/text/suggestion.h"
#include "tileir/verifier.h"

namespace tilewright::ir {

namespace {

constexpr int kMaxNesting = 128;  // of regions; this also bounds the recursion of every later walk

/// The text of a constant's value; it is converted when the constant's type is known, which the text gives later.
using Literal = std::optional<Token>;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file), file_(file) { advance(); }

  Module module() {
    Module m;
    while (token_.kind != TokenKind::end) {
      const Token at = token_;
      Function f = kernel();
      for (const Function& other : m.functions)
        if (other.name == f.name) fail(at, fmt::format("kernel '{}' is defined twice", f.name));
      m.functions.push_back(std::move(f));
    }
    return m;
  }

 private:
  // ---- tokens ----
  [[noreturn]] void fail(const Token& at, const std::string& message) const {
    throw Error({file_, static_cast<int>(at.line), static_cast<int>(at.column)}, message);
  }
  std::string seen() const {
    switch (token_.kind) {
      case TokenKind::end: return "the end of the text";
      case TokenKind::value: return fmt::format("'%{}'", token_.text);
      case TokenKind::string: return "a string";
      default: return fmt::format("'{}'", token_.text);
    }
  }
  [[noreturn]] void fail_expected(std::string_view what) const { fail(token_, fmt::format("expected {}, found {}", what, seen())); }

  Token advance() {
    Token taken = std::move(token_);
    token_ = lexer_.next();
    return taken;
  }
  bool accept(char c) {
    if (!token_.is(c)) return false;
    advance();
    return true;
  }
  void expect(char c, std::string_view where) {
    if (!accept(c)) fail_expected(fmt::format("'{}' {}", c, where));
  }
  Token expect(TokenKind k, std::string_view what) {
    if (token_.kind != k) fail_expected(what);
    return advance();
  }
  /// item(), item(), ...
  template <class Item>
  void list(Item&& item) {
    do item();
    while (accept(','));
  }
  std::int64_t integer(std::string_view what) {
    const Token t = expect(TokenKind::number, what);
    std::int64_t v = 0;
    const char* end = t.text.data() + t.text.size();
    const auto [stop, error] = std::from_chars(t.text.data(), end, v);
    if (error == std::errc::result_out_of_range) fail(t, fmt::format("{} does not fit 64 bits", t.text));
    if (error != std::errc() || stop != end) fail(t, fmt::format("expected {}, found '{}'", what, t.text));
    return v;
  }
  /// A line, at least 1, or a column, at least 0; column 0 means unknown.
  std::uint32_t position(std::string_view what, std::int64_t least) {
    const Token at = token_;
    const std::int64_t v = integer(what);
    if (v < least || v > INT32_MAX) fail(at, fmt::format("{} is out of range for {}", v, what));
    return static_cast<std::uint32_t>(v);
  }

  // ---- types ----
  Element element() {
    const Token t = expect(TokenKind::word, "an element type");
    if (const auto e = parse_element(t.text)) return *e;
    static constexpr std::string_view kNames[] = {
#define X(name, text, bits, kind) text,
        TW_ELEMENTS(X)
#undef X
    };
    fail(t, fmt::format("unknown type '{}'{}", t.text, suggestion(t.text, kNames, [](std::string_view s) { return s; })));
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    int log2_elements = 0;
    if (!accept('[')) return extents;
    list([&] {
      const Token at = token_;
      const std::int64_t n = integer("an extent");
      if (n <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(n))) fail(at, fmt::format("extent {}; it must be a power of two", n));
      log2_elements += std::countr_zero(static_cast<std::uint64_t>(n));
      if (log2_elements > kMaxLog2Elements) fail(at, fmt::format("a tile has at most 2^{} elements", kMaxLog2Elements));
      if (static_cast<int>(extents.size()) == kMaxRank) fail(at, fmt::format("a tile has at most {} axes", kMaxRank));
      extents.push_back(n);
    });
    expect(']', "after the extents");
    return extents;
  }

  Type type() {
    if (token_.kind == TokenKind::word && token_.text == "mbarrier") return mbarrier_type();
    if (token_.kind == TokenKind::word && token_.text == "buffer") return buffer_type();
    if (token_.kind == TokenKind::word && token_.text == "tensor_map") return tensor_map_type();
    if (token_.kind != TokenKind::word || token_.text != "ptr") {
      const Element e = element();
      return Type(e, shape());
    }
    advance();
    expect('<', "after 'ptr'");
    const bool is_const = token_.kind == TokenKind::word && token_.text == "const";
    if (is_const) advance();
    const Element e = element();
    expect('>', "after what the pointer points to");
    return Type::pointer(e, is_const, shape());
  }

  Type mbarrier_type() {
    advance();
    expect('<', "after 'mbarrier'");
    const int n = slots("mbarriers; one allocation");
    expect('>', "after the number of mbarriers");
    return Type::mbarrier(n);
  }

  Type tensor_map_type() {
    const Token start = token_;
    advance();
    expect('<', "after 'tensor_map'");
    const Element e = element();
    expect('>', "after the element type of the tensor");
    const std::vector<std::int64_t> box = shape();
    if (box.empty() || *std::ranges::max_element(box) > kMaxBoxExtent)
      fail(start, fmt::format("a tensor map has 1 to {} extents of at most {}", kMaxRank, kMaxBoxExtent));
    return Type::tensor_map(e, box);
  }

  /// `whose`: the subject of the message, "slots; a buffer".
  int slots(std::string_view whose) {
    const Token at = token_;
    const std::int64_t n = integer("the number of slots");
    if (n < 1 || n > kMaxSlots) fail(at, fmt::format("{} {} has 1 to {}", n, whose, kMaxSlots));
    return static_cast<int>(n);
  }

  Type buffer_type() {
    const Token start = token_;
    advance();
    expect('<', "after 'buffer'");
    const int n = slots("slots; a buffer");
    expect(',', "after the number of slots");
    const Element e = element();
    expect('>', "after the element type of the buffer");
    const std::vector<std::int64_t> extents = shape();
    if (extents.empty() || static_cast<int>(extents.size()) > kMaxBufferRank)
      fail(start, fmt::format("a buffer has 1 to {} extents", kMaxBufferRank));
    return Type::buffer(e, n, extents);
  }

  // ---- layouts ----
  /// layout #0 [64, 32] {register = [[0, 1], [0, 2]], lane = [...], warp = [...]}; layouts are numbered in order.
  void layout() {
    advance();
    const Token at = token_;
    if (layout_number() != static_cast<std::int64_t>(f_->layout_count()))
      fail(at, fmt::format("layouts are numbered in order; expected #{}", f_->layout_count()));
    const Token of = token_;
    const std::vector<std::int64_t> extents = shape();
    if (extents.empty()) fail(of, "a scalar has no layout");
    LinearLayout l(log2_extents(Type(Element::i32, extents)));
    expect('{', "before the bases");
    list([&] { bases(l, extents); });
    expect('}', "after the bases");
    const std::size_t before = f_->layout_count();
    f_->add_layout(l);
    if (f_->layout_count() == before) fail(at, "this layout has a number already");
  }
  void bases(LinearLayout& l, const std::vector<std::int64_t>& extents) {
    const Token name = expect(TokenKind::word, "a hardware dimension");
    int d = 0;
    while (d < kHardwareDims && text(static_cast<HardwareDim>(d)) != name.text) ++d;
    if (d == kHardwareDims) fail(name, fmt::format("unknown hardware dimension '{}'", name.text));
    const auto dim = static_cast<HardwareDim>(d);
    if (!l.bases(dim).empty()) fail(name, fmt::format("'{}' is given twice", name.text));
    expect('=', "after the dimension");
    expect('[', "before its bases");
    if (!token_.is(']'))
      list([&] {
        const Token at = token_;
        if (l.bits(dim) == kMaxLog2Elements) fail(at, fmt::format("a dimension has at most {} bases", kMaxLog2Elements));
        std::vector<std::uint32_t> coordinates;
        expect('[', "before the coordinates of a basis");
        list([&] {
          const Token number = token_;
          const std::int64_t c = integer("a coordinate");
          if (coordinates.size() == extents.size() || c < 0 || c >= extents[coordinates.size()])
            fail(number, "a basis has one coordinate for each axis, below its extent");
          coordinates.push_back(static_cast<std::uint32_t>(c));
        });
        expect(']', "after the coordinates of a basis");
        if (coordinates.size() != extents.size())
          fail(at, fmt::format("{} coordinates; there are {} axes", coordinates.size(), extents.size()));
        l.add_basis(dim, l.flat(coordinates));
      });
    expect(']', "after the bases");
  }
  std::int64_t layout_number() {
    expect('#', "before the number of a layout");
    return integer("the number of a layout");
  }
  /// A type and, in a distributed function, the layout if it is a tile's type.
  std::pair<Type, LayoutId> type_and_layout() {
    const Type t = type();
    if (!token_.is('#')) return {t, {}};
    const Token at = token_;
    const std::int64_t n = layout_number();
    if (n < 0 || n >= static_cast<std::int64_t>(f_->layout_count())) fail(at, fmt::format("there is no layout #{}", n));
    return {t, LayoutId{static_cast<std::uint32_t>(n)}};
  }

  // ---- names ----
  ValueId use() {
    const Token t = expect(TokenKind::value, "a value");
    const auto it = visible_.find(t.text);
    if (it == visible_.end()) fail(t, fmt::format("'%{}' is not defined here", t.text));
    return it->second;
  }
  void define(const Token& t, ValueId v) {
    if (!visible_.emplace(t.text, v).second) fail(t, fmt::format("'%{}' is defined already", t.text));
    scope_.push_back(t.text);
  }
  void leave_scope(std::size_t size) {
    for (; scope_.size() > size; scope_.pop_back()) visible_.erase(scope_.back());
  }

  // ---- kernels ----
  Function kernel() {
    if (token_.kind != TokenKind::word || token_.text != "kernel") fail_expected("'kernel'");
    advance();
    expect('@', "before the kernel's name");
    if (token_.kind != TokenKind::word && token_.kind != TokenKind::string) fail_expected("the kernel's name");
    Function f(advance().text);
    f_ = &f;
    text_file_ = f.add_file(file_);
    expect('(', "before the parameters");
    if (!token_.is(')')) list([&] { param(); });
    expect(')', "after the parameters");
    expect('{', "before the kernel's body");
    while (token_.kind == TokenKind::word && token_.text == "layout") layout();
    ops(f.body(), 0);
    leave_scope(0);
    return f;
  }

  void param() {
    const Token name = expect(TokenKind::value, "a parameter");
    expect(':', "after the parameter's name");
    Param p{name.text};
    const Type t = type();
    if (accept('{')) {
      do argument_attribute(p);
      while (accept(','));
      expect('}', "after the attribute");
    }
    define(name, f_->add_param(t, std::move(p)));
  }

  void argument_attribute(Param& p) {
    const Token key = expect(TokenKind::word, "'divisible_by'");
    if (key.text == "disjoint" || key.text == "positive") {
      (key.text == "disjoint" ? p.disjoint : p.positive) = true;
      return;
    }
    if (key.text != "divisible_by")
      fail(key, fmt::format("unknown attribute '{}' of a parameter; expected 'divisible_by', 'disjoint' or 'positive'", key.text));
    expect('=', "after 'divisible_by'");
    const Token at = token_;
    p.divisible_by = integer("a number");
    if (p.divisible_by < 1) fail(at, fmt::format("divisible_by is {}; it must be positive", p.divisible_by));
  }

  // ---- ops ----
  /// Parses ops up to and including the closing brace.
  void ops(BlockId b, int depth) {
    while (!token_.is('}')) {
      if (token_.kind == TokenKind::end) fail_expected("an op or '}'");
      op(b, depth);
    }
    advance();
  }

  void op(BlockId b, int depth) {
    std::vector<Token> names;
    if (token_.kind == TokenKind::value) {
      list([&] { names.push_back(expect(TokenKind::value, "the name of a result")); });
      expect('=', "after the names of the results");
    }
    const Token word = expect(TokenKind::word, "the name of an op");
    const auto kind = parse_op(word.text);
    if (!kind) fail(word, fmt::format("unknown op '{}'{}", word.text, suggestion(word.text, all_ops(), [](OpKind k) { return text(k); })));
    std::vector<ValueId> operands;
    // After an op without operands, a value on another line is the result of the next op, not an operand.
    if (token_.kind == TokenKind::value && token_.line == word.line) list([&] { operands.push_back(use()); });
    std::vector<Attr> attrs;
    Literal literal;
    if (attributes_follow(*kind)) attributes(*kind, attrs, literal);
    std::vector<Type> types;
    std::vector<LayoutId> layouts;
    if (accept(':'))
      list([&] {
        const auto [t, layout] = type_and_layout();
        types.push_back(t), layouts.push_back(layout);
      });
    if (types.size() != names.size())
      fail(word, fmt::format("{}: {} names for results of {} types", word.text, names.size(), types.size()));
    if (literal) resolve(*literal, types, attrs);
    const OpId id = f_->create_op(*kind, location(word), operands, types, std::move(attrs), b);
    for (std::size_t i = 0; i < layouts.size(); ++i) f_->set_layout(f_->result(id, static_cast<int>(i)), layouts[i]);
    const int regions = info(*kind).regions;
    for (int i = 0; regions == kAny ? token_.is('{') || i == 0 : i < regions; ++i) region(id, depth + 1);
    for (std::size_t i = 0; i < names.size(); ++i) define(names[i], f_->result(id, static_cast<int>(i)));
  }

  Loc location(const Token& word) {
    if (!accept('@')) return {text_file_, word.line, word.column};
    const Token file = expect(TokenKind::string, "a file name in quotes");
    expect(':', "after the file");
    const std::uint32_t line = position("a line number", 1);
    expect(':', "after the line");
    return {f_->add_file(file.text), line, position("a column number", 0)};
  }

  void region(OpId id, int depth) {
    if (depth > kMaxNesting) fail(token_, fmt::format("regions are nested more than {} deep", kMaxNesting));
    const std::size_t scope = scope_.size();
    const BlockId b = f_->add_region(id);
    if (accept('(') && !accept(')')) {
      list([&] {
        const Token name = expect(TokenKind::value, "an argument of the region");
        expect(':', "after the argument's name");
        const auto [t, layout] = type_and_layout();
        const ValueId arg = f_->add_arg(b, t);
        f_->set_layout(arg, layout);
        define(name, arg);
      });
      expect(')', "after the region's arguments");
    }
    expect('{', fmt::format("before region {} of '{}'", f_->op(id).regions.size(), text(f_->kind(id))));
    ops(b, depth);
    leave_scope(scope);
  }

  // ---- attributes ----
  /// Whether '{' opens attributes and not a region. Only ops whose row has attributes can have them.
  bool attributes_follow(OpKind k) const { return token_.is('{') && (info(k).regions == 0 || opens_attributes()); }
  bool opens_attributes() const {
    Lexer ahead = lexer_;
    const Token first = ahead.next();
    if (first.kind != TokenKind::word) return false;
    if (parse_attr(first.text)) return true;
    const Token second = ahead.next();
    return second.is('=') || second.is(',');
  }

  void attributes(OpKind k, std::vector<Attr>& attrs, Literal& literal) {
    expect('{', "before the attributes");
    list([&] {
      const Token name = expect(TokenKind::word, "an attribute");
      const auto attr = parse_attr(name.text);
      if (!attr)
        fail(name, fmt::format("{}: unknown attribute '{}'{}", text(k), name.text,
                               suggestion(name.text, info(k).attributes, [](const AttrInfo& a) { return text(a.name); })));
      attrs.push_back(attribute(*attr, literal));
    });
    expect('}', "after the attributes");
  }

  Attr attribute(AttrName name, Literal& literal) {
    Attr a{name, 0, {}};
    if (kind(name) == AttrKind::flag) {
      a.number = 1;
      return a;
    }
    expect('=', fmt::format("after '{}'", text(name)));
    switch (kind(name)) {
      case AttrKind::flag: break;
      case AttrKind::integer: a.number = integer("a number"); break;
      case AttrKind::integers:
        expect('[', "before the numbers");
        if (!token_.is(']')) list([&] { a.list.push_back(integer("a number")); });
        expect(']', "after the numbers");
        break;
      case AttrKind::symbol: a.number = symbol(name); break;
      case AttrKind::string: a.text = expect(TokenKind::string, "a string in quotes").text; break;
      case AttrKind::bits:
        if (token_.kind != TokenKind::number && token_.kind != TokenKind::word) fail_expected("a value");
        literal = advance();
        break;
    }
    return a;
  }

  std::int64_t symbol(AttrName name) {
    const Token t = expect(TokenKind::word, "a word");
    const auto all = symbols(name);
    const auto it = std::find(all.begin(), all.end(), t.text);
    if (it == all.end()) fail(t, fmt::format("'{}' cannot be '{}'; expected one of: {}", text(name), t.text, fmt::join(all, ", ")));
    return it - all.begin();
  }

  void resolve(const Token& word, const std::vector<Type>& types, std::vector<Attr>& attrs) const {
    const ParsedLiteral v = parse_literal(types.empty() ? Type(Element::u64) : types[0], word.text);
    if (!v.error.empty()) fail(word, v.error);
    for (Attr& a : attrs)
      if (kind(a.name) == AttrKind::bits) a.number = static_cast<std::int64_t>(v.bits);
  }

  Lexer lexer_;
  std::string file_;
  Token token_;
  Function* f_ = nullptr;
  std::uint32_t text_file_ = 0;
  std::unordered_map<std::string, ValueId> visible_;
  std::vector<std::string> scope_;  // the visible names in order of definition
};

}  // namespace

Module parse_unverified(std::string_view text, const std::string& file) { return Parser(text, file).module(); }

Module parse(std::string_view text, const std::string& file) {
  Module m = parse_unverified(text, file);
  for (const Function& f : m.functions) verify_or_throw(f);
  return m;
}

}  // namespace tilewright::ir
