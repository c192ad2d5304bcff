// tilewright ops: prints the op reference from the op table.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/cli/commands/command.h"
#include "frontend/cli/output/json_value.h"
#include "tileir/op_info.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

using namespace ir;

// The values of two columns of the table that OpInfo stores in another form.
constexpr std::string_view kFamilies[] = {
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, doc) #family,
#include "tileir/ops.def"
#undef TW_OP
};
constexpr std::string_view kRules[] = {
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, doc) #rule,
#include "tileir/ops.def"
#undef TW_OP
};
constexpr std::pair<Trait, std::string_view> kTraits[] = {
    {kElementwise, "elementwise"},
    {kPure, "pure"},
    {kCommutative, "commutative"},
    {kReads, "reads"},
    {kWrites, "writes"},
    {kTerminator, "terminator"},
    {kSideEffect, "side_effect"},
    {kExpensive, "expensive"},
    {kKeepsElements, "keeps_elements"},
};

struct Options {
  std::string name;
  bool json = false, markdown = false;
};

std::string_view family(OpKind k) { return kFamilies[static_cast<std::size_t>(k)]; }
std::string_view rule(OpKind k) { return kRules[static_cast<std::size_t>(k)]; }

/// Each family once, in the order of the table.
std::vector<std::string_view> families() {
  std::vector<std::string_view> all;
  for (const std::string_view f : kFamilies)
    if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
  return all;
}

std::string_view kind_text(AttrKind k) {
  switch (k) {
    case AttrKind::integer: return "integer";
    case AttrKind::integers: return "list of integers";
    case AttrKind::flag: return "flag";
    case AttrKind::bits: return "value";
    case AttrKind::symbol: return "word";
    case AttrKind::string: return "string";
  }
  return "";
}

std::string count_text(int n) { return n == kAny ? "any number" : fmt::format("{}", n); }

/// "%r = load %pointer [, %mask] [, %other] {...} : type"
std::string form(const OpInfo& op) {
  std::string s = op.results == 0 ? "" : op.results == 1 ? "%r = " : op.results == kAny ? "%r... = " : "%r, %s = ";
  s += op.name;
  bool first = true;
  for (const OperandInfo& o : op.operands) {
    const std::string word = fmt::format("{}%{}{}", first ? " " : ", ", o.name, o.variadic ? "..." : "");
    s += o.optional ? fmt::format(" [{}]", word.substr(first ? 1 : 0)) : word;
    first = false;
  }
  std::string attributes;
  for (const AttrInfo& a : op.attributes) {
    const std::string value = kind(a.name) == AttrKind::flag ? "" : kind(a.name) == AttrKind::integers ? " = [...]" : " = ...";
    const std::string word = fmt::format("{}{}", text(a.name), value);
    attributes += fmt::format("{}{}", attributes.empty() ? "" : ", ", a.required ? word : "[" + word + "]");
  }
  if (!attributes.empty()) s += fmt::format(" {{{}}}", attributes);
  if (op.results != 0) s += op.results == 1 ? " : type" : " : type, ...";
  for (int i = 0; i < op.regions; ++i) s += " (...) { ... }";
  return s;
}

std::vector<std::string_view> traits(const OpInfo& op) {
  std::vector<std::string_view> names;
  for (const auto& [trait, name] : kTraits)
    if (op.has(trait)) names.push_back(name);
  return names;
}

std::string attribute_values(AttrName a) {
  const auto words = symbols(a);
  return words.empty() ? std::string(kind_text(kind(a))) : fmt::format("{}", fmt::join(words, " | "));
}

std::string in_full(OpKind k) {
  const OpInfo& op = info(k);
  std::string s = fmt::format("{}  ({})\n\n  {}\n\n  {}\n\n", op.name, family(k), form(op), op.documentation);
  const auto line = [&](std::string_view what, std::string_view value) { s += fmt::format("  {:<11} {}\n", what, value); };
  std::string_view what = "operands";
  for (const OperandInfo& o : op.operands) {
    line(what, fmt::format("{}{}", o.name, o.variadic ? " (any number)" : o.optional ? " (may be left out)" : ""));
    what = "";
  }
  what = "attributes";
  for (const AttrInfo& a : op.attributes) {
    line(what, fmt::format("{}: {}{}", text(a.name), attribute_values(a.name), a.required ? "" : " (may be left out)"));
    what = "";
  }
  line("results", count_text(op.results));
  if (op.regions > 0) line("regions", fmt::format("{}", op.regions));
  line("traits", fmt::format("{}", fmt::join(traits(op), ", ")));
  line("type rule", rule(k));
  return s;
}

