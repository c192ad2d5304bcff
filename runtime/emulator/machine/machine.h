// The state of a running launch: blocks, warps with their registers, and the fragments that a diverged warp consists of.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/async/remote_accesses.h"
#include "runtime/emulator/cost/counters.h"
#include "runtime/emulator/machine/emulator.h"
#include "runtime/emulator/machine/deadlock.h"
#include "runtime/emulator/machine/diagnostics.h"
#include "runtime/emulator/machine/kernel_cache.h"
#include "runtime/emulator/matrix/pending_products.h"
#include "runtime/emulator/matrix/warpgroup_operands.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/memory/undefined_values.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/races/clock.h"
#include "runtime/emulator/races/late_reads.h"
#include "runtime/emulator/races/shared_cells.h"
#include "runtime/emulator/simd/by_offset.h"

namespace tilewright::rt::emulator {

struct Block;
struct Cluster;
struct Warp;
struct Worker;

enum class Wait : u8 { none, barrier, mbarrier, cluster, matrix, registers, collective };

/// Lanes of a warp that execute together. A fragment that diverges becomes one that waits at the join for its children.
struct Fragment {
  u32 pc = 0;
  Mask mask = 0;
  u32 join = 0;  // where this fragment ends and its parent goes on
  s32 parent = -1;
  u32 children = 0;  // waits for so many
  Wait wait = Wait::none;
  u32 wait_id = 0;     // of a barrier; of an mbarrier, its offset; of registers, how many
  u64 wait_phase = 0;  // of an mbarrier
  u32 tried = ~0u;     // the instruction that last found an mbarrier's phase unfinished
};

/// Memory or an mbarrier that a warp looked at and found unchanged or not over.
struct Poll {
  u32 instruction = ~0u;  // ~0: none
  Space space = Space::global;
  u64 address = 0;  // in the space
  u32 bytes = 0;
};

/// What is released: who acquires with a scope of the whole GPU may take the one, and with a scope of the releasing block the other,
/// which includes it.
struct Knowledge {
  KnownBlocks for_all, for_block;
  AsyncBlocks async;  // of it, what accesses through other proxies may rely on

  void join(const Knowledge& other) {
    for_all.join(other.for_all);
    for_block.join(other.for_block);
    async.join(other.async);
  }
};

/// A cp.async of lanes that have not waited for it yet.
struct AsyncCopy {
  AsyncCopy() {}  // without zeros in the arrays: most are short-lived

  Mask lanes = 0, done = 0;  // done: those whose bytes are there already
  u32 sequence = 0;          // of the warp's engine, from 1: its epochs
  u8 width = 0;              // zeros follow what is copied, up to so many bytes
  bool is_full = false;      // no zeros follow
  std::array<std::byte*, kLanes> to;
  std::array<u64, kLanes> from;
  std::array<u8, kLanes> bytes;
  std::array<u32, kLanes> group;  // of the lane, from 1
};

/// A bulk copy of a lane's group that the lane has not waited for.
struct BulkGroupCopy {
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;         // of the lane, from 1
  u32 sequence = 0;      // of the warp's engine, from 1: its epochs
  bool is_read = false;  // the lane has waited for that
};

/// Asynchronous work that is not done yet, of bulk copies above all. When it is done is for the schedule to choose.
struct Transfer {
  Warp* warp = nullptr;
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;                // of the lane's bulk copies, from 1; 0: an mbarrier is told instead
  std::function<void()> read;   // takes what the source holds; null once done
  std::function<void()> write;  // writes it, and tells who waits
};

/// A call that a lane is in.
struct Activation {
  u32 call = 0;                  // the instruction
  u32 callee = 0;                // in Kernel::callees
  u64 frame = 0, top = 0;        // in the lane's local memory
  std::vector<std::byte> saved;  // registers of the same function, called before and not yet left
};

/// What wgmma do for a warp. Groups are counted from 1, in step with the other warps of the warpgroup.
struct MatrixWork {
  u32 committed = 0, done = 0;  // groups
  u64 issued = 0;               // wgmma
  u64 trace = 0;                // of what the group that is not committed yet consists of
  bool has_fenced = false;
  // Of each register that wgmma works on: the group and the instruction that use it, the shape if that accumulates in it, 1 + the other
  // instruction that touched it since the last fence, and the register that it is a copy of.
  std::vector<u32> busy, user, shape, touched, origin;
  bool any_touched = false;
  // The registers of wgmma that followed each other with nothing in between, for which the last one has still to be put in there.
  struct Taken {
    u32 like = 0;  // MatrixTouches::like; 0: none
    u32 shape = 0, user = 0;
  } taken;
  PendingProducts pending;
  u32 last_group = 0;  // that a wgmma is in

