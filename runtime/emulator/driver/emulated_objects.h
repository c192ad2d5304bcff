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

#include "runtime/cuda/driver.h"
#include "runtime/emulator/driver/emulated_launch.h"

namespace tilewright::rt::emulator {

struct EmulatedDevice {
  int ordinal = 0;
  std::string target;
  Memory memory;
  std::mutex mutex;  // guards the members below
  Counters counters;
  std::vector<Diagnostic> diagnostics, remarks;
};

using Work = std::function<cuda::CUresult()>;

struct EmulatedGraphNode {
  struct EmulatedGraph* graph = nullptr;
  std::size_t index = 0;  // index of its work
};

struct EmulatedGraph {
  std::vector<Work> work;               // in order of creation: a node is created after the nodes on which it depends
  std::deque<EmulatedGraphNode> nodes;  // kernel nodes that were added explicitly
};

struct EmulatedGraphExec {
  std::vector<Work> work;
  const EmulatedGraph* source = nullptr;  // the graph whose work its nodes index; may be destroyed
};

struct EmulatedStream {
  EmulatedDevice* device = nullptr;
  std::unique_ptr<EmulatedGraph> captured;  // set while the stream captures
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
  std::shared_ptr<LoadedModule> loaded;
  std::map<std::string, EmulatedFunction, std::less<>> functions;
};

/// The state of the process, since C functions without a context have no other object to keep it.
class EmulatedDriverState {
 public:
  static EmulatedDriverState& instance();

  std::vector<std::unique_ptr<EmulatedDevice>> devices;
  /// The device whose context is current on this thread; null if there is none.
  EmulatedDevice* current();
  void push(EmulatedDevice*);
  EmulatedDevice* pop();
  void set_current(EmulatedDevice*);
  /// Sets the text that cuGetErrorString returns for a code the next time: the details of this failure.
  void explain(cuda::CUresult, std::string text);
  const char* explanation(cuda::CUresult);

  std::function<void(const EmulatedLaunch&)> launch_observer;
  LaunchDefaults launch_defaults;
  void (*print_line)(std::string_view line) = nullptr;
  std::map<const void*, std::size_t> pinned;  // pinned memory of the host, by address
  std::mutex mutex;                           // guards `pinned`

 private:
  EmulatedDriverState();
  std::mutex private_mutex_;
  std::map<std::size_t, std::vector<EmulatedDevice*>> contexts_;  // indexed by thread
  std::map<int, const std::string*> explanations_;
  std::deque<std::unique_ptr<const std::string>> told_;  // texts that callers may still read
};

/// Executes work now, or records it if the stream captures.
cuda::CUresult submit(cuda::CUstream, Work);
/// The device of the current context, or that of the stream; null if there is none.
EmulatedDevice* device_of(cuda::CUstream);

/// Fill the table's entries for modules and launches, and for streams, events and graphs.
void fill_modules(cuda::Driver&);
void fill_streams(cuda::Driver&);
void fill_memory(cuda::Driver&);
void fill_tensor_maps(cuda::Driver&);

}  // namespace tilewright::rt::emulator
