// Reads the subcommands and options from the CLI11 objects.
#include "frontend/cli/commands/command_tree.h"

#include "passes/pass_table.h"

namespace tilewright::cli {

namespace {

CommandText read_command(const CLI::App& app) {
  CommandText c{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* o : app.get_options()) {
    OptionText text;
    text.positional = o->get_positional();
    if (text.positional) text.names = {o->get_name(true)};
    for (const std::string& s : o->get_snames()) text.names.push_back("-" + s);
    for (const std::string& l : o->get_lnames()) text.names.push_back("--" + l);
    if (o->get_items_expected_max() > 0 && !text.positional) text.value = o->get_type_name();
    text.description = o->get_description();
    text.required = o->get_required();
    text.repeatable = o->get_items_expected_max() > 1;
    c.options.push_back(std::move(text));
  }
  return c;
}

}  // namespace

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words;
  if (value.starts_with("PASS")) {
    words.push_back("default");
    for (const passes::PassInfo& p : passes::all_passes()) words.emplace_back(p.name);
  } else if (value.find('|') != value.npos) {
    for (std::size_t at = 0; at <= value.size();) {
      const auto end = std::min(value.find('|', at), value.size());
      words.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

CommandTree read_command_tree(const CLI::App& root) {
  CommandTree tree{read_command(root), {}};
  for (const CLI::App* c : root.get_subcommands([](const CLI::App*) { return true; })) tree.commands.push_back(read_command(*c));
  return tree;
}

}  // namespace tilewright::cli