  /// Whether a wgmma may still work on registers.
  bool is_in_flight() const { return last_group > done; }

  /// As new, but for the memory that it has.
  void reset() {
    MatrixWork made;
    std::swap(made.pending, pending);
    made.pending.clear();
    for (auto each : {&MatrixWork::busy, &MatrixWork::user, &MatrixWork::shape, &MatrixWork::touched, &MatrixWork::origin}) {
      (made.*each).swap(this->*each);
      (made.*each).clear();
    }
    *this = std::move(made);
  }
};

struct Warp {
  std::byte* registers = nullptr;
  Block* block = nullptr;
  Worker* worker = nullptr;
  const Kernel* kernel = nullptr;
  int index = 0;
  Mask live = 0;                    // lanes that have not exited
  Mask carry = 0;                   // the flag of add.cc and its like
  std::vector<Fragment> fragments;  // a tree; dead ones are reused
  std::vector<s32> free_fragments;
  s32 current = 0;
  u64 polled = 0;              // what turns in a row that went into polling have cost
  Poll poll;                   // the last one of the present turn
  std::byte* local = nullptr;  // of lane 0; the others follow

  u32 epoch = 1;     // of its accesses; a new one begins when lanes tell others of them, or each other
  View view;         // its foreign part knows of this block too, and not the latest; of the warp itself, what its lanes know of each other
  AsyncViews async;  // a part of it
  // What a fence made visible through later strong writes, and what strong reads before a fence have seen.
  Knowledge released, to_acquire;

  std::vector<AsyncCopy> copies;
  std::array<u32, kLanes> committed{};  // groups of each lane, in all
  bool commits_together = true;         // all lanes have committed as many
  u32 copy_sequence = 0;
  std::vector<BulkGroupCopy> bulk_copies;
  std::array<u32, kLanes> bulk_committed{};
  u32 bulk_sequence = 0;

  Mask cluster_arrived = 0;  // lanes at the cluster's barrier, until its phase is over
  u64 cluster_phase = 0;     // that they arrived in
  Mask cluster_awaited = 0;  // lanes that have arrived and are still to wait

  UndefinedRegisters undefined;
  MatrixWork matrix;
  u32 most_registers = 0;  // a thread's, by setmaxnreg or from the entry on; 0: not known

  std::array<std::vector<Activation>, kLanes> activations;  // calls of each lane, the innermost last

  Fragment& fragment() { return fragments[static_cast<std::size_t>(current)]; }
  /// Lets a clock know what these lanes have done so far. Lanes that have exited have nobody else to tell of them.
  void tell(Clock& clock, Mask lanes) const { clock.raise(index, epoch, lanes | ~live); }
};

/// What was released through addresses, by address.
class Releases {
 public:
  /// Adds to what warps of `block`, and others, may take at `address`; a plain store replaces it.
  void release(u64 address, u32 block, const Knowledge&, bool replaces);
  /// What a warp of `block` may take there.
  Knowledge acquire(u64 address, u32 block) const;
  void clear();

 private:
  struct Released {
    KnownBlocks by_all;
    AsyncBlocks async;
    std::unordered_map<u32, KnownBlocks> by_block;
  };
  std::atomic<bool> any_{false};  // most kernels release nothing
  mutable std::mutex mutex_;
  std::unordered_map<u64, Released> released_;
};

struct Barrier {
  u32 expected = 0;  // threads; 0: all of the block
  u32 arrived = 0;   // threads, full warps counting 32
  std::array<Mask, kMaxWarps> lanes{};
  View view;
  AsyncViews async;
  Knowledge released;  // what fences before the barrier made visible, by whichever warp
  u32 count = 0;       // of bar.red: lanes whose predicate holds
  u32 voters = 0;

