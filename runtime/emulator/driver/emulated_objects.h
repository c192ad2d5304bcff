// The objects behind the handles of the emulated driver.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/emulator/driver/emulated_driver.h"

namespace tilewright::rt::emulator {

struct EmulatedDevice {
  int ordinal = 0;
  std::string target;
  Memory memory;
  std::mutex mutex;  // of what follows
  Counters counters;
  std::vector<Diagnostic> diagnostics, remarks;
};

using Work = std::function<cuda::CUresult()>;

struct EmulatedGraphNode {
  struct EmulatedGraph* graph = nullptr;
  std::size_t index = 0;  // of its work
};

struct EmulatedGraph {
  std::vector<Work> work;               // in the order of creation: what a node depends on was created before it
  std::deque<EmulatedGraphNode> nodes;  // the kernel nodes that were added by name
};

struct EmulatedGraphExec {
  std::vector<Work> work;
  const EmulatedGraph* source = nullptr;  // its nodes name work of this graph; may be gone
};

struct EmulatedStream {
  EmulatedDevice* device = nullptr;
  std::unique_ptr<EmulatedGraph> captured;  // while it captures
};

struct EmulatedEvent {
  std::chrono::steady_clock::time_point when{};
  bool is_recorded = false;
};

struct EmulatedFunction {
  struct EmulatedModule* module = nullptr;
  const Kernel* kernel = nullptr;
};

struct EmulatedModule {
  EmulatedDevice* device = nullptr;
  std::shared_ptr<LoadedModule> program;
  std::map<std::string, EmulatedFunction, std::less<>> functions;
};

/// The state of the process: C functions without a context have nowhere else to keep it.
class EmulatedDriverState {
 public:
  static EmulatedDriverState& instance();

  std::vector<std::unique_ptr<EmulatedDevice>> devices;
  /// The device whose context is current on this thread; null if none is.
  EmulatedDevice* current();
  void push(EmulatedDevice*);
  EmulatedDevice* pop();
  void set_current(EmulatedDevice*);
  /// What cuGetErrorString says of a code the next time: details of this failure.
  void explain(cuda::CUresult, std::string text);
  const char* explanation(cuda::CUresult);

  std::function<void(const EmulatedLaunch&)> launch_observer;
  LaunchDefaults launch_defaults;
  void (*print_line)(std::string_view line) = nullptr;
  std::map<const void*, std::size_t> pinned;  // memory of the host, by address
  std::mutex mutex;                           // of `pinned`

 private:
  EmulatedDriverState();
  std::mutex private_mutex_;
  std::map<std::size_t, std::vector<EmulatedDevice*>> contexts_;  // by thread
  std::map<int, const std::string*> explanations_;
  std::deque<std::unique_ptr<const std::string>> told_;  // callers may still read them
};

/// Does work now, or keeps it where the stream captures.
cuda::CUresult submit(cuda::CUstream, Work);
/// The current context's device, or that of the stream; null if there is none.
EmulatedDevice* device_of(cuda::CUstream);

/// The entries of the table for modules and launches, and for streams, events and graphs.
void fill_modules(cuda::Driver&);
void fill_streams(cuda::Driver&);
void fill_memory(cuda::Driver&);
void fill_tensor_maps(cuda::Driver&);

}  // namespace tilewright::rt::emulator
