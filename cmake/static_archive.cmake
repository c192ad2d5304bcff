# libtilewright.a: all layers and what they need of LLVM, zlib and zstd as one relocatable object. It shows the names that libtilewright.so has
# for users and hides all others, so that a program can link another LLVM beside it. The target is tilewright::static, the file is made by the
# target tilewright_archive.
find_program(TILEWRIGHT_OBJCOPY NAMES llvm-objcopy-19 llvm-objcopy HINTS ${LLVM_TOOLS_BINARY_DIR})
mark_as_advanced(TILEWRIGHT_OBJCOPY)
# GNU objcopy leaves unique symbols global. Shared LLVM is not in the archive, and neither are the run-time libraries of sanitizers.
if(NOT TILEWRIGHT_STATIC OR NOT TILEWRIGHT_OBJCOPY OR TILEWRIGHT_SHARED_LLVM OR TILEWRIGHT_SANITIZE)
  return()
endif()
# An archive cannot hold a shared library.
if(NOT TILEWRIGHT_ZLIB MATCHES "\\.a$" OR NOT TILEWRIGHT_ZSTD MATCHES "\\.a$")
  message(STATUS "libtilewright.a is not made: it needs static libraries, found are ${TILEWRIGHT_ZLIB} and ${TILEWRIGHT_ZSTD}")
  return()
endif()

set(exports ${PROJECT_BINARY_DIR}/exported_names.txt)
set(roots ${PROJECT_BINARY_DIR}/exported_roots.txt)
add_custom_command(OUTPUT ${exports} ${roots} VERBATIM
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/exported_names.sh ${CMAKE_NM} $<TARGET_FILE:tilewright> ${exports} ${roots}
  DEPENDS tilewright ${PROJECT_SOURCE_DIR}/cmake/exported_names.sh)
add_custom_target(tilewright_exports DEPENDS ${exports} ${roots})

add_executable(tilewright_object)
foreach(layer fmt tileir passes fusion search backend emulator runtime frontend)
  target_sources(tilewright_object PRIVATE $<TARGET_OBJECTS:tw_${layer}>)
endforeach()
add_dependencies(tilewright_object tilewright_exports)
target_link_libraries(tilewright_object PRIVATE ${TILEWRIGHT_LLVM_RUNTIME} ${TILEWRIGHT_LLVM_BACKEND})
# GNU ld, whatever else is linked with: lld 19 drops the exception tables of what it keeps when it collects sections of relocatable output.
target_link_options(tilewright_object PRIVATE -r -nostdlib -fuse-ld=bfd -Wl,--force-group-allocation @${roots})
set_target_properties(tilewright_object PROPERTIES LINKER_LANGUAGE CXX SUFFIX .o LINK_DEPENDS ${roots}
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)

set(archive ${PROJECT_BINARY_DIR}/lib/libtilewright.a)
set(hidden ${PROJECT_BINARY_DIR}/archive/tilewright.o)
add_custom_command(OUTPUT ${archive} VERBATIM
  COMMAND ${TILEWRIGHT_OBJCOPY} --strip-debug --keep-global-symbols=${exports} $<TARGET_FILE:tilewright_object> ${hidden}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} rcs ${archive} ${hidden}
  DEPENDS tilewright_object ${exports})
add_custom_target(tilewright_archive ALL DEPENDS ${archive})

add_library(tilewright::static STATIC IMPORTED GLOBAL)
add_dependencies(tilewright::static tilewright_archive)
set_target_properties(tilewright::static PROPERTIES IMPORTED_LOCATION ${archive} IMPORTED_LINK_INTERFACE_LANGUAGES CXX)
target_compile_features(tilewright::static INTERFACE cxx_std_20)
target_include_directories(tilewright::static INTERFACE $<TARGET_PROPERTY:tilewright,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(tilewright::static INTERFACE ${TILEWRIGHT_STATIC_NEEDS})

install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-static.pc.in ${PROJECT_BINARY_DIR}/tilewright-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilewright-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
