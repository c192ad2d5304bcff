// Parses the body of a PTX function: scopes, registers, labels, source lines, and instructions with their operands.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "runtime/emulator/ptx/token_stream.h"

namespace tilewright::rt::emulator {
namespace {

/// The registers of one declaration "%r<10>"; their indices are consecutive.
struct RegisterRange {
  u32 first, count;
};

struct Scope {
  int parent;
  std::unordered_map<std::string_view, u32> registers;
  std::unordered_map<std::string_view, RegisterRange> ranges;
  std::unordered_map<std::string_view, u32> labels;
  std::unordered_map<std::string_view, std::string_view> variables;  // maps names to the names under which the function knows them
};

class BodyParser {
 public:
  BodyParser(TokenStream& in, const Module& module, Function& function) : in_(in), module_(module), function_(function) {}

  void run() {
    open_scope();
    for (auto* parameters : {&function_.parameters, &function_.results})
      for (Parameter& parameter : *parameters)
        if (parameter.reg >= 0) parameter.reg = static_cast<s32>(declare_register(parameter.name, parameter.type));
    while (scope_ >= 0) parse_statement();
    for (ParsedInstruction& instruction : function_.instructions) {
      for (Operand& operand : instruction.operands) resolve(operand, instruction.line);
      resolve(instruction.guard, instruction.line);
    }
    for (auto& [name, targets] : target_names_)
      for (const auto& [target, scope] : targets) {
        const auto label = find_label(scope, target);
        if (!label) in_.fail(fmt::format("'{}' names the label '{}', which does not exist", name, target));
        function_.branch_targets[std::string(name)].push_back(*label);
      }
  }

 private:
  void open_scope() {
    in_.expect('{');
    scopes_.push_back({scope_, {}, {}, {}, {}});
    scope_ = static_cast<int>(scopes_.size()) - 1;
  }

  Scope& scope() { return scopes_[static_cast<std::size_t>(scope_)]; }

  void parse_statement() {
    if (in_.is_sign('{')) return open_scope();
    if (in_.take_sign('}')) {
      scope_ = scope().parent;
      return;
    }
    if (in_.take_sign(';')) return;
    if (in_.peek().kind == TokenKind::word && in_.is_sign(':', 1)) return parse_label();
    if (in_.peek().kind == TokenKind::word && in_.peek().text[0] == '.') return parse_directive();
    parse_instruction();
  }

  void parse_label() {
    const std::string_view name = in_.next().text;
    in_.next();
    if (in_.take_word(".branchtargets")) {
      do target_names_[name].emplace_back(in_.expect_word("a label"), scope_);
      while (in_.take_sign(','));
      return in_.expect(';');
    }
    if (in_.is_word(".callprototype") || in_.is_word(".calltargets")) {
      function_.prototypes.insert(name);
      return skip_statement();
    }
    if (!scope().labels.emplace(name, static_cast<u32>(function_.instructions.size())).second)
      in_.fail(fmt::format("the label '{}' stands twice", name));
  }

  void skip_statement() {
    while (!in_.at_end() && !in_.is_sign(';')) in_.next();
    in_.expect(';');
  }

  void parse_directive() {
    const Token& token = in_.next();
    const std::string_view word = token.text;
    if (word == ".reg" || word.starts_with(".reg.")) return parse_registers(word.substr(4));
    if (word == ".loc") return parse_source_line();
    if (word == ".pragma") return skip_statement();
    for (const auto& [name, space] : {std::pair{".shared", Space::shared},
                                      {".local", Space::local},
                                      {".global", Space::global},
                                      {".const", Space::constant},
                                      {".param", Space::param}})
      if (word == name) {
        for (Variable& variable : parse_variables(in_, space, false)) {
          declare(variable);
          function_.variables.push_back(std::move(variable));
        }
        return;
      }
    in_.fail_at(token.line, fmt::format("unknown directive '{}'", word));
  }

  Type type_of(std::string_view word) const {
    if (const auto type = type_named(word.substr(1))) return *type;
    in_.fail(fmt::format("expected a type, not '{}'", word));
  }

  /// Variables outside of the frame are placed once for all functions; several functions may have variables with the same name.
  void declare(Variable& variable) {
    const std::string_view name = variable.name;
    const auto is_named = [&](const Variable& other) { return other.name == name; };
    const bool in_frame = variable.space == Space::local || variable.space == Space::param;
    if (!in_frame || std::any_of(function_.variables.begin(), function_.variables.end(), is_named))
      variable.name = *function_.own_names.emplace_back(
          std::make_unique<const std::string>(fmt::format("{}#{}#{}", name, function_.name, function_.variables.size())));
    for (Relocation& relocation : variable.relocations)
      if (const std::string_view known = find_variable(scope_, relocation.symbol); !known.empty()) relocation.symbol = known;
    if (!scope().variables.emplace(name, variable.name).second) in_.fail_at(variable.line, fmt::format("'{}' is declared twice", name));
  }

