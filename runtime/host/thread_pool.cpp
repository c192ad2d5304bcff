// Runs the programs of a grid on all cores.
#include "runtime/host/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace tilewright::rt {

namespace {

// Long enough to catch the next launch of a loop of launches, short enough not to be seen in the machine's load.
constexpr auto kSpin = std::chrono::microseconds(20);
// Uneven programs want small chunks, cheap ones large: eight a thread leaves the last thread at most an eighth behind.
constexpr std::int64_t kChunksPerThread = 8;

void pause() { __builtin_ia32_pause(); }

/// Polls until `ready()` or the spin time is over; whether it was ready.
template <class F>
bool spin(F ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

bool Chunks::next(Range& range) {
  // stop() sets the counter to the total; a fetch_add past it cannot wrap, since each thread makes one failing call and leaves.
  const std::int64_t begin = next_.fetch_add(size_, std::memory_order_relaxed);
  if (begin >= total_) return false;
  range = {begin, std::min(begin + size_, total_)};
  return true;
}

struct ThreadPool::Job {
  Chunks chunks;
  const Work& work;
  std::atomic<int> helpers{0};  // written under the lock, read without it by the caller that waits for them
  std::exception_ptr error;
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.fetch_add(1);  // ends the spinning
  work_there_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::start() {
  workers_.reserve(threads_ - 1);
  for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { serve(); });
}

void ThreadPool::run(std::int64_t total, const Work& work) {
  const std::int64_t size = std::max<std::int64_t>(1, total / (threads_ * kChunksPerThread));
  Job job{Chunks(total, size), work, 0, nullptr};
  if (threads_ == 1 || total <= size) {
    if (total > 0) work(job.chunks);
    return;
  }
  std::call_once(started_, [this] { start(); });
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(&job);
  }
  queued_.fetch_add(1);
  wake_one();
  participate(job);
  {
    std::lock_guard lock(mutex_);
    std::erase(queue_, &job);  // from here on nobody joins
  }
  if (!spin([&] { return job.helpers.load(std::memory_order_acquire) == 0; })) {
    std::unique_lock lock(mutex_);
    helper_left_.wait(lock, [&] { return job.helpers.load(std::memory_order_acquire) == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

void ThreadPool::wake_one() {
  // One wakes the next, so that the caller pays for one system call and not for one a core before its own work starts.
  if (sleepers_.load() > 0) work_there_.notify_one();
}

ThreadPool::Job* ThreadPool::take() {
  for (Job* job : queue_) {
    if (job->chunks.empty()) continue;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    return job;
  }
  return nullptr;
}

void ThreadPool::participate(Job& job) {
  try {
    job.work(job.chunks);
  } catch (...) {
    job.chunks.stop();
    std::lock_guard lock(mutex_);
    if (!job.error) job.error = std::current_exception();
  }
}

void ThreadPool::leave(Job& job) {
  {
    std::lock_guard lock(mutex_);
    job.helpers.fetch_sub(1, std::memory_order_release);  // the last touch: the caller may end the job's life now
  }
  helper_left_.notify_all();
}

void ThreadPool::serve() {
  for (;;) {
    std::uint64_t seen;
    Job* job;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      seen = queued_.load();
      job = take();
    }
    if (job) {
      if (!job->chunks.empty()) wake_one();
      participate(*job);
      leave(*job);
      continue;
    }
    if (spin([&] { return queued_.load(std::memory_order_relaxed) != seen; })) continue;
    std::unique_lock lock(mutex_);
    ++sleepers_;
    work_there_.wait(lock, [&] {
      return stopping_ || std::any_of(queue_.begin(), queue_.end(), [](const Job* queued) { return !queued->chunks.empty(); });
    });
    --sleepers_;
  }
}

}  // namespace tilewright::rt
