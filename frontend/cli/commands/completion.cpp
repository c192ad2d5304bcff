// tilewright completion: shell completion scripts, generated from the same data as --help.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/commands/command_tree.h"
#include "tileir/op_info.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

struct Options {
  std::string shell;
  const CLI::App* root = nullptr;
};

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> command_names(const CommandTree& tree) {
  std::vector<std::string> names;
  for (const CommandText& c : tree.commands) names.push_back(c.name);
  return names;
}

std::vector<std::string> option_names(const CommandText& c) {
  std::vector<std::string> names;
  for (const OptionText& o : c.options)
    if (!o.positional) names.insert(names.end(), o.names.begin(), o.names.end());
  return names;
}

/// The fixed choices of a positional.
std::vector<std::string> positional_choices(const CommandText& c) {
  std::vector<std::string> words;
  if (c.name == "ops")
    for (const ir::OpKind k : ir::all_ops()) words.emplace_back(ir::text(k));
  if (c.name == "bench")
    for (const bench::KernelRow& row : bench::kernel_rows()) words.push_back(row.name);
  if (c.name == "completion") words.assign(kShells.begin(), kShells.end());
  return words;
}

/// Whether a positional may be a file.
bool takes_file(const CommandText& c) {
  const bool has_positional = std::any_of(c.options.begin(), c.options.end(), [](const OptionText& o) { return o.positional; });
  return has_positional && (c.name == "bench" || positional_choices(c).empty());
}

std::string bash(const CommandTree& tree) {
  std::string out = fmt::format(
      "# bash completion of tilewright\n"
      "_tilewright() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= word words=\n"
      "  # bash takes --option=value for three words\n"
      "  [ \"$current\" = = ] && current=\n"
      "  [ \"$before\" = = ] && before=${{COMP_WORDS[COMP_CWORD-2]}}\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case $word in {}) command=$word; break ;; esac\n"
      "  done\n"
      "  case $command:$before in\n",
      fmt::join(command_names(tree), "|"));
  for (const CommandText& c : tree.commands)
    for (const OptionText& o : c.options) {
      if (!o.takes_value()) continue;
      const auto words = o.choices();
      for (const std::string& name : o.names)
        out += words.empty()
                   ? fmt::format("    {}:{}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", c.name, name)
                   : fmt::format("    {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n", c.name, name, joined(words));
    }
  out += "  esac\n  case $command in\n";
  for (const CommandText& c : tree.commands) {
    std::vector<std::string> words = option_names(c), positional = positional_choices(c);
    words.insert(words.end(), positional.begin(), positional.end());
    out += fmt::format("    {}) words='{}' ;;\n", c.name, joined(words));
  }
  std::vector<std::string> first = command_names(tree), options = option_names(tree.root);
  first.insert(first.end(), options.begin(), options.end());
  out += fmt::format("    *) words='{}' ;;\n  esac\n", joined(first));
  out +=
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  # where files are wanted, but not among the options\n"
      "  case $command:$current in *:-*) ;; ";
  std::vector<std::string> with_files;
  for (const CommandText& c : tree.commands)
    if (takes_file(c)) with_files.push_back(c.name + ":*");
  return out + fmt::format("{}) COMPREPLY+=($(compgen -f -- \"$current\")) ;; esac\n}}\ncomplete -o filenames -F _tilewright tilewright\n",
                           fmt::join(with_files, "|"));
}

/// Escapes a description for zsh's specifications.
std::string zsh_text(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + zsh_text(w);
  return words.empty() ? "_files" : "(" + out + ")";
}

std::string zsh(const CommandTree& tree) {
  std::string out = "#compdef tilewright\n_tilewright() {\n  local -a commands\n  commands=(\n";
  for (const CommandText& c : tree.commands) out += fmt::format("    '{}:{}'\n", c.name, zsh_text(c.description));
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n"
      "  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandText& c : tree.commands) {
    out += fmt::format("    {})\n      _arguments", c.name);
    for (const OptionText& o : c.options) {
      out += " \\\n        ";
      if (o.positional) {
        const std::vector<std::string> words = positional_choices(c);
        const std::string action = !words.empty() && takes_file(c) ? fmt::format("{{_alternative \"words:{}:{}\" \"files:file:_files\"}}",
                                                                                 zsh_text(o.names[0]), zsh_words(words))
                                                                   : zsh_words(words);
        out += fmt::format("'{}:{}'", zsh_text(":" + o.names[0]).substr(1), action);
        continue;
      }
      for (std::size_t i = 0; i < o.names.size(); ++i) {
        const std::string value = o.takes_value() ? fmt::format(":{}:{}", zsh_text(o.value), zsh_words(o.choices())) : "";
        out += fmt::format("{}'{}{}[{}]{}'", i == 0 ? "" : " ", o.repeatable ? "*" : "", o.names[i], zsh_text(o.description), value);
      }
    }
    out += " ;;\n";
  }
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = _tilewright ]; then _tilewright \"$@\"; else compdef _tilewright tilewright; fi\n";
}

std::string fish_text(std::string_view s) {
  std::string out = "'";
  for (const char c : s) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish(const CommandTree& tree) {
  std::string out = "# fish completion of tilewright\n";
  for (const CommandText& c : tree.commands) {
    out += fmt::format("complete -c tilewright -n __fish_use_subcommand -f -a {} -d {}\n", c.name, fish_text(c.description));
    const std::string here = fmt::format("complete -c tilewright -n '__fish_seen_subcommand_from {}'", c.name);
    for (const OptionText& o : c.options) {
      if (o.positional) continue;
      out += here;
      for (const std::string& n : o.names) out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      if (o.takes_value()) out += " -r";
      if (const auto words = o.choices(); !words.empty()) out += fmt::format(" -f -a {}", fish_text(joined(words)));
      out += fmt::format(" -d {}\n", fish_text(o.description));
    }
    if (const auto words = positional_choices(c); !words.empty())
      out += fmt::format("{}{} -a {}\n", here, takes_file(c) ? "" : " -f", fish_text(joined(words)));
  }
  return out;
}

void execute(const Options& options, Session& session) {
  const CommandTree tree = read_command_tree(*options.root);
  if (options.shell == "bash") return session.files.write("-", bash(tree));
  if (options.shell == "zsh") return session.files.write("-", zsh(tree));
  if (options.shell == "fish") return session.files.write("-", fish(tree));
  throw UsageError(fmt::format("'{}' is none of bash, zsh, fish{}", options.shell, ir::suggestion(options.shell, kShells)));
}

}  // namespace

void add_completion(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  o->root = &root;
  CLI::App* c = add_command(root, session, "completion", "Print a script that completes this command line in a shell",
                            "Examples: for this bash, and for every fish\n"
                            "  source <(tilewright completion bash)\n"
                            "  tilewright completion fish > ~/.config/fish/completions/tilewright.fish",
                            o, execute);
  c->add_option("SHELL", o->shell, "bash, zsh or fish")->required()->type_name("");
}

}  // namespace tilewright::cli
