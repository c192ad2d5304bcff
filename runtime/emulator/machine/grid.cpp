// Distributes the clusters of a launch to threads of the host. Each thread runs one cluster to its end, but clusters that wait for others
// take turns with them.
#include "runtime/emulator/machine/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/emulator/machine/clusters.h"
#include "runtime/emulator/machine/scheduler.h"
#include "runtime/emulator/machine/wait_report.h"
#include "runtime/emulator/simd/random.h"
#include "runtime/emulator/state/per_kernel_cache.h"

namespace tilewright::rt::emulator {
namespace {

/// A permutation of the numbers from 0 to count - 1, chosen by a seed.
class Permutation {
 public:
  Permutation(u64 count, u64 seed) : count_(count), bits_(std::max(2, static_cast<int>(std::bit_width(count - 1)))) {
    for (u64& key : keys_) key = next_random(seed);
  }
  u64 operator[](u64 k) const {
    // This permutes a power of two of numbers; a number that is too large is mapped again, until the result is below the count.
    do
      for (const u64 key : keys_) {
        k = (k * (key | 1) + (key >> 32)) & mask();
        k ^= k >> (bits_ / 2);
      }
    while (k >= count_);
    return k;
  }

 private:
  u64 mask() const { return (u64{1} << bits_) - 1; }
  u64 count_;
  int bits_;
  std::array<u64, 3> keys_{};
};

/// A thread of the host, and the clusters that it has started.
struct HostThread {
  // States: it is running clusters; it has no clusters.
  static constexpr u64 kBusy = ~u64{0}, kEmpty = ~u64{0} - 1;

  Worker worker;
  std::deque<std::shared_ptr<Cluster>> resident;
  std::vector<std::shared_ptr<Cluster>> unused;  // memory for later clusters
  // The number of changes at which all of its clusters were stuck; or one of the two states above.
  std::atomic<u64> idle_at{kEmpty};
  // The value of its worker's `spent` when a cluster last started or finished.
  u64 spent_at_progress = 0;
};

class Grid {
 public:
  Grid(LaunchState& launch, const LaunchParams& params)
      : launch_(launch), clusters_(product(launch.clusters)), order_(clusters_, params.order_seed) {
    u64 wanted = params.workers > 0 ? static_cast<u64>(params.workers) : cores();
    // A single thread, so that the same seed gives the same order again.
    if (params.order == Order::random && params.workers == 0) wanted = 1;
    const u64 count = std::min(wanted, clusters_);
    for (u64 k = 0; k < count; ++k) {
      Worker& worker = threads_.emplace_back().worker;
      worker.launch = &launch_;
      worker.random = params.seed * 2 + 1;
      worker.order = params.order_seed + k;
      worker.counts.resize(launch_.kernel->code.size());
      worker.runs.resize(launch_.kernel->code.size() + 1);
      worker.kernel_cache = launch_.kernel->kernel_caches.take();
      if (worker.kernel_cache == nullptr) worker.kernel_cache = std::make_shared<PerKernelCache>();
    }
  }

  void run(std::vector<Count>& counts) {
    std::vector<std::thread> started;
    threads_[0].idle_at = HostThread::kBusy;
    bool has_started = false;
    run_thread(threads_[0], [&] {
      // A short launch is not worth starting threads.
      if (has_started || threads_[0].worker.executed() < kWorthThreads) return;
      has_started = true;
      for (auto thread = std::next(threads_.begin()); thread != threads_.end(); ++thread) try {
          thread->idle_at = HostThread::kBusy;
          started.emplace_back([this, thread] { run_thread(*thread, [] {}); });
        } catch (const std::system_error&) {
          // The process cannot start another thread, so this one does the work.
          thread->idle_at = HostThread::kEmpty;
          break;
        }
    });
    for (std::thread& thread : started) thread.join();
    report_ending();
    for (HostThread& thread : threads_) {
      Runs running;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        running += thread.worker.runs[i];
        counts[i].add(thread.worker.counts[i]);
        counts[i].executed += running.executed;
        counts[i].lanes += running.lanes;
      }
      launch_.kernel->kernel_caches.give(std::move(thread.worker.kernel_cache));
    }
  }

 private:
  static constexpr u64 kWorthThreads = 20'000;
  // A cluster that has run for this many instructions may be waiting for one that has not started.
  static constexpr u64 kShare = 4'000'000;
  // In random order, at most this many clusters run before one of them must finish, unless they spend so much that they may be waiting for
  // another one; the length of turns varies up to this power of two.
  static constexpr u64 kMostMixed = 16, kMixedPatience = 1'000'000;
  static constexpr int kMixedShareBits = 16;

  /// The host's number of cores. Queried once, since the query takes as long as a small launch.
  static u64 cores() {
    static const unsigned count = std::max(1u, std::thread::hardware_concurrency());
    return count;
  }

  bool is_random() const { return launch_.order == Order::random; }

  u64 number_of(u64 k) const {
    if (launch_.order == Order::forward) return k;
    if (launch_.order == Order::backward) return clusters_ - 1 - k;
    return order_[k];
  }

  u64 changes() const { return launch_.changes.load(std::memory_order_acquire); }

  static bool are_all_stuck(const HostThread& thread, u64 changes) {
    return std::all_of(thread.resident.begin(), thread.resident.end(),
                       [&](const auto& cluster) { return cluster->watch.was_stuck_at(changes); });
  }

