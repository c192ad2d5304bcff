// tilewright man: the manual page, generated from the same data as --help.
#include <fmt/format.h>

#include "frontend/cli/commands/command.h"
#include "frontend/cli/commands/command_tree.h"

namespace tilewright::cli {

namespace {

struct Options {
  const CLI::App* root = nullptr;
};

/// Escapes text that roff would read as a command.
std::string roff(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string option_text(const OptionText& o) {
  std::string head;
  for (const std::string& n : o.names) head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(n));
  if (o.takes_value()) head += fmt::format(" \\fI{}\\fR", roff(o.value));
  return fmt::format(".TP\n{}\n{}{}{}\n", head, roff(o.description), o.required ? " (required)" : "",
                     o.repeatable ? " (may be repeated)" : "");
}

std::string command_text(const CommandText& c) {
  std::string out = fmt::format(".SS tilewright {}\n{}.\n", roff(c.name), roff(c.description));
  for (const OptionText& o : c.options) out += option_text(o);
  if (!c.footer.empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(c.footer));
  return out;
}

std::string page(const CommandTree& tree) {
  std::string out = fmt::format(".TH TILEWRIGHT 1\n.SH NAME\ntilewright \\- {}\n.SH SYNOPSIS\n", roff(tree.root.description));
  for (const CommandText& c : tree.commands) {
    std::string line = fmt::format(".B tilewright {}\n", roff(c.name));
    for (const OptionText& o : c.options)
      if (o.positional) line += fmt::format("{}\\fI{}\\fR\n", o.required ? "" : "[", roff(o.names[0]) + (o.required ? "" : "]"));
    out += line + "[\\fIOPTION\\fR]...\n.br\n";
  }
  out += ".SH COMMANDS\n";
  for (const CommandText& c : tree.commands) out += command_text(c);
  out += ".SH OPTIONS\n";
  for (const OptionText& o : tree.root.options) out += option_text(o);
  return out + fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(tree.root.footer));
}

void execute(const Options& options, Session& session) { session.files.write("-", page(read_command_tree(*options.root))); }

}  // namespace

void add_man(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  o->root = &root;
  add_command(root, session, "man", "Print the manual page", "Example:\n  tilewright man | man -l -", o, execute);
}

}  // namespace tilewright::cli
