# Writes HEADER: the commit of SOURCES, with a mark if files of it are changed; empty if they are in no repository.
execute_process(COMMAND git -C ${SOURCES} describe --always --dirty=+changes --exclude=* OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "// The commit of the sources.\n#pragma once\n#include <string_view>\n\nnamespace tilewright::cli {\n\ninline constexpr std::string_view kCommit = \"${commit}\";\n\n}  // namespace tilewright::cli\n")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${HEADER} "${text}")
endif()
