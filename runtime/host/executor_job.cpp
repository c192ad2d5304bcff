// Gives an executor as many calls as can have work, and finishes what it leaves.
#include "runtime/host/executor_job.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "runtime/float_environment.h"

namespace tilewright::rt {

void run_on(const Executor& executor, std::int64_t total, const ThreadPool::Work& work) {
  if (total <= 0) return;
  const std::int64_t size = chunk_size(total, executor.threads),
                     count = std::min<std::int64_t>(executor.threads, (total + size - 1) / size);
  Chunks chunks(total, size);
  if (count == 1) return work(chunks);
  std::mutex mutex;
  std::exception_ptr error;
  const auto keep_error = [&] {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
  };
  const std::function<void()> task = [&] {
    const DefaultFloatEnvironment environment;  // the thread may be the application's
    try {
      work(chunks);
    } catch (...) {
      chunks.stop();
      keep_error();
    }
  };
  try {
    executor.run(static_cast<int>(count), task);
  } catch (...) {
    keep_error();
  }
  task();
  if (error) std::rethrow_exception(error);
}

}  // namespace tilewright::rt
