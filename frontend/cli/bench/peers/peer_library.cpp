// Loads a library of a peer, or explains why it cannot be used.
#include "frontend/cli/bench/peers/peer_library.h"

#include <fmt/format.h>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

void load_functions(std::initializer_list<const char*> names, std::string_view absence,
                    std::initializer_list<rt::DynamicFunction> functions) {
  const rt::DynamicLibrary library(names);
  if (!library.is_open()) throw Unavailable(library.reason().empty() ? std::string(absence) : library.reason());
  const std::string_view name = *names.begin();
  if (const char* missing = library.find_all(functions))
    throw Unavailable(fmt::format("{} has no function {}", name.substr(0, name.find(".so")), missing));
}

}  // namespace tilewright::cli::bench
