// Executors: threads of the application that run the programs of launches on the cpu, instead of threads of the library.
#pragma once
#include <functional>
#include <string_view>

#include "tilewright/device.h"

namespace tilewright {

/// Threads that the application owns. A launch calls run(count, task) on the thread that launches, with a count from 1 to `threads`. run calls
/// task() `count` times on threads of its choice, and returns when all of these calls have returned; task() throws nothing. The calls share the
/// programs of the launch, so they may also run one after another: the first one then does all the work. If run makes fewer calls, or throws, the
/// launching thread does the rest; then the launch throws what run has thrown. While run waits it must not launch on the same stream.
struct Executor {
  int threads = 0;  // how many calls of task() can run at the same time
  std::function<void(int count, const std::function<void()>& task)> run = {};
};

/// A cpu, "cpu" or "cpu:x86-64-v3", whose launches run on the executor. It is another device than Device::open("cpu"), so their buffers do not mix.
/// It keeps a copy of the executor until its last buffer, stream and kernel is gone, and starts no threads; only compiling a graph does, for as
/// long as that takes. Throws Error if the executor has no thread or no function.
Device open_device(Executor executor, std::string_view name = "cpu", Here at = Here::current());

}  // namespace tilewright