  /// As new. Of the views, little has been used mostly.
  void reset() {
    expected = arrived = count = voters = 0;
    lanes = {};
    view.clear();
    async.clear();
    released = {};
  }
};

/// What an mbarrier counts.
struct MbarrierCounts {
  bool is_live = false;
  int agent = 0;                                     // whose epochs are phases, counted from 1
  u32 expected = 0, pending = 0;                     // arrivals
  s32 transactions = 0;                              // bytes that are still to come; negative: that came before they were expected
  u64 phase = 0, first_phase = 0;                    // completed phases of all objects here, and of those before this one
  u32 made_at = 0, expected_at = 0;                  // instructions: init, and the last one that announced or began a transaction
  bool has_transactions = false, is_unseen = false;  // of this phase; of the last completed one, for which nobody has waited
  u64 awaited = 0;                                   // completed phases, as the last wait of a thread of the block has seen them
};

/// An mbarrier of a block (PTX ISA, "mbarrier"). Stays when the object is invalidated, for the next one at its address.
struct Mbarrier : MbarrierCounts {
  View view, done_view;  // what those who arrived know, in all and in completed phases
  AsyncViews async, done_async;
  Knowledge remote, done_remote;  // the same of those of other blocks
  // What the warps of its block did to the object, which the cells of its bytes need not know before somebody else accesses them.
  struct User {
    u64 last = 0;       // a read, as access_stamp.h has it; 0: none
    Mask in_order = 0;  // lanes for which there was nothing to find
  };
  std::array<User, kMaxWarps> users{};
  RemoteAccesses remote_operations;  // by other blocks, in the phases of all objects here

  /// As new. Views are large, and of most of them little has been used.
  void reset() {
    static_cast<MbarrierCounts&>(*this) = {};
    for (View* known : {&view, &done_view}) known->clear();
    for (AsyncViews* known : {&async, &done_async}) known->clear();
    remote = done_remote = {};
    users = {};
    remote_operations.clear();
  }
};

struct Block {
  Cluster* cluster = nullptr;
  u32 rank = 0;  // in it
  std::array<u32, 3> id{};
  u32 number = 0, ticket = 0;
  ColumnBuffers columns;
  std::vector<Warp> warps;
  std::unique_ptr<std::byte[]> registers, locals, shared;
  u64 shared_bytes = 0;
  u64 writes = 0;  // to shared memory that were checked
  SharedCells cells;
  UndefinedBytes undefined;
  std::vector<std::vector<u64>> many_reads;  // of cells that more agents read than fit
  std::vector<u32> free_many_reads;
  RemoteAccesses remote_accesses;  // to shared memory, but for operations on mbarriers
  Releases releases;               // through shared memory
  std::array<Barrier, 16> barriers;
  // By offset in shared memory. Apart from the offsets, which are looked for often.
  ByOffset<Mbarrier> mbarriers;
  std::vector<std::unique_ptr<Mbarrier>> spare_mbarriers;
  std::array<std::vector<u64>, kMaxWarps / 4> matrix_groups;  // of each warpgroup, the traces of all groups
  std::array<WarpgroupOperands, kMaxWarps / 4> matrix_operands;
  int running = 0;         // warps that have not finished
  u32 free_registers = 0;  // a thread's, of all warps that have given some back
};

/// The barrier of all threads of a cluster. Threads arrive, and wait for all others to have arrived, as two steps.
struct ClusterBarrier {
  u64 phase = 0;         // completed ones
  u32 arrived = 0;       // warps with lanes that have arrived
  View view, done_view;  // what those who arrived know of the cluster's blocks, in all and in completed phases: only the foreign parts
  AsyncViews async, done_async;

