// The disk cache of compiled kernels that this process uses, as the environment says.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "backend/compiled_kernel.h"
#include "runtime/disk_cache/disk_cache.h"

namespace tilewright::rt {

/// Null if there is none: it is off, the user has no home, or its folder cannot be used, which is logged once. Read from the environment at
/// each call; opened again when that changes.
std::shared_ptr<DiskCache> code_cache();

/// The kernel that was stored for this key, a backend::compilation_key. It lacks timings and texts.
std::optional<backend::CompiledKernel> load_kernel(DiskCache&, std::span<const std::byte> key);
void store_kernel(DiskCache&, std::span<const std::byte> key, const backend::CompiledKernel&);

}  // namespace tilewright::rt
