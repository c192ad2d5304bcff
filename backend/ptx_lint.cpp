// Splits PTX into statements and looks at each of them once.
#include "backend/ptx_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <set>

namespace tilewright::backend {

namespace {

constexpr std::array<std::string_view, 6> kTargets = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

bool starts_with_word(std::string_view s, std::string_view word) {
  return s.starts_with(word) && (s.size() == word.size() || std::isspace(static_cast<unsigned char>(s[word.size()])));
}

bool has_word(std::string_view s, std::string_view word) {
  for (std::size_t at = 0; (at = s.find(word, at)) != s.npos; at += word.size())
    if (at + word.size() == s.size() || std::isspace(static_cast<unsigned char>(s[at + word.size()]))) return true;
  return false;
}

bool is_any(std::string_view s, std::initializer_list<std::string_view> of) { return std::find(of.begin(), of.end(), s) != of.end(); }

/// An opcode by its dots: {"ld", "global", "v4", "b32"}.
std::vector<std::string_view> parts_of(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == opcode.npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

/// Of "b32", "f16x2", "v4": the first number in it.
int number_in(std::string_view s) {
  const auto digit = s.find_first_of("0123456789");
  int n = 0;
  if (digit != s.npos) std::from_chars(s.data() + digit, s.data() + s.size(), n);
  return n;
}

/// Registers that PTX has by itself, but for the .x of some.
bool is_special(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"%lanemask_", "%clock", "%globaltimer", "%pm", "%envreg", "%cluster", "%is_explicit_cluster",
                                            "%reserved_smem", "%dynamic_smem", "%total_smem", "%aggr_smem", "%nclusterid", "%current_graph"};
  return is_any(name, {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"}) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view p) { return name.starts_with(p); });
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  PtxFacts read() {
    while (at_ < text_.size()) step();
    line_of_statement_ = line_;
    if (!trimmed(statement_).empty()) problem("the text ends within a statement");
    if (!scopes_.empty()) problem("the text ends within a body");
    line_of_statement_ = 1;
    if (facts_.version.empty()) problem("there is no .version");
    if (facts_.target.empty()) problem("there is no .target");
    if (facts_.entries.empty()) problem("there is no kernel");
    return std::move(facts_);
  }

 private:
  // ---- characters to statements ----
  void step() {
    const char c = text_[at_];
    if (text_.substr(at_, 2) == "//") return skip_to("\n", false);
    if (text_.substr(at_, 2) == "/*") return skip_to("*/", true);
    if (c == '\n') ++line_;
    const bool empty = trimmed(statement_).empty();
    if (empty) {
      statement_.clear();
      if (std::isspace(static_cast<unsigned char>(c))) return void(++at_);
      line_of_statement_ = line_;
      if (const std::string_view line = rest_of_line(); is_line_directive(line)) {
        line_directive(line);
        at_ += line.size();
        return;
      }
    }
    ++at_;
    if (c == '{' && starts_with_word(statement_, ".section")) {  // of debuggers
      statement_.clear();
      return skip_to("}", true);
    }
    const bool opens_body = c == '{' && (empty || begins_function());
    if (opens_body) {
      if (!empty) function_header();
      scopes_.emplace_back();
      statement_.clear();
    } else if (c == '}' && empty) {
      if (scopes_.empty()) return problem("'}' without '{'");
      scopes_.pop_back();
      if (scopes_.empty()) end_of_function();
    } else if (c == ';') {
      end_of_statement();
    } else if (c == ':' && is_label()) {
      labels_.insert(std::string(trimmed(statement_)));
      statement_.clear();
    } else {
      statement_ += c == '\n' ? ' ' : c;
    }
  }

  void skip_to(std::string_view end, bool inclusive) {
    const auto found = std::min(text_.find(end, at_), text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    at_ = std::min(text_.size(), found + (inclusive ? end.size() : 0));
  }

  std::string_view rest_of_line() const {
    const std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
    return line.substr(0, line.find("//"));
  }
  static bool is_line_directive(std::string_view line) {
    for (const std::string_view d : {".version", ".target", ".address_size", ".file", ".loc"})
      if (starts_with_word(line, d)) return true;
    return false;
  }
  bool begins_function() const {
    return trimmed(statement_).starts_with(".") && (has_word(statement_, ".entry") || has_word(statement_, ".func"));
  }
  bool is_label() const {
    const std::string_view name = trimmed(statement_);
    return (at_ >= text_.size() || text_[at_] != ':') && std::all_of(name.begin(), name.end(), is_name_char);
  }

  // ---- statements ----
  void line_directive(std::string_view line) {
    const std::string_view value = trimmed(line.substr(line.find_first_of(" \t")));
    if (line.starts_with(".version")) facts_.version = value;
    if (line.starts_with(".address_size") && value != "64") problem(fmt::format("addresses of {} bits; they must have 64", value));
    if (!line.starts_with(".target")) return;
    facts_.target = trimmed(value.substr(0, value.find(',')));
    if (std::find(kTargets.begin(), kTargets.end(), facts_.target) == kTargets.end())
      problem(fmt::format("there is no target '{}'", facts_.target));
  }

  void function_header() {
    const auto entry = statement_.find(".entry");
    if (entry == std::string::npos) return;
    const std::string_view name = trimmed(std::string_view(statement_).substr(entry + 6));
    facts_.entries.emplace_back(name.substr(0, std::find_if_not(name.begin(), name.end(), is_name_char) - name.begin()));
  }

  void end_of_function() {
    for (const auto& [label, line] : targets_of_branches_)
      if (!labels_.contains(label)) line_of_statement_ = line, problem(fmt::format("there is no label '{}'", label));
    targets_of_branches_.clear();
    labels_.clear();
  }

  void end_of_statement() {
    const std::string statement = std::string(trimmed(statement_));
    statement_.clear();
    if (statement.empty()) return;
    if (statement.starts_with('.')) return declaration(statement);
    if (scopes_.empty()) return problem(fmt::format("'{}' is no directive", statement));
    instruction(statement);
  }

  void declaration(std::string_view s) {
    if (starts_with_word(s, ".reg")) return declare_registers(s);
    if (starts_with_word(s, ".extern") && !has_word(s, ".shared")) problem(fmt::format("'{}' is defined nowhere", s));
    if (has_word(s, ".local")) problem(fmt::format("local memory: '{}'", s));
  }

  /// ".reg .b32 %r<12>", ".reg .pred p, q".
  void declare_registers(std::string_view s) {
    if (scopes_.empty()) return problem("registers outside of a kernel");
    s = trimmed(s.substr(4));
    s = trimmed(s.substr(std::min(s.find_first_of(" \t"), s.size())));
    while (!s.empty()) {
      const auto comma = s.find(',');
      const std::string_view name = trimmed(s.substr(0, comma));
      const auto range = name.find('<');
      if (range == name.npos)
        scopes_.back().names.emplace(name);
      else
        scopes_.back().ranges[std::string(name.substr(0, range))] = number_in(name.substr(range));
      s = comma == s.npos ? "" : trimmed(s.substr(comma + 1));
    }
  }

  bool is_declared(std::string_view name) const {
    const auto digits = name.find_last_not_of("0123456789") + 1;
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
      if (scope.names.contains(name)) return true;
      const auto range = scope.ranges.find(name.substr(0, digits));
      return range != scope.ranges.end() && digits < name.size() && number_in(name.substr(digits)) < range->second;
    });
  }

  void instruction(std::string_view s) {
    ++facts_.instructions;
    check_registers(s);
    const bool guarded = s.starts_with('@');
    if (guarded) s = trimmed(s.substr(std::min(s.find_first_of(" \t"), s.size())));
    const auto space = std::min(s.find_first_of(" \t"), s.size());
    const std::vector<std::string_view> op = parts_of(s.substr(0, space));
    const std::string_view operands = trimmed(s.substr(space)), base = op[0];
    const auto has = [&](std::initializer_list<std::string_view> parts) {
      return std::any_of(op.begin() + 1, op.end(), [&](std::string_view p) { return is_any(p, parts); });
    };
    if (base.empty() || !std::all_of(base.begin(), base.end(), is_name_char)) return problem(fmt::format("'{}' is no instruction", s));
    if (is_any(base, {"ld", "ldu", "st"})) return access(op, base == "st");
    if ((base == "bar" && !has({"warp", "arrive"})) || (base == "barrier" && !has({"arrive"}))) {
      ++facts_.barriers;
      if (guarded) problem(fmt::format("a barrier under a predicate: '{}'", s));
    } else if (base == "shfl") {
      ++facts_.shuffles;
      if (guarded) problem(fmt::format("a shuffle under a predicate: '{}'", s));
    } else if (base == "bra") {
      ++facts_.branches;
      targets_of_branches_.emplace_back(operands, line_of_statement_);
    } else if (base == "call") {
      ++facts_.calls;
      problem(fmt::format("a call: '{}'", s));
    } else if (is_any(base, {"fence", "membar"})) {
      ++facts_.fences;
    } else if (is_any(base, {"atom", "red"})) {
      ++facts_.atomics;
      if (has({"acquire", "release", "acq_rel"})) ++facts_.ordered_atomics;
      const bool names_both = has({"relaxed", "acquire", "release", "acq_rel"}) && has({"cta", "cluster", "gpu", "sys"});
      if (!names_both && !has({"shared", "shared::cta"})) problem(fmt::format("an atomic without its order or its scope: '{}'", s));
    } else if (base == "bfe" && op.back() == "s32") {
      const auto length = operands.rfind(','), position = operands.rfind(',', length - 1);
      const bool is_whole = length != operands.npos && position != operands.npos && number_in(operands.substr(position, length - position)) % 8 == 0;
      if (is_whole && (operands.ends_with(" 8") || operands.ends_with(" 16"))) problem(fmt::format("ptxas may convert what '{}' gives as if it were signed", s));
    } else if (is_any(base, {"add", "sub", "mul"})) {
      const bool is_float = is_any(op.back(), {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"});
      if (is_float && !has({"rn", "rz", "rm", "rp"})) problem(fmt::format("float arithmetic that may be contracted: '{}'", s));
    }
  }

  void access(const std::vector<std::string_view>& op, bool is_store) {
    int bytes = number_in(op.back()) / 8;
    PtxFacts::Widths* widths = is_store ? &facts_.global_stores : &facts_.global_loads;
    for (const std::string_view part : op) {
      if (is_any(part, {"v2", "v4", "v8"})) bytes *= number_in(part);
      if (part == "shared" || part.starts_with("shared::")) widths = is_store ? &facts_.shared_stores : &facts_.shared_loads;
      if (part == "local") widths = is_store ? &facts_.local_stores : &facts_.local_loads;
      if (part == "param" || part == "const") return;
    }
    ++(*widths)[bytes];
  }

  void check_registers(std::string_view s) {
    for (std::size_t at = 0; (at = s.find('%', at)) != s.npos;) {
      std::size_t end = at + 1;
      while (end < s.size() && is_name_char(s[end])) ++end;
      const std::string_view name = s.substr(at, end - at);
      if (!is_special(name) && !is_declared(name)) problem(fmt::format("there is no register '{}'", name));
      at = end;
    }
  }

  void problem(const std::string& what) { facts_.problems.push_back(fmt::format("line {}: {}", line_of_statement_, what)); }

  struct Scope {
    std::set<std::string, std::less<>> names;
    std::map<std::string, int, std::less<>> ranges;  // "%r" -> 12
  };

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, line_of_statement_ = 1;
  std::string statement_;
  std::vector<Scope> scopes_;
  std::set<std::string, std::less<>> labels_;
  std::vector<std::pair<std::string, int>> targets_of_branches_;
  PtxFacts facts_;
};

}  // namespace

PtxFacts read_ptx(std::string_view text) { return Reader(text).read(); }

std::span<const std::string_view> ptx_targets() { return kTargets; }

std::string text(const PtxFacts::Widths& widths) {
  std::string out;
  for (auto it = widths.rbegin(); it != widths.rend(); ++it) out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", it->second, it->first);
  return out.empty() ? "none" : out + " bytes";
}

}  // namespace tilewright::backend
