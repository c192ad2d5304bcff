// Loads functions of a peer's library at run time; the build does not need it.
#pragma once
#include <initializer_list>
#include <string_view>

#include "runtime/dynamic_library.h"

namespace tilewright::cli::bench {

/// The names of OpenBLAS's library.
inline constexpr std::initializer_list<const char*> kOpenBlasNames = {"libopenblas.so.0", "libopenblas.so"};

/// Sets functions from the first of these libraries that exists. Throws Unavailable with `absence` if none exists, or with what is wrong
/// with it.
void load_functions(std::initializer_list<const char*> names, std::string_view absence,
                    std::initializer_list<rt::DynamicFunction> functions);

}  // namespace tilewright::cli::bench
