// The outer grammar of PTX: header, files, variables, and functions with parameters and performance directives.
#include "runtime/emulator/ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/emulator/ptx/token_stream.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {

void TokenStream::fail_at(int line, const std::string& message) const { throw Error({name_, line, 0}, message); }

void TokenStream::expect(char c) {
  if (!take_sign(c)) fail(fmt::format("expected '{}', not '{}'", c, peek().text));
}

std::string_view TokenStream::expect_word(std::string_view what) {
  if (peek().kind != TokenKind::word) fail(fmt::format("expected {}, not '{}'", what, peek().text));
  return next().text;
}

u64 TokenStream::expect_integer(std::string_view what) {
  const bool negative = take_sign('-');
  if (!negative) take_sign('+');
  if (peek().kind != TokenKind::integer) fail(fmt::format("expected {}, not '{}'", what, peek().text));
  const u64 value = next().bits;
  return negative ? 0 - value : value;
}

Type TokenStream::expect_type() {
  const std::string_view word = expect_word("a type");
  if (word[0] == '.')
    if (const auto type = type_named(word.substr(1))) return *type;
  fail(fmt::format("expected a type, not '{}'", word));
}

namespace {

/// Appends one element of an initialiser, or the elements of a braced list of them.
void parse_initializer(TokenStream& in, Type type, Variable& variable) {
  if (in.take_sign('{')) {
    if (!in.take_sign('}')) {
      do parse_initializer(in, type, variable);
      while (in.take_sign(','));
      in.expect('}');
    }
    return;
  }
  const int bytes = bytes_of(type);
  u64 bits = 0;
  if (in.peek().kind == TokenKind::word) {
    Relocation relocation{variable.data.size(), {}, 0, bytes, false};
    relocation.symbol = in.next().text;
    if (relocation.symbol == "generic" && in.take_sign('(')) {
      relocation.generic = true;
      relocation.symbol = in.expect_word("a variable");
      in.expect(')');
    }
    if (in.is_sign('+') || in.is_sign('-')) relocation.addend = in.expect_integer("an offset");
    if (bytes != 8 && bytes != 4) in.fail(fmt::format("an address does not fit '{}'", name_of(type)));
    variable.relocations.push_back(relocation);
  } else if (in.peek().kind == TokenKind::float32 || in.peek().kind == TokenKind::float64) {
    const Token& token = in.next();
    bits = token.bits;
    if (type == Type::f32 && token.kind == TokenKind::float64) {
      double wide;
      std::memcpy(&wide, &bits, 8);
      const float narrow = static_cast<float>(wide);
      u32 word;
      std::memcpy(&word, &narrow, 4);
      bits = word;
    }
  } else {
    bits = in.expect_integer("a value");
  }
  for (int i = 0; i < bytes; ++i) variable.data.push_back(i < 8 ? static_cast<u8>(bits >> (8 * i)) : 0);
}

class ModuleParser {
 public:
  ModuleParser(TokenStream& in, Module& module) : in_(in), module_(module) {}

  void run() {
    if (!in_.take_word(".version")) in_.fail(fmt::format("a PTX text starts with '.version', not '{}'", in_.peek().text));
    parse_version();
    while (!in_.at_end()) parse_directive();
  }

 private:
  void parse_version() {
    const Token& token = in_.next();
    const std::size_t dot = token.text.find('.');
    if (token.kind != TokenKind::float64 || dot == std::string_view::npos) in_.fail("expected a version such as 8.3");
    int major = 0, minor = 0;
    for (char c : token.text.substr(0, dot)) major = major * 10 + (c - '0');
    for (char c : token.text.substr(dot + 1)) minor = minor * 10 + (c - '0');
    module_.version = major * 10 + minor;
  }

