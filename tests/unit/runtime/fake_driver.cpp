// The fake driver allocates device memory on the host.
#include "fake_driver.h"

#include <algorithm>
#include <cstring>

namespace tilewright::rt::cuda {

namespace {

FakeDriver* g_fake = nullptr;

std::byte* at(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }
template <class T>
CUresult set(CUdeviceptr to, T value, std::size_t count) {
  fake().finish();
  for (std::size_t i = 0; i < count; ++i) std::memcpy(at(to) + i * sizeof value, &value, sizeof value);
  return CUDA_SUCCESS;
}
CUresult wrong(const char* what) {
  fake().misuse.push_back(what);
  return CUDA_ERROR_INVALID_HANDLE;
}
bool is_pinned(const void* memory) {
  const auto* m = static_cast<const std::byte*>(memory);
  for (const auto& [begin, block] : fake().host_allocations)
    if (m >= block.data() && m < block.data() + block.size()) return true;
  return false;
}
CUresult copy(void* to, const void* from, std::size_t bytes, bool late) {
  if (!late) fake().finish();
  fake().pending.push_back([=] { std::memcpy(to, from, bytes); });
  ++fake().copies_submitted;
  if (!late) fake().finish();
  return CUDA_SUCCESS;
}
bool lives(CUstream stream) { return !stream || fake().foreign_stream_context || fake().streams.count(stream); }

// The behaviour of each function. A function of the driver table that is not here does nothing and succeeds.
struct Does {
  static CUresult cuDriverGetVersion(int* version) { return *version = fake().driver_version, CUDA_SUCCESS; }
  static CUresult cuGetErrorName(CUresult error, const char** text) {
    switch (error) {
      case CUDA_ERROR_OUT_OF_MEMORY: *text = "CUDA_ERROR_OUT_OF_MEMORY"; break;
      case CUDA_ERROR_ILLEGAL_ADDRESS: *text = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
      case CUDA_ERROR_INVALID_PTX: *text = "CUDA_ERROR_INVALID_PTX"; break;
      case CUDA_ERROR_UNKNOWN: *text = "CUDA_ERROR_UNKNOWN"; break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  }
  static CUresult cuGetErrorString(CUresult, const char** text) { return *text = "its description", CUDA_SUCCESS; }
  static CUresult cuDeviceGetCount(int* count) { return *count = fake().device_count, CUDA_SUCCESS; }
  static CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
  static CUresult cuDeviceGetName(char* name, int length, CUdevice) { return std::strncpy(name, "Fake GPU", length), CUDA_SUCCESS; }
  static CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    return *value = fake().attributes[attribute], CUDA_SUCCESS;
  }
  static CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) { return *bytes = fake().memory, CUDA_SUCCESS; }
  static CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    ++fake().contexts;
    return *context = FakeDriver::primary(), CUDA_SUCCESS;
  }
  static CUresult cuDevicePrimaryCtxRelease(CUdevice) { return --fake().contexts, CUDA_SUCCESS; }
  static CUresult cuCtxGetCurrent(CUcontext* context) {
    const auto& stack = FakeDriver::context_stack();
    return *context = stack.empty() ? nullptr : stack.back(), CUDA_SUCCESS;
  }
  static CUresult cuCtxPushCurrent(CUcontext context) { return FakeDriver::context_stack().push_back(context), CUDA_SUCCESS; }
  static CUresult cuCtxPopCurrent(CUcontext* context) {
    auto& stack = FakeDriver::context_stack();
    if (stack.empty()) return wrong("pop of no context");
    *context = stack.back();
    return stack.pop_back(), CUDA_SUCCESS;
  }
  static CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
    return *free = fake().memory - fake().used, *total = fake().memory, CUDA_SUCCESS;
  }
  static CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > fake().memory - fake().used) return CUDA_ERROR_OUT_OF_MEMORY;
    fake().used += bytes;
    std::vector<std::byte> block(bytes);
    *address = reinterpret_cast<CUdeviceptr>(block.data());
    return fake().allocations.emplace(*address, std::move(block)), CUDA_SUCCESS;
  }
  static CUresult cuMemFree(CUdeviceptr address) {
    fake().finish();
    const auto it = fake().allocations.find(address);
    if (it == fake().allocations.end()) return wrong("free of no allocation");
    fake().used -= it->second.size();
    return fake().allocations.erase(it), CUDA_SUCCESS;
  }
  static CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
    ++fake().pools;
    return *pool = fake().make_handle<CUmemoryPool>(), CUDA_SUCCESS;
  }
  static CUresult cuMemPoolDestroy(CUmemoryPool) { return --fake().pools, CUDA_SUCCESS; }
  static CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
    const std::uint64_t bytes = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? 1000 : 400;
    return std::memcpy(value, &bytes, sizeof bytes), CUDA_SUCCESS;
  }
  static CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream) {
    return cuMemAlloc(address, bytes);
  }
  static CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return cuMemFree(address); }
  static CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    std::vector<std::byte> block(bytes);
    *memory = block.data();
    return fake().host_allocations.emplace(*memory, std::move(block)), CUDA_SUCCESS;
  }
  static CUresult cuMemFreeHost(void* memory) {
    if (!fake().pending.empty()) return wrong("free of host memory that a copy uses");
    return fake().host_allocations.erase(memory) ? CUDA_SUCCESS : wrong("free of no host allocation");
  }
  static CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    return copy(at(to), from, bytes, is_pinned(from));
  }
  static CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    return copy(to, at(from), bytes, is_pinned(to));
  }
  static CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    return copy(at(to), at(from), bytes, false);
  }
  static CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream) { return set(to, value, count); }
  static CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream) { return set(to, value, count); }
  static CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream) { return set(to, value, count); }
  static CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
    if (count != 1 || attributes[0] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_INVALID_VALUE;
    const bool ours = fake().allocations.count(address), known = reinterpret_cast<const void*>(address) == fake().pinned;
    const unsigned type = ours ? unsigned{CU_MEMORYTYPE_DEVICE} : known ? unsigned{CU_MEMORYTYPE_HOST} : 0;
    return std::memcpy(values[0], &type, sizeof type), CUDA_SUCCESS;
  }
  static CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    *stream = fake().make_handle<CUstream>();
    return fake().streams[*stream] = flags, CUDA_SUCCESS;
  }
  static CUresult cuStreamDestroy(CUstream stream) {
    return fake().streams.erase(stream) ? CUDA_SUCCESS : wrong("destruction of no stream");
  }
  static CUresult cuStreamSynchronize(CUstream stream) {
    fake().finish();
    return lives(stream) ? CUDA_SUCCESS : wrong("synchronize of no stream");
  }
  static CUresult cuCtxSynchronize() { return fake().finish(), CUDA_SUCCESS; }
  static CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
    const CUcontext foreign = fake().foreign_stream_context;
    return *context = foreign ? foreign : FakeDriver::primary(), CUDA_SUCCESS;
  }
  static CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    const bool is = stream && stream == fake().capturing;
    return *status = is ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
  }
  static CUresult cuGraphCreate(CUgraph* graph, unsigned) {
    ++fake().graphs;
    return *graph = fake().make_handle<CUgraph>(), CUDA_SUCCESS;
  }
  static CUresult cuGraphDestroy(CUgraph) { return --fake().graphs, CUDA_SUCCESS; }
  static void copy_words(std::vector<std::uint64_t>& to, void** parameters) {
    to.resize(fake().parameter_count);
    for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(&to[i], parameters[i], sizeof(std::uint64_t));
  }
  static CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph, const CUgraphNode* dependencies, std::size_t count,
                                       const CUDA_KERNEL_NODE_PARAMS* parameters) {
    copy_words(fake().node_parameters.emplace_back(), parameters->kernelParams);
    std::vector<CUgraphNode>& nodes = fake().nodes;
    const bool is_chain = nodes.empty() ? count == 0 : count == 1 && dependencies[0] == nodes.back();
    if (!is_chain) return wrong("a kernel node that does not follow the one before");
    nodes.push_back(*node = fake().make_handle<CUgraphNode>());
    return CUDA_SUCCESS;
  }
  static CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    copy_words(fake().node_parameters.emplace_back(), parameters->kernelParams);
    return CUDA_SUCCESS;
  }
  static CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph, unsigned long long) {
    ++fake().graph_executables;
    return *executable = fake().make_handle<CUgraphExec>(), CUDA_SUCCESS;
  }
  static CUresult cuGraphExecDestroy(CUgraphExec) { return --fake().graph_executables, CUDA_SUCCESS; }
  static CUresult cuEventCreate(CUevent* event, unsigned) {
    *event = fake().make_handle<CUevent>();
    return fake().events[*event] = 0, CUDA_SUCCESS;
  }
  static CUresult cuEventDestroy(CUevent event) { return fake().events.erase(event) ? CUDA_SUCCESS : wrong("destruction of no event"); }
  static CUresult cuEventRecord(CUevent event, CUstream stream) {
    if (!fake().events.count(event) || !lives(stream)) return wrong("record of no event or stream");
    fake().behind[event] = fake().copies_submitted;
    return fake().events[event] = ++fake().clock, CUDA_SUCCESS;
  }
  static CUresult cuEventSynchronize(CUevent event) { return fake().finish(fake().behind[event]), CUDA_SUCCESS; }
  static CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    return lives(stream) && fake().events.count(event) ? CUDA_SUCCESS : wrong("wait of no stream for no event");
  }
  static CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return *milliseconds = static_cast<float>(fake().events.at(end) - fake().events.at(start)), CUDA_SUCCESS;
  }
  static CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    fake().image = static_cast<const char*>(image);
    for (unsigned i = 0; i < count; ++i) {
      fake().jit_options.push_back(options[i]);
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) std::strcpy(static_cast<char*>(values[i]), fake().jit_errors.c_str());
      if (options[i] == CU_JIT_INFO_LOG_BUFFER) std::strcpy(static_cast<char*>(values[i]), fake().jit_notes.c_str());
    }
    if (!fake().jit_errors.empty()) return CUDA_ERROR_INVALID_PTX;
    ++fake().modules;
    return *module = fake().make_handle<CUmodule>(), CUDA_SUCCESS;
  }
  static CUresult cuModuleUnload(CUmodule) { return --fake().modules, CUDA_SUCCESS; }
  static CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
    return *function = fake().make_handle<CUfunction>(), CUDA_SUCCESS;
  }
  static CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    return *value = fake().function_attributes[attribute], CUDA_SUCCESS;
  }
  static CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
    return fake().function_attributes[attribute] = value, CUDA_SUCCESS;
  }
  static CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** parameters, void**) {
    FakeDriver& f = fake();
    f.finish();
    f.launched = *config;
    copy_words(f.parameters, parameters);
    if (f.look) f.look(parameters);
    return f.kernel ? f.kernel() : CUDA_SUCCESS;
  }
  static CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, std::uint32_t rank, void* address,
                                         const std::uint64_t* extents, const std::uint64_t* strides, const std::uint32_t* box,
                                         const std::uint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    std::fill(std::begin(map->opaque), std::end(map->opaque), ~std::uint64_t{0});
    fake().map = {type,   address, {extents, extents + rank}, {strides, strides + rank - 1}, {box, box + rank}, {steps, steps + rank},
                  swizzle};
    return CUDA_SUCCESS;
  }
};

