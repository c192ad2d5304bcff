// The command line as data, for completion scripts and the man page. The data comes from the CLI11 objects that parse it.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tilewright::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; for a positional, its name: "FILE"
  std::string value;               // "cpu|cpu:x86-64", "NAME=VALUE"; empty for flags and positionals
  std::string description;
  bool positional = false, required = false, repeatable = false;

  bool takes_value() const { return !positional && !value.empty(); }
  /// The possible values, if they form a fixed list.
  std::vector<std::string> choices() const;
};

struct CommandText {
  std::string name, description, footer;
  std::vector<OptionText> options;
};

struct CommandTree {
  CommandText root;
  std::vector<CommandText> commands;
};

CommandTree read_command_tree(const CLI::App& root);

}  // namespace tilewright::cli
