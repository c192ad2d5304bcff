// What tells this build of the compiler from every other one.
#pragma once
#include <cstddef>
#include <span>

namespace tilewright::backend {

/// The build ids (the linker's hash of what it wrote, NT_GNU_BUILD_ID) of the program or library that this compiler is in and, where LLVM
/// is a shared library, of that. Changes with any change of the compiler, of its options, or of LLVM; a program that contains the static
/// library has another one after each change of its own too. Empty if one of them was linked without --build-id.
std::span<const std::byte> build_identity();

}  // namespace tilewright::backend
