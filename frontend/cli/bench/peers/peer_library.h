// Functions of a peer's library, which no build needs.
#pragma once
#include <initializer_list>
#include <string_view>

#include "runtime/dynamic_library.h"

namespace tilewright::cli::bench {

/// Sets functions of the first of these libraries that is there. Throws Unavailable: `absence` if none is, or what is wrong with the one that is.
void load_functions(std::initializer_list<const char*> names, std::string_view absence,
                    std::initializer_list<rt::DynamicFunction> functions);

}  // namespace tilewright::cli::bench