  u32 declare_register(std::string_view name, Type type) {
    const u32 index = static_cast<u32>(function_.registers.size());
    if (!scope().registers.emplace(name, index).second) in_.fail(fmt::format("the register '{}' is declared twice", name));
    function_.registers.push_back({name, -1, type});
    return index;
  }

  /// `joined` is empty or ".b32": CUDA's headers omit the blank in ".reg .b32".
  void parse_registers(std::string_view joined) {
    const Type type = joined.empty() ? in_.expect_type() : type_of(joined);
    do {
      const std::string_view name = in_.expect_word("a register");
      if (!in_.take_sign('<')) {
        declare_register(name, type);
        continue;
      }
      const u32 first = static_cast<u32>(function_.registers.size()), count = static_cast<u32>(in_.expect_integer("a count"));
      in_.expect('>');
      if (!scope().ranges.emplace(name, RegisterRange{first, count}).second)
        in_.fail(fmt::format("the register '{}' is declared twice", name));
      for (u32 i = 0; i < count; ++i) function_.registers.push_back({name, static_cast<s32>(i), type});
    } while (in_.take_sign(','));
    in_.expect(';');
  }

  // .loc file line column [, function_name label [+ offset], inlined_at file line column]
  void parse_source_line() {
    const SourceLine here = expect_source_line();
    callers_.erase(here);
    while (in_.take_sign(',')) {
      if (in_.take_word("function_name")) {
        in_.expect_word("a label");
        if (in_.is_sign('+')) in_.expect_integer("an offset");
      } else {
        if (!in_.take_word("inlined_at")) in_.fail(fmt::format("unknown attribute '{}' of '.loc'", in_.peek().text));
        callers_[here] = expect_source_line();
      }
    }
    find_source(here);
  }

  SourceLine expect_source_line() {
    SourceLine line;
    line.file = static_cast<u32>(in_.expect_integer("a file number"));
    line.line = static_cast<u32>(in_.expect_integer("a line"));
    line.column = static_cast<u32>(in_.expect_integer("a column"));
    return line;
  }

  /// For a line in an inlined function, an earlier .loc has given the location of the call. The source line is the innermost of these
  /// locations that is in the same file as the outermost one.
  void find_source(const SourceLine& here) {
    std::vector<SourceLine> chain{here};
    constexpr std::size_t kDeepest = 256;  // a text may name callers in a cycle
    for (auto caller = callers_.find(here); caller != callers_.end() && chain.size() < kDeepest; caller = callers_.find(chain.back()))
      chain.push_back(caller->second);
    source_ = *std::ranges::find(chain, chain.back().file, &SourceLine::file);
    inlined_ = source_ == here ? SourceLine{} : here;
  }

  void parse_instruction() {
    ParsedInstruction instruction;
    instruction.source = source_;
    instruction.inlined = inlined_;
    instruction.line = in_.peek().line;
    if (in_.take_sign('@')) {
      const bool negated = in_.take_sign('!');
      instruction.guard = parse_operand();
      instruction.guard.negated = negated;
      instruction.line = in_.peek().line;
    }
    instruction.opcode = in_.expect_word("an instruction");
    if (!in_.is_sign(';')) {
      do instruction.operands.push_back(parse_operand());
      while (in_.take_sign(','));
    }
    in_.expect(';');
    function_.instructions.push_back(std::move(instruction));
  }

  Operand parse_list(OperandKind kind, char close) {
    Operand list;
    list.kind = kind;
    if (!in_.is_sign(close)) {
      do list.parts.push_back(parse_operand());
      while (in_.take_sign(','));
    }
    in_.expect(close);
    return list;
  }

  Operand parse_address() {
    Operand address;
    address.kind = OperandKind::address;
    address.parts.push_back(parse_primary());
    if (in_.is_sign('+') || in_.is_sign('-')) {
      // In "[%r1+-16]" the sign belongs to the number.
      in_.take_sign('+');
      address.bits = in_.expect_integer("an offset");
    }
    while (in_.take_sign(',')) address.parts.push_back(parse_operand());
    in_.expect(']');
    return address;
  }

  Operand parse_operand() {
    if (in_.take_sign('{')) return parse_list(OperandKind::vector, '}');
    if (in_.take_sign('(')) return parse_list(OperandKind::list, ')');
    if (in_.take_sign('[')) return parse_address();
    if (in_.take_sign('!')) {
      Operand operand = parse_primary();
      operand.negated = true;
      return operand;
    }
    Operand first = parse_primary();
    if (in_.take_sign('|')) {
      Operand pair;
      pair.kind = OperandKind::pair;
      pair.parts = {first, parse_primary()};
      return pair;
    }
    // A symbol plus a constant: "mov.u64 %rd1, table+16;".
    if (first.kind == OperandKind::symbol && (in_.is_sign('+') || in_.is_sign('-'))) first.bits = in_.expect_integer("an offset");
    return first;
  }

