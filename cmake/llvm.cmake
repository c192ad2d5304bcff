# LLVM 19.1: TILEWRIGHT_LLVM_BACKEND and TILEWRIGHT_LLVM_RUNTIME are the libraries that the two layers which use LLVM link.
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}, ${LLVM_DIR}")

if(TILEWRIGHT_SHARED_LLVM)
  set(TILEWRIGHT_LLVM_BACKEND LLVM)
  set(TILEWRIGHT_LLVM_RUNTIME LLVM)
else()
  # The components are those of a target, since Debian's llvm_map_components_to_libnames(x86) names libraries that do not exist.
  set(TILEWRIGHT_LLVM_BACKEND LLVMNVPTXCodeGen LLVMNVPTXDesc LLVMNVPTXInfo LLVMX86CodeGen LLVMX86AsmParser LLVMX86Desc LLVMX86Info LLVMPasses LLVMTarget LLVMCore LLVMSupport)
  set(TILEWRIGHT_LLVM_RUNTIME LLVMOrcJIT LLVMSupport)

  # LLVM's exported dependencies include Z3, which nothing linked here calls, and the shared zlib and zstd; with their archives,
  # libtilewright needs nothing beyond the C and C++ run-time libraries. C++ compilers link libm themselves.
  get_target_property(llvm_needs LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(FILTER llvm_needs EXCLUDE REGEX "^m$|z3|ZLIB|zstd|xml2|LibXml2|LibEdit|Terminfo")
  list(APPEND llvm_needs ${TILEWRIGHT_ZLIB} ${TILEWRIGHT_ZSTD})
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${llvm_needs}")
endif()

# An LLVM that was built otherwise than Debian's may lack some of these; the linker would say so at the end of the build.
foreach(library IN LISTS TILEWRIGHT_LLVM_BACKEND TILEWRIGHT_LLVM_RUNTIME)
  if(NOT TARGET ${library})
    message(FATAL_ERROR "the LLVM of ${LLVM_DIR} has no library ${library}: Tilewright needs LLVM's targets X86 and NVPTX and its "
      "static libraries, or with -DTILEWRIGHT_SHARED_LLVM=ON its shared one. Debian package llvm-19-dev has them all.")
  endif()
endforeach()
