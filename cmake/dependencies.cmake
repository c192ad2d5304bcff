# Finds every development package that the build needs, and names all missing ones in one message, before anything is compiled.
set(tw_missing)

# what: in words; package: the Debian package that has it; found: versions that do not fit, may be empty.
macro(tw_missing_package what package found)
  list(APPEND tw_missing ${package})
  string(APPEND tw_missing_text "\n  ${what}: Debian package ${package}")
  if(NOT "${found}" STREQUAL "")
    string(APPEND tw_missing_text " (found: ${found})")
  endif()
endmacro()

macro(tw_need what package name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    set(tw_found ${${name}_CONSIDERED_VERSIONS})
    list(REMOVE_DUPLICATES tw_found)
    list(JOIN tw_found ", " tw_found)
    tw_missing_package("${what}" ${package} "${tw_found}")
  endif()
endmacro()

# The static libraries of LLVM call zlib and zstd. Archives if there are any, so that libtilewright needs neither library at run time.
if(NOT TILEWRIGHT_SHARED_LLVM)
  find_library(TILEWRIGHT_ZLIB NAMES libz.a z)
  find_library(TILEWRIGHT_ZSTD NAMES libzstd.a zstd)
  mark_as_advanced(TILEWRIGHT_ZLIB TILEWRIGHT_ZSTD)
  if(NOT TILEWRIGHT_ZLIB)
    tw_missing_package(zlib zlib1g-dev "")
  endif()
  if(NOT TILEWRIGHT_ZSTD)
    tw_missing_package(zstd libzstd-dev "")
  endif()
endif()

# 19.1 and not 19: LLVM's version file compares major and minor.
tw_need("LLVM 19.1" llvm-19-dev LLVM 19.1 CONFIG)
tw_need("fmt 9" libfmt-dev fmt)
if(TILEWRIGHT_CLI OR TILEWRIGHT_TESTS OR TILEWRIGHT_BENCH)
  tw_need("CLI11 2" libcli11-dev CLI11)
endif()
if(TILEWRIGHT_TESTS)
  tw_need("doctest 2.4" doctest-dev doctest)
  tw_need("Python 3, for the tests" python3 Python3 COMPONENTS Interpreter)
endif()
find_package(Threads REQUIRED)

if(tw_missing)
  list(REMOVE_DUPLICATES tw_missing)
  list(JOIN tw_missing " " tw_missing)
  message(FATAL_ERROR "Tilewright cannot be built, development packages are missing:${tw_missing_text}\n"
    "On Debian 12: apt-get install ${tw_missing}\n"
    "Packages in other folders are found with -DCMAKE_PREFIX_PATH=FOLDER.")
endif()
