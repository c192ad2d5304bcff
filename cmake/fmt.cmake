# tw_fmt: fmt with its functions compiled once and not in each file that formats, which would take two thirds of the time of many a file.
# They are in libraries of this project and stay inside of them: a package of fmt may hold only a shared library. With a fmt that is laid out in
# another way, every file compiles them.
get_target_property(fmt_directories fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
try_compile(TILEWRIGHT_COMPILED_FMT ${PROJECT_BINARY_DIR}/fmt
  SOURCES ${PROJECT_SOURCE_DIR}/cmake/fmt_functions.cpp ${PROJECT_SOURCE_DIR}/cmake/fmt_use.cpp
  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${fmt_directories}" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
add_library(tw_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_functions.cpp)
if(TILEWRIGHT_COMPILED_FMT)
  target_include_directories(tw_fmt SYSTEM PUBLIC ${fmt_directories})
else()
  target_link_libraries(tw_fmt PUBLIC fmt::fmt-header-only)
endif()