  void parse_directive() {
    const int line = in_.peek().line;
    const std::string_view word = in_.expect_word("a directive");
    if (word == ".target") return parse_target();
    if (word == ".address_size") {
      if (in_.expect_integer("64") != 64) in_.fail("only '.address_size 64' is supported");
      return;
    }
    if (word == ".file") return parse_file();
    if (word == ".section") return skip_section();
    if (word == ".pragma") return skip_statement();
    bool is_extern = false;
    std::string_view at = word;
    for (; at == ".visible" || at == ".extern" || at == ".weak" || at == ".common"; at = in_.expect_word("a declaration"))
      is_extern |= at == ".extern";
    if (at == ".entry" || at == ".func") return parse_function(at == ".entry", line);
    for (const auto& [name, space] : {std::pair{".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared}})
      if (at == name) {
        for (Variable& variable : parse_variables(in_, space, is_extern)) declare(std::move(variable));
        return;
      }
    in_.fail_at(line, fmt::format("unknown directive '{}'", at));
  }

  void parse_target() {
    module_.target = in_.expect_word("a target");
    while (in_.take_sign(',')) in_.expect_word("a target option");
  }

  void parse_file() {
    const u32 number = static_cast<u32>(in_.expect_integer("a file number"));
    if (in_.peek().kind != TokenKind::string) in_.fail("expected a file name");
    module_.files[number] = in_.next().text;
    while (in_.take_sign(',')) in_.expect_integer("a time stamp or a size");
  }

  void skip_section() {
    in_.expect_word("a section");
    in_.expect('{');
    while (!in_.at_end() && !in_.is_sign('}')) in_.next();
    in_.expect('}');
  }

  void skip_statement() {
    while (!in_.at_end() && !in_.is_sign(';')) in_.next();
    in_.expect(';');
  }

  void declare(Variable variable) {
    for (const Variable& other : module_.variables)
      if (other.name == variable.name) {
        if (variable.is_extern || other.is_extern) return;  // declared here and defined there, or the reverse
        in_.fail_at(variable.line, fmt::format("'{}' is declared twice, first in line {}", variable.name, other.line));
      }
    module_.variables.push_back(std::move(variable));
  }

  Parameter parse_parameter() {
    Parameter parameter;
    const bool in_register = in_.take_word(".reg");
    if (!in_register && !in_.take_word(".param")) in_.fail(fmt::format("expected '.param' or '.reg', not '{}'", in_.peek().text));
    while (in_.peek().kind == TokenKind::word && in_.peek().text[0] == '.') {
      const std::string_view word = in_.peek().text;
      if (word == ".align") {
        in_.next();
        parameter.align = in_.expect_integer("an alignment");
      } else if (word == ".ptr") {
        in_.next();
        for (std::string_view space : {".global", ".const", ".shared", ".local", ".param"}) in_.take_word(space);
        if (in_.take_word(".align")) in_.expect_integer("an alignment");
      } else {
        parameter.type = in_.expect_type();
        parameter.bytes = static_cast<u64>(bytes_of(parameter.type));
        parameter.align = std::max(parameter.align, parameter.bytes);
      }
    }
    parameter.name = in_.expect_word("a parameter");
    if (in_register) parameter.reg = 0;  // a placeholder: the body sets the number
    while (in_.take_sign('[')) {
      parameter.bytes *= in_.expect_integer("an extent");
      in_.expect(']');
    }
    return parameter;
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> parameters;
    u64 offset = 0;
    if (!in_.take_sign('(')) return parameters;
    if (!in_.take_sign(')')) {
      do {
        Parameter parameter = parse_parameter();
        if (parameter.bytes == 0) in_.fail(fmt::format("the parameter '{}' has no size", parameter.name));
        offset = (offset + parameter.align - 1) / parameter.align * parameter.align;
        parameter.offset = offset;
        offset += parameter.bytes;
        parameters.push_back(parameter);
      } while (in_.take_sign(','));
      in_.expect(')');
    }
    return parameters;
  }

  std::array<u32, 3> parse_extents() {
    std::array<u32, 3> extents{1, 1, 1};
    int n = 0;
    do extents[n++] = static_cast<u32>(in_.expect_integer("an extent"));
    while (n < 3 && in_.take_sign(','));
    return extents;
  }

  void parse_function(bool is_entry, int line) {
    Function function;
    function.is_entry = is_entry;
    function.line = line;
    if (in_.is_sign('(')) function.results = parse_parameters();
    function.name = in_.expect_word("a function");
    function.parameters = parse_parameters();
    while (!in_.is_sign('{') && !in_.is_sign(';')) {
      const std::string_view word = in_.expect_word("a performance directive or a body");
      if (word == ".maxntid") {
        function.maximum_threads = parse_extents();
      } else if (word == ".reqntid") {
        function.required_threads = parse_extents();
      } else if (word == ".reqnctapercluster") {
        function.required_cluster = parse_extents();
      } else if (word == ".maxnreg") {
        function.maximum_registers = static_cast<u32>(in_.expect_integer("a number"));
      } else if (word == ".minnctapersm") {
        function.blocks_a_processor = static_cast<u32>(in_.expect_integer("a number"));
      } else if (word == ".maxnctapersm" || word == ".maxclusterrank") {
        in_.expect_integer("a number");
      } else if (word == ".pragma") {
        skip_statement();
      } else if (word != ".noreturn" && word != ".explicitcluster" && word != ".blocksareclusters") {
        in_.fail(fmt::format("unknown performance directive '{}'", word));
      }
    }
    if (in_.is_sign('{')) {
      parse_body(in_, module_, function);
      function.is_defined = true;
    } else {
      in_.expect(';');
    }
    module_.functions.push_back(std::move(function));
  }

  TokenStream& in_;
  Module& module_;
};

}  // namespace

int Module::function_named(std::string_view wanted) const {
  int found = -1;
  for (std::size_t k = 0; k < functions.size(); ++k)
    if (functions[k].name == wanted && (found < 0 || functions[k].is_defined)) found = static_cast<int>(k);
  return found;
}

std::vector<Variable> parse_variables(TokenStream& in, Space space, bool is_extern) {
  Variable shape;
  shape.space = space;
  shape.is_extern = is_extern;
  u64 lanes = 1;
  while (true) {
    if (in.take_word(".align")) {
      shape.align = in.expect_integer("an alignment");
    } else if (in.take_word(".v2")) {
      lanes = 2;
    } else if (in.take_word(".v4")) {
      lanes = 4;
    } else if (in.take_word(".attribute")) {
      while (!in.take_sign(')')) in.next();
    } else {
      break;
    }
  }
  const Type type = in.expect_type();
  std::vector<Variable> variables;
  do {
    Variable variable = shape;
    variable.line = in.peek().line;
    variable.name = in.expect_word("a variable");
    variable.bytes = static_cast<u64>(bytes_of(type)) * lanes;
    variable.align = std::max(variable.align, variable.bytes);
    while (in.take_sign('[')) {
      variable.bytes *= in.is_sign(']') ? 0 : in.expect_integer("an extent");
      in.expect(']');
    }
    if (in.take_sign('=')) {
      parse_initializer(in, type, variable);
      variable.bytes = std::max<u64>(variable.bytes, variable.data.size());
      variable.data.resize(variable.bytes);
    }
    variables.push_back(std::move(variable));
  } while (in.take_sign(','));
  in.expect(';');
  return variables;
}

Module parse_module(std::string_view text, const std::string& name) {
  Module module;
  module.text = std::make_unique<const std::string>(text);
  module.name = name;
  TokenStream in(lex(*module.text, module.name), module.name);
  ModuleParser(in, module).run();
  return module;
}

}  // namespace tilewright::rt::emulator
