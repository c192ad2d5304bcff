// Runs the programs of a grid on threads of the application.
#pragma once
#include "runtime/host/thread_pool.h"
#include "tilewright/executor.h"

namespace tilewright::rt {

/// As ThreadPool::run: returns when [0, total) is finished, and throws the first exception of `work` or of the executor.
void run_on(const Executor&, std::int64_t total, const ThreadPool::Work& work);

}  // namespace tilewright::rt
