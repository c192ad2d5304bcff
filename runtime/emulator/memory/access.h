// Locates the memory of requests: maps the addresses of a warp to bytes of the host, with state spaces, bounds, alignment and transactions.
#pragma once
#include <array>
#include <cstddef>

#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/races/release_acquire.h"
#include "runtime/emulator/races/request.h"
#include "runtime/emulator/simd/lanes.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

enum class Access : u8 { read, write, update };

/// The addresses of an instruction: the base register in a slot plus a constant.
Lanes<u64> addresses_of(const Warp&, bool is_short, s32 slot, u64 offset);
inline Lanes<u64> addresses_of(const Warp& warp, const Instruction& i, s32 slot, u64 offset) {
  return addresses_of(warp, i.short_address, slot, offset);
}

/// Locates `bytes` bytes at each address and calls f(request) for each space that any lane accesses. Lanes that are misaligned or out of
/// bounds are reported and left out. Counts the transactions of the request.
template <class F>
void locate(Warp&, const Instruction&, Mask, const Lanes<u64>& address, Space, int bytes, F f);

/// The request in one space other than generic.
Request locate_in(Warp&, const Instruction&, Mask, const Lanes<u64>& address, Space, int bytes);
/// The lanes whose generic address is in this space; `address` becomes an address in the space.
Mask split_generic(Mask, Lanes<u64>& address, Space);

template <class F>
void locate(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes, F f) {
  if (space != Space::generic) {
    const Request request = locate_in(warp, i, mask, address, space, bytes);
    if (request.mask != 0) f(request);
    return;
  }
  for (const Space part : {Space::global, Space::shared, Space::local, Space::param}) {
    Lanes<u64> own = address;
    const Mask lanes = split_generic(mask, own, part);
    if (lanes == 0) continue;
    const Request request = locate_in(warp, i, lanes, own, part, bytes);
    if (request.mask != 0) f(request);
  }
}

/// Records that the warp has read memory for whose change it may be waiting.
void poll(Warp&, const Instruction&, const Request&, int bytes);

/// For tracked global memory: marks written bytes, and reports reads of bytes that were never written.
void check_tracked(Warp&, const Instruction&, const Request&, int bytes, Access);
inline void check_written(Warp& warp, const Instruction& i, const Request& request, int bytes, Access access) {
  const bool is_tracked = request.space == Space::global && (request.one_range == nullptr || request.one_range->written != nullptr);
  if (is_tracked) check_tracked(warp, i, request, bytes, access);
}

}  // namespace tilewright::rt::emulator
