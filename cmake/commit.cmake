# Writes FILE: the commit of SOURCES, with a mark if files of it are changed; empty if they are in no repository.
execute_process(COMMAND git -C ${SOURCES} describe --always --dirty=+changes --exclude=* OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "// The commit of the sources.
#include \"frontend/cli/bench/report/output.h\"

namespace tilewright::cli::bench {

const std::string_view kCommit = \"${commit}\";

}  // namespace tilewright::cli::bench
")
set(old "")
if(EXISTS ${FILE})
  file(READ ${FILE} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${FILE} "${text}")
endif()
