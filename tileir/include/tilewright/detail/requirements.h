// Stops with one message if the language version or the standard library does not fit the installed library.
#pragma once

#if __cplusplus < 202002L
#error "tilewright needs C++20: compile with -std=c++20 or later"
#endif

#include <version>

// std::string and std::vector are parameters of exported functions, so both sides need the same ones. TILEWRIGHT_LIBCXX comes with the
// CMake target and the pkg-config file of a library that was built with libc++.
#if defined(_LIBCPP_VERSION) && !defined(TILEWRIGHT_LIBCXX)
#error \
    "tilewright: the library was built with libstdc++ and this file is compiled with libc++: leave out -stdlib=libc++, or build tilewright with it"
#elif !defined(_LIBCPP_VERSION) && defined(TILEWRIGHT_LIBCXX)
#error \
    "tilewright: the library was built with libc++ and this file is compiled with libstdc++: add -stdlib=libc++, or build tilewright without it"
#endif

// With _GLIBCXX_DEBUG libstdc++'s std::vector has another layout: the program would link, and crash.
#if defined(_GLIBCXX_DEBUG) && !defined(_LIBCPP_VERSION) && !defined(TILEWRIGHT_GLIBCXX_DEBUG)
#error \
    "tilewright: the library was built without -D_GLIBCXX_DEBUG: leave it out (-D_GLIBCXX_ASSERTIONS is fine), or build tilewright with it"
#elif defined(TILEWRIGHT_GLIBCXX_DEBUG) && !defined(_GLIBCXX_DEBUG)
#error "tilewright: the library was built with -D_GLIBCXX_DEBUG: compile with it, or build tilewright without it"
#endif
