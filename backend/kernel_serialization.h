// Writes a CompiledKernel as bytes and reads it back, for the disk cache.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "backend/compiled_kernel.h"

namespace tilewright::backend {

/// Encodes all of the kernel except its timings and texts, which only a compilation has.
std::vector<std::byte> serialize(const CompiledKernel&);

/// Returns none if the bytes are not those of a kernel of this build.
std::optional<CompiledKernel> deserialize(std::span<const std::byte>);

}  // namespace tilewright::backend