// Called first by each function: records the call, and fails it if a test asks for that or if the thread's state does not allow it.
template <const char* const& kName, class F, class Do>
struct Recorded;
template <const char* const& kName, class... A, class Do>
struct Recorded<kName, CUresult (*)(A...), Do> {
  static CUresult call(A... a) {
    if (const CUresult status = fake().enter(kName); status != CUDA_SUCCESS) return status;
    return Do::call(a...);
  }
};

#define TW_CUDA_FUNCTION(name, symbol, parameters)                     \
  const char* const kNameOf_##name = #name;                            \
  struct DoOf_##name {                                                 \
    template <class D = Does, class... A>                              \
    static CUresult call([[maybe_unused]] A... a) {                    \
      if constexpr (requires { D::name(a...); }) return D::name(a...); \
      return CUDA_SUCCESS;                                             \
    }                                                                  \
  };
#include "runtime/cuda/driver_functions.def"

}  // namespace

FakeDriver& fake() { return *g_fake; }

std::vector<CUcontext>& FakeDriver::context_stack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

FakeDriver::FakeDriver() {
  g_fake = this;
  calls.reserve(1 << 14);
  context_stack().clear();
  context_stack().reserve(16);
#define TW_CUDA_FUNCTION(name, symbol, parameters) table.name = &Recorded<kNameOf_##name, decltype(Driver::name), DoOf_##name>::call;
#include "runtime/cuda/driver_functions.def"
  attributes = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
                {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
                {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1}};
  function_attributes = {{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024}, {CU_FUNC_ATTRIBUTE_NUM_REGS, 40}};
}

