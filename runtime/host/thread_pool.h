// Runs the programs of a grid, or other independent work, on all cores: each free thread, including the caller, repeatedly takes the next
// chunk of it.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace tilewright::rt {

/// The programs of one job that no thread has taken yet.
class Chunks {
 public:
  struct Range {
    std::int64_t begin, end;
  };
  Chunks(std::int64_t total, std::int64_t size) : total_(total), size_(size) {}
  /// The next chunk; returns false if none is left. Chunks come in increasing order: a program that waits for a lower-numbered program
  /// waits for one that a running thread has already taken.
  bool next(Range&);
  bool empty() const { return next_.load(std::memory_order_relaxed) >= total_; }
  /// Makes next() return false from now on.
  void stop() { next_.store(total_, std::memory_order_relaxed); }

 private:
  const std::int64_t total_, size_;
  std::atomic<std::int64_t> next_{0};
};

/// The programs of a chunk, if `threads` threads share `total` programs.
std::int64_t chunk_size(std::int64_t total, int threads);

/// Jobs of many callers run at the same time; each caller works on its own job, so each one makes progress in any case. A child of fork()
/// starts new workers. Requires: no job runs during fork().
class ThreadPool {
 public:
  /// Called once on each thread that works on the job; it takes chunks until none are left.
  using Work = std::function<void(Chunks&)>;

  /// `threads`: includes the caller. The first job that can use workers starts them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  /// Returns when [0, total) is finished. The first exception of `work` ends the job and is thrown here.
  void run(std::int64_t total, const Work& work);

 private:
  struct Job;
  /// The worker threads of one process, and the state they share.
  struct Workers;
  Workers& workers();

  const int threads_;
  std::atomic<Workers*> workers_;
};

}  // namespace tilewright::rt
