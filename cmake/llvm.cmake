# LLVM 19.1: TILEWRIGHT_LLVM_BACKEND and TILEWRIGHT_LLVM_RUNTIME are what the two layers that know it link.
# 19.1 and not 19: LLVM's version file compares major and minor.
find_package(LLVM 19.1 REQUIRED CONFIG)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}, ${LLVM_DIR}")

if(TILEWRIGHT_SHARED_LLVM)
  set(TILEWRIGHT_LLVM_BACKEND LLVM)
  set(TILEWRIGHT_LLVM_RUNTIME LLVM)
else()
  # By target: Debian's llvm_map_components_to_libnames(x86) names libraries that do not exist.
  set(TILEWRIGHT_LLVM_BACKEND LLVMNVPTXCodeGen LLVMNVPTXDesc LLVMNVPTXInfo LLVMX86CodeGen LLVMX86AsmParser LLVMX86Desc LLVMX86Info LLVMPasses LLVMTarget LLVMCore LLVMSupport)
  set(TILEWRIGHT_LLVM_RUNTIME LLVMOrcJIT LLVMSupport)

  # LLVM's exported dependencies include Z3, which nothing linked here calls, and the shared zlib and zstd; with their archives,
  # libtilewright needs nothing beyond the C and C++ run-time libraries. C++ compilers link libm themselves.
  find_library(TILEWRIGHT_ZLIB NAMES libz.a z)
  find_library(TILEWRIGHT_ZSTD NAMES libzstd.a zstd)
  mark_as_advanced(TILEWRIGHT_ZLIB TILEWRIGHT_ZSTD)
  get_target_property(llvm_needs LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(FILTER llvm_needs EXCLUDE REGEX "^m$|z3|ZLIB|zstd|xml2|LibXml2|LibEdit|Terminfo")
  if(TILEWRIGHT_ZLIB)
    list(APPEND llvm_needs ${TILEWRIGHT_ZLIB})
  endif()
  if(TILEWRIGHT_ZSTD)
    list(APPEND llvm_needs ${TILEWRIGHT_ZSTD})
  endif()
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${llvm_needs}")
endif()