  /// Whether the thread should start another cluster now, if there is one.
  bool wants_cluster(HostThread& thread) {
    const std::size_t count = thread.resident.size();
    if (count == 0) return true;
    if (count >= kMostResident) return false;
    if (!is_random()) return waits_;
    const bool may_wait = thread.worker.spent - thread.spent_at_progress > kMixedPatience;
    return (count < kMostMixed && next_random(thread.worker.order) % 2 == 0) || may_wait || are_all_stuck(thread, changes());
  }

  /// Returns false if all clusters have started.
  bool begin_cluster(HostThread& thread) {
    const u64 next = next_.fetch_add(1);
    if (next >= clusters_) return false;
    std::shared_ptr<Cluster> cluster;
    if (thread.unused.empty()) {
      cluster = make_cluster(launch_);
    } else {
      cluster = std::move(thread.unused.back());
      thread.unused.pop_back();
    }
    start_cluster(launch_, *cluster, thread.worker, number_of(next));
    thread.resident.push_front(std::move(cluster));
    thread.spent_at_progress = thread.worker.spent;
    return true;
  }

  /// All clusters of the thread are stuck: waits until another thread changes something. Returns false if no thread will.
  bool wait_for_change(HostThread& thread, u64 before) {
    thread.idle_at.store(before, std::memory_order_release);
    while (!stopped_) {
      const auto is_idle = [&](const HostThread& other) {
        const u64 at = other.idle_at.load(std::memory_order_acquire);
        return at == before || at == HostThread::kEmpty;
      };
      const bool all_idle = std::all_of(threads_.begin(), threads_.end(), is_idle);
      if (changes() != before) {
        thread.idle_at = HostThread::kBusy;
        return true;
      }
      // Each thread publishes its changes before it becomes idle.
      if (all_idle) launch_.end(Ending::deadlock);
      if (launch_.interrupted != nullptr && *launch_.interrupted) launch_.end(Ending::interrupted);
      if (launch_.ending != Ending::none) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return false;
  }

  /// Moves the cluster that will run next to the front. Returns false if the launch must end.
  bool choose_cluster(HostThread& thread) {
    auto& resident = thread.resident;
    while (true) {
      const u64 now = changes();
      const auto can_run = [&](const auto& cluster) { return !cluster->watch.was_stuck_at(now); };
      if (is_random() && resident.size() > 1) std::swap(resident.front(), resident[next_random(thread.worker.order) % resident.size()]);
      const auto found = std::find_if(resident.begin(), resident.end(), can_run);
      if (found != resident.end()) {
        std::rotate(resident.begin(), found, resident.end());
        return true;
      }
      // A cluster that has not started yet may change something.
      waits_ = true;
      if (resident.size() < kMostResident && begin_cluster(thread)) return true;
      if (!wait_for_change(thread, now)) return false;
    }
  }

  template <class F>
  void run_thread(HostThread& thread, F after_cluster) {
    while (!stopped_) {
      if (wants_cluster(thread) && !begin_cluster(thread) && thread.resident.empty()) {
        if (!thread.unused.empty()) launch_.kernel->cluster_pool.give(std::move(thread.unused.back()));
        thread.idle_at = HostThread::kEmpty;
        return;
      }
      if (!choose_cluster(thread)) {
        stopped_ = true;
        return;
      }
      const u64 share = is_random() ? u64{1} << next_random(thread.worker.order) % (kMixedShareBits + 1) : kShare;
      const Progress progress = run_cluster(*thread.resident.front(), thread.worker, share);
      if (progress == Progress::stopped) {
        stopped_ = true;
        return;
      }
      std::shared_ptr<Cluster> cluster = std::move(thread.resident.front());
      thread.resident.pop_front();
      if (progress == Progress::finished) {
        thread.unused.push_back(std::move(cluster));
        thread.spent_at_progress = thread.worker.spent;
      } else {
        waits_ = true;
        thread.resident.push_back(std::move(cluster));
      }
      after_cluster();
    }
  }

  void report_ending() {
    const Ending ending = launch_.ending;
    if (ending == Ending::none) return;
    std::vector<std::shared_ptr<Cluster>> left;
    for (const HostThread& thread : threads_) left.insert(left.end(), thread.resident.begin(), thread.resident.end());
    std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a->blocks[0]->number < b->blocks[0]->number; });
    const u64 executed = launch_.executed;
    if (ending == Ending::deadlock)
      report_waits(left, DiagnosticKind::deadlock, "no warp can do anything new");
    else if (ending == Ending::limit)
      report_waits(left, DiagnosticKind::unfinished,
                   fmt::format("no end after {} instructions and polls, the limit being {}", executed, launch_.instruction_limit));
    else
      report_waits(left, DiagnosticKind::unfinished, fmt::format("interrupted after {} instructions and polls", executed));
  }

  LaunchState& launch_;
  u64 clusters_;
  Permutation order_;
  std::atomic<u64> next_{0};
  std::atomic<bool> stopped_{false}, waits_{false};
  std::deque<HostThread> threads_;
};

}  // namespace

void run_grid(LaunchState& launch, const LaunchParams& params, std::vector<Count>& counts) { Grid(launch, params).run(counts); }

}  // namespace tilewright::rt::emulator
