# Installs the merged public headers, the library, and its CMake and pkg-config descriptions.
include(CMakePackageConfigHelpers)
# What the archive needs beyond the C++ library; glibc 2.34 and later have all of it in libc.
# The disk cache knows a program that contains the library by its build id.
set(TILEWRIGHT_STATIC_NEEDS -pthread -ldl -lrt -lm -Wl,--build-id)

install(TARGETS tilewright EXPORT tilewrightTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(layer tileir runtime frontend)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
install(EXPORT tilewrightTargets NAMESPACE tilewright:: DESTINATION ${package_folder} FILE tilewrightTargets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilewrightConfig.cmake.in ${PROJECT_BINARY_DIR}/tilewrightConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 a minor version may change names, so it must match.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewrightConfig.cmake ${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake
  DESTINATION ${package_folder})

file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REPLACE ";" " " TILEWRIGHT_PC_NEEDS "${TILEWRIGHT_STATIC_NEEDS}")
set(TILEWRIGHT_PC_DEFINITIONS)
if(TILEWRIGHT_LIBCXX)
  set(TILEWRIGHT_PC_DEFINITIONS " -DTILEWRIGHT_LIBCXX")
elseif(TILEWRIGHT_GLIBCXX_DEBUG)
  set(TILEWRIGHT_PC_DEFINITIONS " -DTILEWRIGHT_GLIBCXX_DEBUG")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tilewright.pc.in ${PROJECT_BINARY_DIR}/tilewright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilewright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# The licences of this project, and of the libraries that the library and the program contain.
install(FILES LICENSE licenses/LLVM.txt licenses/fmt.txt licenses/zlib.txt licenses/zstd.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tilewright)
if(TILEWRIGHT_CLI)
  install(FILES licenses/CLI11.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tilewright)
endif()
include(cmake/static_archive.cmake)
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()
