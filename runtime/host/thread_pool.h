// Runs the programs of a grid on all cores: chunks are handed out in increasing order to whoever is free, the caller included.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

/// Jobs of many callers run at once; each caller works on its own job, so each makes progress whatever the others do.
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
  void start();
  void serve();
  Job* take();  // of the queue: a job with chunks left, or null; the caller of take has joined it
  void participate(Job&);
  void leave(Job&);
  void wake_one();

  const int threads_;
  std::once_flag started_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;  // guards the members below, and Job::helpers and Job::error
  std::condition_variable work_there_, helper_left_;
  std::vector<Job*> queue_;
  bool stopping_ = false;
  // Copies that are read without the lock: how often a job was queued, and how many workers sleep.
  std::atomic<std::uint64_t> queued_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace tilewright::rt
