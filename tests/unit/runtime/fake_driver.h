// A fake CUDA driver in host memory that records its calls and can fail a call that a test names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"

namespace tilewright::rt::cuda {

/// One at a time; made before the device, gone after it. Copies from and to pinned memory are done as late as they may be: when a call
/// waits for them, or other work follows. All other work is done within the call that submits it.
class FakeDriver {
 public:
  FakeDriver();
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  Driver table;

  // The calls, in order; only names, so that recording allocates nothing.
  std::vector<const char*> calls;
  std::vector<std::string> misuse;  // calls without the right context, of dead handles, leaks
  std::string since(std::size_t first) const;
  std::size_t count(std::string_view call) const;

  /// The next call of this name fails with this code, `times` times; others pass first if `after` says so.
  void fail(const std::string& call, CUresult code, int times = 1, int after = 0);

  // The machine.
  int device_count = 1, driver_version = 12080;
  std::map<CUdevice_attribute, int> attributes;
  std::size_t memory = std::size_t{64} << 20, used = 0;
  std::string jit_errors, jit_notes, image;
  std::map<CUfunction_attribute, int> function_attributes;
  std::vector<int> jit_options;
  const void* pinned = nullptr;  // host memory that is registered with the driver
  CUstream capturing = nullptr;
  CUcontext foreign_stream_context = nullptr;

  // The arguments of the last launch.
  CUlaunchConfig launched{};
  std::vector<std::uint64_t> parameters;
  std::size_t parameter_count = 0;
  std::function<void(void** parameters)> look;              // at those of a launch, beside the words
  std::vector<std::vector<std::uint64_t>> node_parameters;  // the arguments of each graph node that was made or changed
  std::function<CUresult()> kernel;
  struct Map {
    CUtensorMapDataType type{};
    void* address = nullptr;
    std::vector<std::uint64_t> extents, strides;
    std::vector<std::uint32_t> box, steps;
    CUtensorMapSwizzle swizzle{};
  };
  Map map;  // the arguments of the last tensor map; all of its bits are set

  // Live things.
  int contexts = 0, modules = 0, pools = 0, graphs = 0, graph_executables = 0;
  std::vector<CUgraphNode> nodes;  // nodes of all graphs; a test clears it before it makes another graph
  std::map<CUstream, unsigned> streams;
  std::map<CUevent, int> events;  // when recorded; 0 before
  std::map<CUdeviceptr, std::vector<std::byte>> allocations;
  std::map<void*, std::vector<std::byte>> host_allocations;
  int clock = 0;
  std::deque<std::function<void()>> pending;  // copies
  std::map<CUevent, std::size_t> behind;      // how many copies had been submitted when it was recorded
  std::size_t copies_submitted = 0;
  /// Does the pending copies, or the first `submitted` of them.
  void finish(std::size_t submitted = SIZE_MAX);
  std::uintptr_t next_handle = 0x1000;

  static CUcontext primary() { return reinterpret_cast<CUcontext>(0x77); }
  static CUcontext other() { return reinterpret_cast<CUcontext>(0x99); }
  /// The contexts of this thread, the current one last.
  static std::vector<CUcontext>& context_stack();

  // For the functions of the table.
  CUresult enter(const char* call);
  template <class Handle>
  Handle make_handle() {
    return reinterpret_cast<Handle>(next_handle += 0x10);
  }

 private:
  struct Failure {
    CUresult code;
    int after, times;
  };
  std::map<std::string, Failure, std::less<>> failures_;
};

FakeDriver& fake();

}  // namespace tilewright::rt::cuda
