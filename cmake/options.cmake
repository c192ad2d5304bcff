# How everything is compiled and linked: options, warnings, sanitizers, ccache and the linker.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

set(TILEWRIGHT_SANITIZE "" CACHE STRING "Comma-separated sanitizers for everything built here: address,undefined or thread")
option(TILEWRIGHT_SHARED_LLVM "Link libLLVM.so instead of putting LLVM inside of libtilewright" OFF)
option(TILEWRIGHT_STATIC "Make libtilewright.a as well, with LLVM inside" ${PROJECT_IS_TOP_LEVEL})
option(TILEWRIGHT_CLI "Build the program tilewright" ON)
option(TILEWRIGHT_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TILEWRIGHT_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TILEWRIGHT_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)  # the build finds its library wherever it is moved: `./dev gpu pack`
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_compile_options(-Wall -Wextra -Werror=switch -Werror=return-type -ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
# Fast code is generated at run time; -O3 would only lengthen the build.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # GCC 12 sees overlaps where strings are added (GCC bug 105651)
endif()

# The public headers compare these two with what the user's compiler has (tilewright/detail/requirements.h).
check_cxx_source_compiles("#include <version>
#ifndef _LIBCPP_VERSION
#error
#endif
int main() {}" TILEWRIGHT_LIBCXX)
if(TILEWRIGHT_LIBCXX)
  add_compile_definitions(TILEWRIGHT_LIBCXX)
endif()
check_cxx_source_compiles("#ifndef _GLIBCXX_DEBUG
#error
#endif
int main() {}" TILEWRIGHT_GLIBCXX_DEBUG)
if(TILEWRIGHT_GLIBCXX_DEBUG)
  add_compile_definitions(TILEWRIGHT_GLIBCXX_DEBUG)
endif()

if(TILEWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# Off by default, so that builds show whether sources include what they use.
option(TILEWRIGHT_PRECOMPILED_HEADERS "Parse headers that most sources include once, and not in each source (GCC)" OFF)
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TILEWRIGHT_CCACHE ccache)
  mark_as_advanced(TILEWRIGHT_CCACHE)
  if(TILEWRIGHT_CCACHE)
    set(ccache ${TILEWRIGHT_CCACHE})
    if(TILEWRIGHT_PRECOMPILED_HEADERS)
      # Without the depend mode, ccache compares preprocessed texts, which hold no comments. A precompiled header holds the checksums of its files,
      # comments included, and GCC's "#pragma once" relies on them: after a change of a comment, ccache would return a precompiled header whose
      # files are read a second time.
      set(ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${TILEWRIGHT_CCACHE})
    endif()
    set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
  endif()
endif()

# lld or mold link LLVM in 0.3 s, bfd in 2 s: used if installed. GCC finds a linker only by its plain name, which Debian's versioned packages
# lack, so it gets a folder with a link of that name.
find_program(TILEWRIGHT_LINKER NAMES ld.lld-19 ld.lld ld.mold mold)
mark_as_advanced(TILEWRIGHT_LINKER)
if(TILEWRIGHT_LINKER)
  string(REGEX MATCH "lld|mold" linker_name "${TILEWRIGHT_LINKER}")
  set(linker_folder ${PROJECT_BINARY_DIR}/linker)
  file(MAKE_DIRECTORY ${linker_folder})
  file(CREATE_LINK ${TILEWRIGHT_LINKER} ${linker_folder}/ld.${linker_name} SYMBOLIC)
  set(linker_options -B${linker_folder} -fuse-ld=${linker_name})
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${linker_options})
  check_cxx_source_compiles("int main() {}" TILEWRIGHT_LINKER_WORKS)
  cmake_pop_check_state()
  if(TILEWRIGHT_LINKER_WORKS)
    add_link_options(${linker_options})
  endif()
endif()
