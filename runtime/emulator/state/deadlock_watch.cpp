// Compares the states of warps by hashes.
#include "runtime/emulator/state/deadlock_watch.h"

#include <bit>
#include <cstring>

namespace tilewright::rt::emulator {
namespace {

class Hash {
 public:
  void add(u64 word) {
    bits_ = (bits_ ^ word) * 0x9e3779b97f4a7c15u;
    bits_ ^= bits_ >> 32;
  }
  void add(const std::byte* at, std::size_t bytes) {
    for (; bytes >= sizeof(u64); at += sizeof(u64), bytes -= sizeof(u64)) {
      u64 word;
      std::memcpy(&word, at, sizeof word);
      add(word);
    }
    u64 rest = 0;
    if (bytes > 0) std::memcpy(&rest, at, bytes);
    add(rest);
  }
  u64 bits() const { return bits_; }

 private:
  u64 bits_ = 0;
};

/// A hash of everything on which the warp's next instructions depend, except memory that other warps can see.
u64 state_of(const Warp& warp) {
  Hash hash;
  hash.add(warp.registers, warp.kernel->register_bytes);
  hash.add(warp.local, kLanes * warp.kernel->local_bytes);
  hash.add(warp.live | u64{warp.carry} << 32);
  hash.add(static_cast<u64>(warp.current) << 32 | warp.stack.size());
  hash.add(warp.polled);
  for (const SimtStackEntry& entry : warp.stack) {
    hash.add(entry.mask | u64{entry.pc} << 32);
    if (entry.mask == 0) continue;
    hash.add(entry.reconvergence | u64{entry.children} << 32);
    hash.add(static_cast<u32>(entry.parent) | static_cast<u64>(entry.wait) << 32);
    hash.add(entry.wait_id | u64{entry.tried} << 32);
    hash.add(entry.wait_phase);
  }
  for (const auto& calls : warp.activations)
    for (const Activation& call : calls) {
      hash.add(call.call | u64{call.callee} << 32);
      hash.add(call.frame);
      hash.add(call.saved.data(), call.saved.size());
    }
  return hash.bits();
}

}  // namespace

bool DeadlockWatch::is_stuck(std::span<const std::unique_ptr<Block>> blocks, u64 changes) {
  if (changes != changes_) {
    changes_ = changes;
    quiet_rounds_ = 0;
    return false;
  }
  if (++quiet_rounds_ < kQuietRounds) return false;
  if (quiet_rounds_ == kQuietRounds) warps_.clear();
  // Brent's algorithm: the state to compare with is replaced after twice as many rounds each time, so that it is eventually a state of the
  // loop, and is kept for longer than the loop takes.
  const bool replaces = std::has_single_bit(quiet_rounds_);
  bool all_repeat = true;
  std::size_t k = 0;
  for (const auto& block : blocks)
    for (const Warp& warp : block->warps) {
      if (k == warps_.size()) warps_.emplace_back();
      Seen& seen = warps_[k++];
      if (warp.live == 0 || seen.repeats) continue;
      const u64 state = state_of(warp);
      seen.repeats = quiet_rounds_ > kQuietRounds && state == seen.state;
      all_repeat &= seen.repeats;
      if (replaces) seen.state = state;
    }
  if (all_repeat) stuck_at_ = changes;
  return all_repeat;
}

}  // namespace tilewright::rt::emulator