  Operand parse_primary() {
    Operand operand;
    const Token& token = in_.peek();
    switch (token.kind) {
      case TokenKind::float32:
      case TokenKind::float64:
        operand.kind = token.kind == TokenKind::float32 ? OperandKind::float32 : OperandKind::float64;
        operand.bits = in_.next().bits;
        return operand;
      case TokenKind::word: return parse_name();
      default: break;
    }
    if (in_.is_sign('-') && (in_.peek(1).kind == TokenKind::float32 || in_.peek(1).kind == TokenKind::float64)) {
      in_.next();
      operand = parse_primary();
      operand.bits ^= operand.kind == OperandKind::float32 ? u64{1} << 31 : u64{1} << 63;
      return operand;
    }
    const bool inverted = in_.take_sign('~');
    operand.kind = OperandKind::integer;
    operand.bits = in_.expect_integer("an operand");
    if (inverted) operand.bits = ~operand.bits;
    return operand;
  }

  Operand parse_name() {
    Operand operand;
    operand.name = in_.next().text;
    if (operand.name == "_") return operand;
    if (operand.name == "WARP_SZ") {
      operand.kind = OperandKind::integer;
      operand.bits = kLanes;
    } else if (const auto index = find_register(operand.name)) {
      operand.kind = OperandKind::reg;
      operand.index = *index;
    } else if (operand.name[0] == '%') {
      operand.kind = OperandKind::special;
    } else {
      operand.kind = OperandKind::symbol;
      operand.index = static_cast<u32>(scope_);
    }
    return operand;
  }

  std::optional<u32> find_register(std::string_view name) const {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    u32 number = 0;
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
    const bool has_zeros = name.size() - digits > 1 && name[digits] == '0';
    for (int at = scope_; at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
      const Scope& scope = scopes_[static_cast<std::size_t>(at)];
      if (const auto found = scope.registers.find(name); found != scope.registers.end()) return found->second;
      if (digits == name.size() || has_zeros) continue;
      const auto range = scope.ranges.find(name.substr(0, digits));
      if (range != scope.ranges.end() && number < range->second.count) return range->second.first + number;
    }
    return std::nullopt;
  }

  std::optional<u32> find_label(int at, std::string_view name) const {
    for (; at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
      const Scope& scope = scopes_[static_cast<std::size_t>(at)];
      if (const auto found = scope.labels.find(name); found != scope.labels.end()) return found->second;
    }
    return std::nullopt;
  }

  /// The function's name for the variable with this name in the innermost scope; empty if there is none.
  std::string_view find_variable(int at, std::string_view name) const {
    for (; at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
      const Scope& scope = scopes_[static_cast<std::size_t>(at)];
      if (const auto found = scope.variables.find(name); found != scope.variables.end()) return found->second;
    }
    return {};
  }

  /// Labels may be defined after their use, so names are resolved at the end of the body.
  void resolve(Operand& operand, int line) {
    for (Operand& part : operand.parts) resolve(part, line);
    if (operand.kind != OperandKind::symbol) return;
    if (const auto label = find_label(static_cast<int>(operand.index), operand.name)) {
      operand.kind = OperandKind::label;
      operand.index = *label;
      return;
    }
    if (const std::string_view variable = find_variable(static_cast<int>(operand.index), operand.name); !variable.empty()) {
      operand.name = variable;
      return;
    }
    const auto is_named = [&](const auto& entity) { return entity.name == operand.name; };
    const auto knows = [&](const auto& entities) { return std::any_of(entities.begin(), entities.end(), is_named); };
    if (function_.prototypes.contains(operand.name) || knows(function_.parameters) || knows(function_.results) ||
        knows(module_.variables) || knows(module_.functions) || function_.name == operand.name || target_names_.contains(operand.name))
      return;
    in_.fail_at(line, fmt::format("unknown name '{}'", operand.name));
  }

  TokenStream& in_;
  const Module& module_;
  Function& function_;
  std::vector<Scope> scopes_;
  int scope_ = -1;
  SourceLine source_, inlined_;               // as in ParsedInstruction
  std::map<SourceLine, SourceLine> callers_;  // of lines in inlined functions
  std::map<std::string_view, std::vector<std::pair<std::string_view, int>>> target_names_;
};

}  // namespace

void parse_body(TokenStream& in, const Module& module, Function& function) { BodyParser(in, module, function).run(); }

}  // namespace tilewright::rt::emulator
