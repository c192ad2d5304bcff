// Runs the programs of a grid on all cores.
#include "runtime/host/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/active_call.h"
#include "runtime/log.h"

namespace tilewright::rt {

namespace {

// Long enough to wait for the next launch in a loop of launches, short enough not to load the machine.
constexpr auto kSpin = std::chrono::microseconds(20);
// Small chunks balance uneven programs, large chunks cost less: with eight for each thread the last thread finishes at most an eighth
// later.
constexpr std::int64_t kChunksPerThread = 8;

void pause() { __builtin_ia32_pause(); }

/// Polls until `ready()` is true or the spin time is over; returns whether it was ready.
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
  // stop() sets the counter to the total. Further fetch_adds cannot wrap, since each thread makes one failing call and then leaves.
  const std::int64_t begin = next_.fetch_add(size_, std::memory_order_relaxed);
  if (begin >= total_) return false;
  range = {begin, std::min(begin + size_, total_)};
  return true;
}

std::int64_t chunk_size(std::int64_t total, int threads) {
  // A single thread runs all programs as one chunk: what a kernel keeps from program to program of a chunk, it keeps to the end.
  return threads == 1 ? total : std::max<std::int64_t>(1, total / (threads * kChunksPerThread));
}

struct ThreadPool::Job {
  Chunks chunks;
  const Work& work;
  std::atomic<int> helpers{0};  // written under the lock; the caller that waits for them reads it without the lock
  std::exception_ptr error;
};

struct ThreadPool::Workers {
  explicit Workers(Workers* before) : of_parent(before) {}
  void start(int workers);
  void serve();
  Job* take();  // joins a job of the queue that has chunks left, and returns it; null if there is none
  void participate(Job&);
  void leave(Job&);
  void wake_one();

  const unsigned process = fork_count();
  Workers* const of_parent;  // never used again and never destroyed: its threads are not in this process, and its lock may be held
  std::once_flag started;
  std::vector<std::thread> threads;
  std::mutex mutex;  // guards the members below, and Job::helpers and Job::error
  std::condition_variable work_there, helper_left;
  std::vector<Job*> queue;
  bool stopping = false;
  // These are read without the lock: how often a job was queued, and how many workers sleep.
  std::atomic<std::uint64_t> queued{0};
  std::atomic<int> sleepers{0};
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), workers_(new Workers(nullptr)) {}

ThreadPool::~ThreadPool() {
  Workers* workers = workers_.load();
  if (workers->process != fork_count()) return;  // they belong to the parent process
  {
    std::lock_guard lock(workers->mutex);
    workers->stopping = true;
  }
  workers->queued.fetch_add(1);  // ends the spinning
  workers->work_there.notify_all();
  for (std::thread& thread : workers->threads) thread.join();
  delete workers;
}

ThreadPool::Workers& ThreadPool::workers() {
  Workers* workers = workers_.load(std::memory_order_acquire);
  while (workers->process != fork_count()) {
    Workers* const fresh = new Workers(workers);
    if (workers_.compare_exchange_strong(workers, fresh)) return *fresh;
    delete fresh;  // another thread was faster
  }
  return *workers;
}

void ThreadPool::Workers::start(int count) {
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { serve(); });
  } catch (const std::system_error& e) {
    // The caller can do the work alone.
    log(LogLevel::warning, fmt::format("only {} of {} threads share work on the cpu: no other one could be started: {}", threads.size() + 1,
                                       count + 1, e.what()));
  }
}

void ThreadPool::run(std::int64_t total, const Work& work) {
  const std::int64_t size = chunk_size(total, threads_);
  Job job{Chunks(total, size), work, 0, nullptr};
  if (threads_ == 1 || total <= size) {
    if (total > 0) work(job.chunks);
    return;
  }
  Workers& c = workers();
  std::call_once(c.started, [&] { c.start(threads_ - 1); });
  {
    std::lock_guard lock(c.mutex);
    c.queue.push_back(&job);
  }
  c.queued.fetch_add(1);
  c.wake_one();
  c.participate(job);
  {
    std::lock_guard lock(c.mutex);
    std::erase(c.queue, &job);  // after this, no worker joins the job
  }
  if (!spin([&] { return job.helpers.load(std::memory_order_acquire) == 0; })) {
    std::unique_lock lock(c.mutex);
    c.helper_left.wait(lock, [&] { return job.helpers.load(std::memory_order_acquire) == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

void ThreadPool::Workers::wake_one() {
  // Each woken worker wakes the next one: so the caller makes one system call before it starts to work, and not one for each core.
  if (sleepers.load() > 0) work_there.notify_one();
}

ThreadPool::Job* ThreadPool::Workers::take() {
  for (Job* job : queue) {
    if (job->chunks.empty()) continue;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    return job;
  }
  return nullptr;
}

void ThreadPool::Workers::participate(Job& job) {
  try {
    job.work(job.chunks);
  } catch (...) {
    job.chunks.stop();
    std::lock_guard lock(mutex);
    if (!job.error) job.error = std::current_exception();
  }
}

void ThreadPool::Workers::leave(Job& job) {
  {
    std::lock_guard lock(mutex);
    job.helpers.fetch_sub(1, std::memory_order_release);  // the last access: the caller may now destroy the job
  }
  helper_left.notify_all();
}

void ThreadPool::Workers::serve() {
  for (;;) {
    std::uint64_t seen;
    Job* job;
    {
      std::lock_guard lock(mutex);
      if (stopping) return;
      seen = queued.load();
      job = take();
    }
    if (job) {
      if (!job->chunks.empty()) wake_one();
      participate(*job);
      leave(*job);
      continue;
    }
    if (spin([&] { return queued.load(std::memory_order_relaxed) != seen; })) continue;
    std::unique_lock lock(mutex);
    ++sleepers;
    work_there.wait(
        lock, [&] { return stopping || std::any_of(queue.begin(), queue.end(), [](const Job* other) { return !other->chunks.empty(); }); });
    --sleepers;
  }
}

}  // namespace tilewright::rt
