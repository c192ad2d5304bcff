// The disk cache of compiled kernels that this process uses, as specified by the environment.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "backend/compiled_kernel.h"
#include "runtime/disk_cache/disk_cache.h"

namespace tilewright::rt {

/// The cache, or null: it is off, the user has no home, or its folder cannot be used (which is logged once). The environment is read at
/// each call, and the cache is reopened if it has changed.
std::shared_ptr<DiskCache> code_cache();

/// The kernel that was stored under this key, a backend::compilation_key. It has no timings and texts.
std::optional<backend::CompiledKernel> load_kernel(DiskCache&, std::span<const std::byte> key);
void store_kernel(DiskCache&, std::span<const std::byte> key, const backend::CompiledKernel&);

}  // namespace tilewright::rt
