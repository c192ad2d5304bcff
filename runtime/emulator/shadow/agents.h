// Agents of a block: its warps and the asynchronous engines, each of which accesses memory in an order of its own.
#pragma once

namespace tilewright::rt::emulator {

inline constexpr int kMaxWarps = 32;
// The numbers of agents: first the warps; then for each warp the engine of its cp.async, and the reading and writing engine of its bulk
// copy groups; for each four warps their matrix engine; for each mbarrier the engine of copies that complete transactions on it.
inline constexpr int kBarrierAgents = 120;
inline constexpr int kAgents = 4 * kMaxWarps + kMaxWarps / 4 + kBarrierAgents;
inline constexpr int async_agent(int warp) { return kMaxWarps + warp; }
inline constexpr int bulk_read_agent(int warp) { return 2 * kMaxWarps + warp; }
inline constexpr int bulk_write_agent(int warp) { return 3 * kMaxWarps + warp; }
inline constexpr int matrix_agent(int warp) { return 4 * kMaxWarps + warp / 4; }
/// The agent of the mbarrier with this number. If a block has more than kBarrierAgents mbarriers, a race between two may be missed.
inline constexpr int barrier_agent(int number) { return 4 * kMaxWarps + kMaxWarps / 4 + number % kBarrierAgents; }
inline constexpr bool is_matrix_agent(int agent) { return agent >= matrix_agent(0) && agent < barrier_agent(0); }
/// Whether the agent accesses memory through the asynchronous proxy, as all agents except warps and cp.async do.
inline constexpr bool is_async_proxy(int agent) { return agent >= 2 * kMaxWarps; }

// The number of agents whose single lanes may publish an epoch: warps, and the engines of their cp.async.
inline constexpr int kAgentsWithLanes = 2 * kMaxWarps;

}  // namespace tilewright::rt::emulator
