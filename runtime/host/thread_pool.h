// Runs the programs of a grid on all cores: each free thread, the caller included, takes the next chunk of programs.
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
  /// The next chunk, or false if none is left. Chunks come in increasing order: a program that waits for a lower-numbered one waits for a
  /// program that a running thread has already taken.
  bool next(Range&);
  bool empty() const { return next_.load(std::memory_order_relaxed) >= total_; }
  /// From now on next() returns false.
  void stop() { next_.store(total_, std::memory_order_relaxed); }

 private:
  const std::int64_t total_, size_;
  std::atomic<std::int64_t> next_{0};
};

/// Jobs of many callers run at once; each caller works on its own job, so each makes progress in any case. A child of fork() starts new
/// workers. Requires: no job runs during fork().
class ThreadPool {
 public:
  /// Called once on each thread that works on the job; takes chunks until none are left.
  using Work = std::function<void(Chunks&)>;

  /// `threads`: including the caller. Workers are started by the first job that can use them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  /// Returns when all of [0, total) is done. The first exception of `work` ends the job and is thrown here.
  void run(std::int64_t total, const Work& work);

 private:
  struct Job;
  /// The worker threads of one process, and their shared state.
  struct Workers;
  Workers& workers();

  const int threads_;
  std::atomic<Workers*> workers_;
};

}  // namespace tilewright::rt
