// Describes how the host device calls a compiled kernel, for the code that emits such functions and the runtime that calls them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tilewright::backend {

/// Checked mode calls this before each access. addresses[i] is that of lane i; active[i] is 1 if the lane is active, and is set to 0 if its
/// address is invalid. `site` is an index of CompiledKernel::sites.
using HostCheck = void (*)(void* context, const std::uint64_t* addresses, std::uint8_t* active, std::int32_t lanes, std::int32_t site);

/// A program calls this to print, or when an assertion fails in some lane; the receiver finds that lane. program: its three ids.
/// operands[i]: the elements of operand i, row-major, a bool as a byte. `site`: an index of CompiledKernel::reports.
using HostReport = void (*)(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site);

/// The data that all programs of a launch share. The emitted code reads these fields by offset.
struct HostLaunch {
  std::int32_t grid[3];
  std::int32_t
      cache_kib;    // that its threads can expect of the caches; a launch with more memory uses non-temporal stores. 0: unknown, none does
  HostCheck check;  // null unless compiled for checked mode
  void* check_context;
  HostReport report = nullptr;  // null if the kernel has no reports
  void* report_context = nullptr;
};
static_assert(offsetof(HostLaunch, cache_kib) == 12 && offsetof(HostLaunch, check) == 16 && offsetof(HostLaunch, report) == 32 &&
              sizeof(HostLaunch) == 48);

/// Runs programs [begin, end) of the linear program id (axis 0 fastest). `arguments`: 8 bytes a parameter, its bits in the low end.
/// `scratch` has CompiledKernel::scratch_bytes, is 64-byte aligned and belongs to one thread alone.
using HostEntry = void (*)(const std::uint64_t* arguments, const HostLaunch*, std::int64_t begin, std::int64_t end, std::byte* scratch);

}  // namespace tilewright::backend
