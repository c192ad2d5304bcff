// Identifies this build of the compiler.
#pragma once
#include <cstddef>
#include <span>

namespace tilewright::backend {

/// The build ids (the linker's hash of its output, NT_GNU_BUILD_ID) of the program or library that contains this compiler and, if LLVM is a
/// shared library, of LLVM. They change with every change of the compiler, of its options, or of LLVM; for a program that contains the
/// static library, also with every change of the program. Empty if one of them was linked without --build-id.
std::span<const std::byte> build_identity();

}  // namespace tilewright::backend
