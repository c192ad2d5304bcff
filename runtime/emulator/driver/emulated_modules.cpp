// Modules and launches of the emulated driver.
#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/emulator/driver/emulated_objects.h"
#include "runtime/emulator/driver/launch_environment.h"

namespace tilewright::rt::emulator {

using namespace cuda;

namespace {

constexpr std::size_t kMostDiagnosticsShown = 8;

/// The value of a JIT option, null if it is not given. The driver API passes integers in the array of pointers too.
void* option_value(unsigned count, const CUjit_option* options, void** values, CUjit_option wanted) {
  for (unsigned k = 0; k < count; ++k)
    if (options[k] == wanted) return values[k];
  return nullptr;
}

CUresult refuse(CUresult code, const std::string& why, unsigned count, const CUjit_option* options, void** values) {
  auto* log = static_cast<char*>(option_value(count, options, values, CU_JIT_ERROR_LOG_BUFFER));
  const auto size = reinterpret_cast<std::size_t>(option_value(count, options, values, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  if (log != nullptr && size > 0) {
    const std::size_t written = std::min(why.size(), size - 1);
    std::memcpy(log, why.data(), written);
    log[written] = 0;
  }
  return code;
}

CUresult load(CUmodule* result, const void* image, unsigned count, CUjit_option* options, void** values) {
  EmulatedDevice* device = EmulatedDriverState::instance().current();
  if (device == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto module = std::make_unique<EmulatedModule>();
  module->device = device;
  try {
    module->loaded = LoadedModule::load(static_cast<const char*>(image));
  } catch (const Error& error) {
    return refuse(CUDA_ERROR_INVALID_PTX, error.what(), count, options, values);
  }
  const std::string& target = module->loaded->module().target;
  if (!can_run(target, device->target))
    return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "code for " + target + " does not run on " + device->target, count, options, values);
  for (const auto& [name, placed] : module->loaded->variables()) device->memory.adopt(placed.address, std::max<u64>(placed.bytes, 1));
  for (const auto& kernel : module->loaded->kernels()) module->functions[kernel->name] = {module.get(), kernel.get()};
  *result = reinterpret_cast<CUmodule>(module.release());
  return CUDA_SUCCESS;
}

CUresult unload(CUmodule handle) {
  auto* module = reinterpret_cast<EmulatedModule*>(handle);
  for (const auto& [name, placed] : module->loaded->variables()) module->device->memory.forget(placed.address);
  delete module;
  return CUDA_SUCCESS;
}

CUresult get_function(CUfunction* result, CUmodule handle, const char* name) {
  auto& functions = reinterpret_cast<EmulatedModule*>(handle)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return CUDA_ERROR_NOT_FOUND;
  *result = reinterpret_cast<CUfunction>(&found->second);
  return CUDA_SUCCESS;
}

CUresult get_attribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const Kernel& kernel = *reinterpret_cast<EmulatedFunction*>(function)->kernel;
  const auto& most = kernel.maximum_threads[0] != 0 ? kernel.maximum_threads : kernel.required_threads;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = most[0] != 0 ? static_cast<int>(most[0] * most[1] * most[2]) : 1024; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(kernel.static_shared_bytes); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(kernel.local_bytes); break;
    // The number that an assembler would use is unknown; this is the number of registers that are live at the same time.
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = static_cast<int>(std::min<u32>(kernel.register_bytes / 128, 255)); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = reinterpret_cast<EmulatedFunction*>(function)->module->loaded->module().version; break;
    default: *value = 0; break;
  }
  return CUDA_SUCCESS;
}

CUresult code_of(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::out_of_bounds: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case DiagnosticKind::misaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case DiagnosticKind::wrong_space: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// Keeps the text of the diagnostics for the caller of the driver, and returns the error code of the first one.
CUresult explain(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (std::size_t k = 0; k < std::min(diagnostics.size(), kMostDiagnosticsShown); ++k)
    text += (k > 0 ? "\n" : "") + to_string(diagnostics[k]);
  if (diagnostics.size() > kMostDiagnosticsShown) text += "\nand " + std::to_string(diagnostics.size() - kMostDiagnosticsShown) + " more";
  const CUresult code = code_of(diagnostics.front().kind);
  EmulatedDriverState::instance().explain(code, text);
  return code;
}

void print_lines(std::string_view text) {
  const auto print = EmulatedDriverState::instance().print_line;
  while (print != nullptr && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    print(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

CUresult run(EmulatedFunction* function, const CUlaunchConfig& config, const std::array<u32, 3>& cluster, bool cooperative,
             const std::vector<std::byte>& params) {
  EmulatedDevice& device = *function->module->device;
  Diagnostics diagnostics;
  Counters counters;
  LaunchParams launch_params;
  launch_params.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  launch_params.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  launch_params.cluster = cluster;
  launch_params.dynamic_shared_bytes = config.sharedMemBytes;
  launch_params.params = params;
  launch_params.target = device.target;
  launch_params.cooperative = cooperative;
  if (const std::string fault = take_environment(launch_params); !fault.empty()) {
    EmulatedDriverState::instance().explain(CUDA_ERROR_INVALID_VALUE, fault);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const LaunchDefaults& defaults = EmulatedDriverState::instance().launch_defaults;
  launch_params.instruction_limit = defaults.instruction_limit.value_or(launch_params.instruction_limit);
  launch_params.interrupted = defaults.interrupted;
  launch_params.diagnostics = &diagnostics;
  launch_params.counters = &counters;
  std::string printed;
  launch_params.printed = &printed;
  if (const auto& observer = EmulatedDriverState::instance().launch_observer)
    observer({*function->module->loaded, function->kernel->name, device.memory, launch_params});
  try {
    launch(*function->module->loaded, function->kernel->name, device.memory, launch_params);
  } catch (const Error& error) {
    EmulatedDriverState::instance().explain(CUDA_ERROR_INVALID_VALUE, error.what());
    return CUDA_ERROR_INVALID_VALUE;
  }
  print_lines(printed);
  const std::vector<Diagnostic> found = diagnostics.list(), remarks = diagnostics.remarks();
  {
    const std::lock_guard lock(device.mutex);
    for (const auto& [name, counted] : counters.kernels) device.counters.add(name, counted);
    device.diagnostics.insert(device.diagnostics.end(), found.begin(), found.end());
    device.remarks.insert(device.remarks.end(), remarks.begin(), remarks.end());
  }
  return found.empty() ? CUDA_SUCCESS : explain(found);
}

/// The arguments in the layout of the kernel's parameter memory.
std::vector<std::byte> packed(const Kernel& kernel, void** parameters) {
  std::vector<std::byte> params(kernel.parameter_bytes);
  for (std::size_t k = 0; k < kernel.parameters.size(); ++k)
    std::memcpy(params.data() + kernel.parameters[k].offset, parameters[k], kernel.parameters[k].bytes);
  return params;
}

CUresult launch_kernel(const CUlaunchConfig* config, CUfunction handle, void** parameters, void** extra) {
  auto* function = reinterpret_cast<EmulatedFunction*>(handle);
  if (function == nullptr || extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  std::array<u32, 3> cluster{};
  for (unsigned k = 0; k < config->numAttrs; ++k) {
    const CUlaunchAttribute& attribute = config->attrs[k];
    const auto& extents = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = {extents.x, extents.y, extents.z};
    cooperative |= attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0;
  }
  return submit(config->hStream, [function, launch = *config, cluster, cooperative, params = packed(*function->kernel, parameters)] {
    return run(function, launch, cluster, cooperative, params);
  });
}

// ---- kernel nodes ----

/// The work of a node; empty if its parameters are invalid.
Work node_work(const CUDA_KERNEL_NODE_PARAMS* node) {
  if (node == nullptr || node->func == nullptr || node->extra != nullptr || node->kernelParams == nullptr) return {};
  auto* function = reinterpret_cast<EmulatedFunction*>(node->func);
  CUlaunchConfig launch{};
  launch.gridDimX = node->gridDimX, launch.gridDimY = node->gridDimY, launch.gridDimZ = node->gridDimZ;
  launch.blockDimX = node->blockDimX, launch.blockDimY = node->blockDimY, launch.blockDimZ = node->blockDimZ;
  launch.sharedMemBytes = node->sharedMemBytes;
  return [function, launch, params = packed(*function->kernel, node->kernelParams)] { return run(function, launch, {}, false, params); };
}

CUresult add_kernel_node(CUgraphNode* result, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
                         const CUDA_KERNEL_NODE_PARAMS* parameters) {
  auto* graph = reinterpret_cast<EmulatedGraph*>(handle);
  if (result == nullptr || graph == nullptr || (count > 0 && dependencies == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    if (const auto* node = reinterpret_cast<EmulatedGraphNode*>(dependencies[i]); node == nullptr || node->graph != graph)
      return CUDA_ERROR_INVALID_VALUE;
  Work work = node_work(parameters);
  if (!work) return CUDA_ERROR_INVALID_VALUE;
  graph->nodes.push_back({graph, graph->work.size()});
  graph->work.push_back(std::move(work));
  *result = reinterpret_cast<CUgraphNode>(&graph->nodes.back());
  return CUDA_SUCCESS;
}

CUresult set_node_parameters(CUgraphExec handle, CUgraphNode node_handle, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  auto* executable = reinterpret_cast<EmulatedGraphExec*>(handle);
  const auto* node = reinterpret_cast<EmulatedGraphNode*>(node_handle);
  if (executable == nullptr || node == nullptr || node->graph != executable->source || node->index >= executable->work.size())
    return CUDA_ERROR_INVALID_VALUE;
  Work work = node_work(parameters);
  if (!work) return CUDA_ERROR_INVALID_VALUE;
  executable->work[node->index] = std::move(work);
  return CUDA_SUCCESS;
}

}  // namespace

void fill_modules(Driver& table) {
  table.cuModuleLoadDataEx = load;
  table.cuModuleUnload = unload;
  table.cuModuleGetFunction = get_function;
  table.cuFuncGetAttribute = get_attribute;
  table.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  table.cuLaunchKernelEx = launch_kernel;
  table.cuGraphAddKernelNode = add_kernel_node;
  table.cuGraphExecKernelNodeSetParams = set_node_parameters;
}

}  // namespace tilewright::rt::emulator