FakeDriver::~FakeDriver() { g_fake = nullptr; }

std::string FakeDriver::since(std::size_t first) const {
  std::string text;
  for (std::size_t i = first; i < calls.size(); ++i) text += (text.empty() ? "" : " ") + std::string(calls[i]);
  return text;
}

std::size_t FakeDriver::count(std::string_view call) const {
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), call));
}

void FakeDriver::fail(const std::string& call, CUresult code, int times, int after) { failures_[call] = {code, after, times}; }

void FakeDriver::finish(std::size_t submitted) {
  for (; !pending.empty() && copies_submitted - pending.size() < submitted; pending.pop_front()) pending.front()();
}

CUresult FakeDriver::enter(const char* call) {
  calls.push_back(call);
  const std::string_view name = call;
  const bool free_of_context = name == "cuInit" || name == "cuDriverGetVersion" || name.starts_with("cuGetError") ||
                               name.starts_with("cuDevice") || name == "cuCtxGetCurrent" || name == "cuCtxPushCurrent" ||
                               name == "cuCtxPopCurrent" || name == "cuCtxSetCurrent" || name == "cuThreadExchangeStreamCaptureMode";
  if (!free_of_context && (context_stack().empty() || context_stack().back() != primary())) {
    misuse.push_back(std::string(call) + " without the context");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (const auto it = failures_.find(name); it != failures_.end() && it->second.times > 0 && it->second.after-- <= 0) {
    --it->second.times;
    return it->second.code;
  }
  return CUDA_SUCCESS;
}

}  // namespace tilewright::rt::cuda
