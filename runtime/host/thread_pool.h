// Runs the programs of a grid on all cores: chunks are handed out in increasing order to whoever is free, the caller included.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace tilewright::rt {

/// The programs of one job that nobody has taken yet.
class Chunks {
 public:
  struct Range {
    std::int64_t begin, end;
  };
  Chunks(std::int64_t total, std::int64_t size) : total_(total), size_(size) {}
  /// The next chunk, or false if none is left. Chunks come in increasing order: whoever waits for a lower-numbered program waits for
  /// one that a running thread has already taken.
  bool next(Range&);
  bool empty() const { return next_.load(std::memory_order_relaxed) >= total_; }
  /// Nothing more is handed out.
  void stop() { next_.store(total_, std::memory_order_relaxed); }

 private:
  const std::int64_t total_, size_;
  std::atomic<std::int64_t> next_{0};
};

/// Jobs of many callers run at once; each caller works on its own job, so each makes progress whatever the others do. A child of fork()
/// starts workers of its own. Requires of fork(): no job runs.
class ThreadPool {
 public:
  /// Called once on each thread that takes part; takes chunks until there are none.
  using Work = std::function<void(Chunks&)>;

  /// `threads` counts the caller. Workers start with the first job that can use them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  /// Returns when all of [0, total) is done. The first exception out of `work` stops handing out chunks and is thrown here.
  void run(std::int64_t total, const Work& work);

 private:
  struct Job;
  /// The workers of one process, and what they share.
  struct Crew;
  Crew& crew();

  const int threads_;
  std::atomic<Crew*> crew_;
};

}  // namespace tilewright::rt
