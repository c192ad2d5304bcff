# Headers that most sources of a kind include are parsed once for each set of compiler options, and not in each source. Sources still include what
# they use: builds without this option (the presets debug, asan, tsan and fuzz) find what is missing.
#   tw_precompile(TARGET SET): SET is library (standard library, fmt), llvm (LLVM's IR as well), tests (with doctest) or tests_of_users (with the
#   public headers). The first target of a set must have the options of the others, which use what it compiles.
set(tw_headers_of_library <algorithm> <array> <bit> <cmath> <cstddef> <cstdint> <cstring> <functional> <limits> <map> <memory> <optional> <set> <span>
  <string> <string_view> <tuple> <unordered_map> <utility> <vector> <fmt/format.h> <fmt/ranges.h>)
set(tw_headers_of_llvm ${tw_headers_of_library} <llvm/IR/IRBuilder.h> <llvm/IR/IntrinsicsNVPTX.h> <llvm/IR/IntrinsicsX86.h> <llvm/IR/Module.h>)
set(tw_headers_of_tests ${tw_headers_of_library} <numeric> <random> <doctest/doctest.h>)
set(tw_headers_of_tests_of_users ${tw_headers_of_tests} <thread> <tilewright/tilewright.h>)

function(tw_precompile target headers)
  if(NOT TILEWRIGHT_PRECOMPILED_HEADERS)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY tw_precompiled_${headers})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY tw_precompiled_${headers} ${target})
    target_precompile_headers(${target} PRIVATE ${tw_headers_of_${headers}})
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
endfunction()
