// The entry point of every doctest program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <stdlib.h>

// Tests leave the user's disk cache alone, unless TILEWRIGHT_CACHE names one.
[[maybe_unused]] static const int no_disk_cache = setenv("TILEWRIGHT_CACHE", "off", 0);
