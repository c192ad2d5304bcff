// Declares the subcommands.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "frontend/cli/files/errors.h"
#include "frontend/cli/files/files.h"

namespace tilewright::cli {

/// One run of the program: the files that it has read, and the subcommand of its command line.
struct Session {
  Files files;
  std::function<void()> run;
};

/// Adds a subcommand with an Options object; `execute` runs once the whole command line is parsed.
template <class Options>
CLI::App* add_command(CLI::App& root, Session& session, const char* name, const char* description, const char* examples,
                      const std::shared_ptr<Options>& options, void (*execute)(const Options&, Session&)) {
  CLI::App* command = root.add_subcommand(name, description);
  command->group("Commands");
  command->footer(examples);
  command->callback([=, &session] { session.run = [=, &session] { execute(*options, session); }; });
  return command;
}

// In the order of --help. Each function is in a file of its name; bench has its own folder.
void add_devices(CLI::App& root, Session&);
void add_compile(CLI::App& root, Session&);
void add_opt(CLI::App& root, Session&);
void add_run(CLI::App& root, Session&);
void add_graph(CLI::App& root, Session&);
void add_bench(CLI::App& root, Session&);
void add_reduce(CLI::App& root, Session&);
void add_ops(CLI::App& root, Session&);
void add_layout(CLI::App& root, Session&);
void add_rules(CLI::App& root, Session&);
void add_completion(CLI::App& root, Session&);
void add_man(CLI::App& root, Session&);

}  // namespace tilewright::cli