  void reset() {
    phase = arrived = 0;
    for (View* known : {&view, &done_view}) known->clear();
    for (AsyncViews* known : {&async, &done_async}) known->clear();
  }
};

/// Blocks that run together and access each other's shared memory; mostly a single one.
struct Cluster {
  std::array<u32, 3> id{};
  std::vector<std::unique_ptr<Block>> blocks;  // by rank
  std::vector<Transfer> transfers;             // in the order in which they were begun
  ClusterBarrier barrier;
  DeadlockWatch watch;
};

/// Why a launch ends before its blocks do.
enum class Ending : u8 { none, deadlock, limit, interrupted };

/// What all blocks of a launch share.
struct Launch {
  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  std::span<const std::byte> params;
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<u32, 3> cluster{1, 1, 1}, clusters{1, 1, 1};  // blocks of a cluster, clusters of the grid
  bool has_clusters = false;                               // the launch or the kernel asks for them
  u64 dynamic_shared_bytes = 0;
  bool check = true, stop_at_finding = false;
  u64 instruction_limit = 0;
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<u64> changes{0};   // instructions and events so far that changed what other warps see
  std::atomic<u64> executed{0};  // warp instructions and polls, as the limit counts them
  std::atomic<Ending> ending{Ending::none};
  /// The first reason counts.
  void end(Ending why) {
    Ending none = Ending::none;
    ending.compare_exchange_strong(none, why);
  }
  Order order = Order::forward;
  AsyncOrder async_order = AsyncOrder::lazy;
  Findings* findings = nullptr;
  std::atomic<bool> has_findings{false};
  u32 first_ticket = 0;
  u64 number = 0;     // %gridid
  u64 workspace = 0;  // of a cooperative launch: where its blocks count each other
  std::mutex printing;
  std::string* printed = nullptr;
  std::vector<Range> ranges;  // sorted
  std::deque<LateReads> late_reads;
  Releases releases;   // through global memory
  std::mutex atomics;  // of global memory that the host has no atomic instruction for
};

/// Of instructions that follow each other, by the same lanes.
struct Runs {
  u64 executed = 0, lanes = 0;

  Runs& operator+=(const Runs& other) { return executed += other.executed, lanes += other.lanes, *this; }
  Runs& operator-=(const Runs& other) { return executed -= other.executed, lanes -= other.lanes, *this; }
};

/// One thread that runs blocks.
struct Worker {
  // A warp that polls memory waits for others, who get their turn the sooner.
  static constexpr u64 kPollCost = 1000;
  // How many instructions a poll is to the limit of a launch while nothing changes: one of polls alone ends in seconds.
  static constexpr u64 kPollWeight = 100;
  /// The instruction looked at what the warp may wait for, and changed nothing.
  void poll(const Instruction& i) {
    spent += kPollCost;
    polling += kPollCost;
    changes -= i.is_visible;
  }
  u64 executed() const { return spent - polling; }

  Launch* launch = nullptr;
  std::vector<Count> counts;  // one an instruction
  std::vector<Runs> runs;     // that begin at an instruction, and less those that end ahead of it
  Learned learned;
  std::size_t last_range = 0;
  u64 spent = 0;         // warp instructions, and what polling costs on top
  u64 polling = 0;       // of it
  u64 changes = 0;       // since Launch::changes was told of them
  bool stopped = false;  // a finding that ends the launch
  u64 random = 1;        // of asynchronous work
  u64 order = 1;         // random too, of the order of warps and blocks
};

/// Reports a finding at an instruction; `text` is only called for the first of its kind there.
template <class Text>
void report(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, Text text);
void add_finding(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, std::string text);
bool is_first_finding(Warp& warp, const Instruction& instruction, FindingKind kind);

template <class Text>
void report(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, Text text) {
  if (is_first_finding(warp, instruction, kind)) add_finding(warp, instruction, kind, lane, text());
}

/// Reports something that the PTX ISA forbids and no GPU is known to do wrong: once a kernel and kind. The launch does not fail.
template <class Text>
void remark(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, Text text);
void add_remark(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, std::string text);
bool is_first_remark(Warp& warp, FindingKind kind);

template <class Text>
void remark(Warp& warp, const Instruction& instruction, FindingKind kind, int lane, Text text) {
  if (is_first_remark(warp, kind)) add_remark(warp, instruction, kind, lane, text());
}

/// "line 12 of kernel.cu" or "line 88 of the PTX": where another instruction of the same kernel stands.
std::string place_of(const Warp&, u32 instruction);

}  // namespace tilewright::rt::emulator
