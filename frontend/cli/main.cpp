// The program `tilewright`: parses its command line, runs the subcommand, and turns exceptions into messages and exit codes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <span>
#include <string_view>

#include "frontend/cli/commands/command.h"
#include "frontend/cli/execution/interruption.h"
#include "frontend/cli/output/diagnostics_text.h"
#include "tileir/text/suggestion.h"

namespace {

using namespace tilewright;
using namespace tilewright::cli;

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommandLine = 2 };

void fill(CLI::App& root, Session& session) {
  root.name("tilewright");
  root.description("a tile-language compiler: compiles, runs and examines kernels in textual tile IR, and graphs");
  root.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  root.require_subcommand(1);
  root.get_formatter()->column_width(30);
  root.get_formatter()->label("Positionals", "Arguments");
  root.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root.footer(
      "'tilewright COMMAND --help' explains a command. TILEWRIGHT_DUMP=DIR makes C++ programs leave their kernels and graphs as files.\n"
      "Exit codes: 0 done; 1 the program, a check or the device failed; 2 the command line is wrong.");
  for (auto* add : {add_devices, add_compile, add_opt, add_run, add_graph, add_bench, add_reduce, add_ops, add_layout, add_rules,
                    add_completion, add_man})
    add(root, session);
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() ? fmt::format("tilewright {}", command.get_name()) : "tilewright";
}

/// The message for words of the command line that no option or positional accepts.
std::string stray_word(const CLI::App& root, const CLI::App& command, const std::string& word) {
  const bool at_root = &command == &root;
  if (word.starts_with('-') && word.size() > 1) {
    std::vector<std::string> names;
    for (const CLI::Option* o : command.get_options())
      for (const std::string& l : o->get_lnames()) names.push_back("--" + l);
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("'{}' has no option '{}'{}", full_name(command), name, ir::suggestion(name, names));
  }
  if (!at_root) return fmt::format("'{}' does not expect '{}'", full_name(command), word);
  const auto commands = root.get_subcommands([](const CLI::App*) { return true; });
  const auto spell = [](const CLI::App* c) -> std::string_view { return c->get_name(); };
  return fmt::format("there is no command '{}'{}", word, ir::suggestion(word, commands, spell));
}

std::string usage_message(const CLI::App& root, const CLI::App& command, const CLI::ParseError& e) {
  for (const CLI::App* app : {&root, &command})
    if (const auto rest = app->remaining(); !rest.empty()) return stray_word(root, *app, rest[0]);
  const std::string text = e.what(), option = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e)) {
    const bool is_repeated = text.find("At Most") != text.npos;
    return is_repeated ? fmt::format("{} is given more than once", option)
                       : fmt::format("{} needs a value; one that starts with '-' is written {}=VALUE", option, option);
  }
  if (const auto equals = text.find(" = "); dynamic_cast<const CLI::ConversionError*>(&e) && equals != text.npos) {
    const auto name = text.rfind(' ', equals - 1) + 1;
    return fmt::format("{}: '{}' is not a number that it accepts", text.substr(name, equals - name), text.substr(equals + 3));
  }
  return text;
}

int report_usage(const std::string& message, const CLI::App& command) {
  fmt::print(stderr, "{}see '{} --help'\n", error_line(message, stderr_takes_colour()), full_name(command));
  return kWrongCommandLine;
}

int fail(const std::string& message) {
  fmt::print(stderr, "{}", error_line(message, stderr_takes_colour()));
  return kFailed;
}

int run(int argc, char** argv) {
  Session session;
  CLI::App root;
  fill(root, session);
  const auto chosen = [&]() -> const CLI::App& {
    const auto commands = root.get_subcommands();
    return commands.empty() ? root : *commands.front();
  };
  try {
    // CLI11 would take the next word as the value.
    for (const std::string_view word : std::span(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))))
      if (word.starts_with("--") && word.ends_with('=') && word.find('=') == word.size() - 1)
        throw UsageError(fmt::format("{} has an empty value", word.substr(0, word.size() - 1)));
    root.parse(argc, argv);
    session.run();
    return kDone;
  } catch (const CLI::CallForHelp&) {
    session.files.write("-", chosen().help(chosen().get_parent() ? "tilewright" : ""));
    return kDone;
  } catch (const CLI::CallForVersion& e) {
    session.files.write("-", fmt::format("{}\n", e.what()));
    return kDone;
  } catch (const CLI::ParseError& e) {
    if (&chosen() == &root && root.remaining().empty()) {
      fmt::print(stderr, "{}", root.help());
      return kWrongCommandLine;
    }
    return report_usage(usage_message(root, chosen(), e), chosen());
  } catch (const UsageError& e) {
    return report_usage(e.what(), chosen());
  } catch (const Error& e) {
    fmt::print(stderr, "{}", with_source_lines(e.what(), session.files, stderr_takes_colour()));
    return kFailed;
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    end_if_interrupted();
    return code;
  } catch (const std::exception& e) {  // --help may fail, if it cannot be written
    return fail(e.what());
  }
}