std::string as_json(OpKind k) {
  const OpInfo& op = info(k);
  std::vector<std::string> operands, attributes, trait_names;
  for (const OperandInfo& o : op.operands)
    operands.push_back(fmt::format(R"({{"name": {}, "optional": {}, "variadic": {}}})", json_string(o.name), o.optional, o.variadic));
  for (const AttrInfo& a : op.attributes) {
    std::vector<std::string> words;
    for (const std::string_view w : symbols(a.name)) words.push_back(json_string(w));
    attributes.push_back(fmt::format(R"({{"name": {}, "kind": {}, "required": {}, "values": [{}]}})", json_string(text(a.name)),
                                     json_string(kind_text(kind(a.name))), a.required, fmt::join(words, ", ")));
  }
  for (const std::string_view t : traits(op)) trait_names.push_back(json_string(t));
  return fmt::format(
      "{{\"name\": {}, \"family\": {}, \"form\": {}, \"operands\": [{}], \"attributes\": [{}], \"results\": {}, \"regions\": {}, "
      "\"traits\": [{}], \"rule\": {}, \"doc\": {}}}",
      json_string(op.name), json_string(family(k)), json_string(form(op)), fmt::join(operands, ", "), fmt::join(attributes, ", "),
      op.results == kAny ? "null" : fmt::format("{}", op.results), op.regions, fmt::join(trait_names, ", "), json_string(rule(k)),
      json_string(op.documentation));
}

/// Escapes words that Markdown would format.
std::string markdown(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (std::string_view("|*_`<[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string as_markdown(OpKind k) {
  const OpInfo& op = info(k);
  std::string s = fmt::format("### `{}`\n\n```\n{}\n```\n\n{}\n\n", op.name, form(op), markdown(op.documentation));
  for (const AttrInfo& a : op.attributes)
    if (!symbols(a.name).empty()) s += fmt::format("* `{}`: `{}`\n", text(a.name), fmt::join(symbols(a.name), "`, `"));
  std::vector<std::string_view> names = traits(op);
  if (!names.empty()) s += fmt::format("* {}\n", fmt::join(names, ", "));
  return s + "\n";
}

std::string list() {
  std::string out;
  for (const std::string_view f : families()) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", f);
    for (const OpKind k : all_ops())
      if (family(k) == f) out += fmt::format("  {:<16} {}\n", text(k), info(k).documentation);
  }
  return out;
}

std::string all_markdown() {
  std::string out;
  for (const std::string_view f : families()) {
    out += fmt::format("## {}\n\n", f);
    for (const OpKind k : all_ops())
      if (family(k) == f) out += as_markdown(k);
  }
  return out;
}

std::string all_json() {
  std::string out = "[";
  for (const OpKind k : all_ops()) out += fmt::format("{}\n  {}", out == "[" ? "" : ",", as_json(k));
  return out + "\n]\n";
}

void execute(const Options& options, Session& session) {
  if (options.json && options.markdown) throw UsageError("--json and --markdown are two forms of one output; give one of them");
  if (options.name.empty()) return session.files.write("-", options.json ? all_json() : options.markdown ? all_markdown() : list());
  const auto kind = parse_op(options.name);
  if (!kind) {
    const auto spell = [](OpKind k) { return text(k); };
    throw UsageError(
        fmt::format("there is no op '{}'{}; 'tilewright ops' lists them", options.name, suggestion(options.name, all_ops(), spell)));
  }
  session.files.write("-", options.json ? as_json(*kind) + "\n" : options.markdown ? as_markdown(*kind) : in_full(*kind));
}

}  // namespace

void add_ops(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "ops", "The op reference: every op of tile IR, or one in full",
                            "Example:\n  tilewright ops load", o, execute);
  c->add_option("NAME", o->name, "An op; default: all, by family")->type_name("");
  c->add_flag("--json", o->json, "For programs");
  c->add_flag("--markdown", o->markdown, "For documents");
}

}  // namespace tilewright::cli
