// Loads a kernel on a CUDA device and launches it.
#include "runtime/cuda/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "runtime/assembler_log.h"
#include "runtime/cuda/driver_loader.h"
#include "runtime/device_failure.h"
#include "runtime/log.h"
#include "tileir/diagnostics.h"

namespace tilewright::rt::cuda {

namespace {

constexpr std::size_t kLogBytes = 16 << 10;
constexpr int kThreadsPerWarp = 32;
// A kernel may use this much shared memory without setting an attribute.
constexpr int kPlainSharedBytes = 48 << 10;

// The driver takes option values as numbers cast to pointers.
void* as_option(std::size_t value) { return reinterpret_cast<void*>(value); }

std::string trimmed(const std::vector<char>& log) {
  std::string text(log.data(), strnlen(log.data(), log.size()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

CudaKernel::CudaKernel(std::shared_ptr<Device> device, Context& on, const backend::CompiledKernel& kernel, const Here& where)
    : keep(std::move(device)),
      context(on),
      name(on.keep(kernel.name)),
      parameters(kernel.params),
      plan(kernel.launch),
      maps(plan.parameters.size()),
      reports(kernel.reports.empty() ? nullptr : std::make_shared<const std::vector<backend::ReportSite>>(kernel.reports)),
      sites(kernel.sites.empty() ? nullptr : std::make_shared<const std::vector<backend::AccessSite>>(kernel.sites)),
      threads(static_cast<unsigned>(kThreadsPerWarp * kernel.resources.num_warps)),
      dynamic_shared_bytes(static_cast<unsigned>(std::max(kernel.resources.shared_bytes, 0))) {
  TW_CHECK(kernel.format == backend::CompiledKernel::Format::ptx, "a CUDA device runs PTX");
  TW_CHECK(kernel.resources.num_warps > 0, "a kernel for a CUDA device says how many warps it has");
  const std::size_t count = parameters.size() + plan.parameters.size();
  if (count + (reports ? 1 : 0) + (sites ? 1 : 0) > kMostParameters)
    throw_device_error(where, fmt::format("kernel '{}' has {} parameters; device '{}' takes at most {}", name, count, context.device_name(),
                                          kMostParameters));
  const std::string problem = backend::plan_problem(plan, parameters.size());
  TW_CHECK(problem.empty(), fmt::format("the launch plan of kernel '{}': {}", name, problem));
  assemble(kernel, where);
  try {
    measure(kernel, where);
  } catch (...) {
    context.driver().cuModuleUnload(module);
    throw;
  }
}

void CudaKernel::assemble(const backend::CompiledKernel& kernel, const Here& where) {
  // The driver reads PTX up to a zero byte.
  const std::string ptx(reinterpret_cast<const char*>(kernel.image.data()), kernel.image.size());
  std::vector<char> errors(kLogBytes), notes(kLogBytes);
  std::array options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                     CU_JIT_LOG_VERBOSE,      CU_JIT_GENERATE_LINE_INFO};
  std::array<void*, options.size()> values{errors.data(), as_option(errors.size()), notes.data(), as_option(notes.size()), as_option(1),
                                           as_option(1)};
  const CUresult status =
      context.driver().cuModuleLoadDataEx(&module, ptx.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (status != CUDA_SUCCESS) {
    std::string log = trimmed(errors);
    int version = 0;
    if (status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && context.driver().cuDriverGetVersion(&version) == CUDA_SUCCESS) {
      const int ptx = ptx_isa_of_driver(version);
      log += fmt::format("{}the driver is of CUDA {} and takes PTX up to version {}.{}", log.empty() ? "" : "\n", version_text(version),
                         ptx / 10, ptx % 10);
    }
    context.fail(status, "cuModuleLoadDataEx", where,
                 fmt::format(", of kernel '{}' for {}{}{}", name, kernel.target, log.empty() ? "" : ":\n", log));
  }
  const std::string log = trimmed(notes);
  if (!log.empty()) rt::log(LogLevel::debug, fmt::format("kernel '{}': {}", name, log));
  for (const AssembledKernel& k : read_assembler_log(log))
    if (k.name == kernel.entry) remarks_ = remarks_of(k, "the driver's assembler");
  for (const std::string& remark : remarks_)
    rt::log(LogLevel::warning, fmt::format("kernel '{}' on device '{}': {}", name, context.device_name(), remark));
}

void CudaKernel::measure(const backend::CompiledKernel& kernel, const Here& where) {
  TW_CUDA_CALL(context, where, cuModuleGetFunction, &function, module, kernel.entry.c_str());
  if (!plan.is_empty()) TW_CUDA_CALL(context, where, cuDriverGetVersion, &driver_version);
  int most_threads = 0, most_shared = 0;
  TW_CUDA_CALL(context, where, cuFuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  TW_CUDA_CALL(context, where, cuFuncGetAttribute, &local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
  TW_CUDA_CALL(context, where, cuFuncGetAttribute, &static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  TW_CUDA_CALL(context, where, cuFuncGetAttribute, &most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  TW_CUDA_CALL(context, where, cuDeviceGetAttribute, &most_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, context.device());
  if (static_cast<int>(threads) > most_threads)
    throw_lack_of_resources(where,
                            fmt::format("kernel '{}' needs {} registers in each of {} threads; device '{}' can run {} threads of it at "
                                        "most: use fewer warps or smaller tiles",
                                        name, registers, threads, context.device_name(), most_threads));
  const std::int64_t shared = std::int64_t{static_shared_bytes} + dynamic_shared_bytes;
  if (shared > most_shared)
    throw_lack_of_resources(where, fmt::format("kernel '{}' needs {} bytes of shared memory; device '{}' has {} for a program: use smaller "
                                               "tiles or fewer stages",
                                               name, shared, context.device_name(), most_shared));
  if (shared > kPlainSharedBytes)
    TW_CUDA_CALL(context, where, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                 static_cast<int>(dynamic_shared_bytes));
  if (local_bytes > 0)
    rt::log(LogLevel::info, fmt::format("kernel '{}' on device '{}': {} registers a thread and {} bytes of local memory", name,
                                        context.device_name(), registers, local_bytes));
}

CudaKernel::~CudaKernel() {
  const Current current(context, std::nothrow);
  const OutsideCapture outside(context.driver());
  // A kernel object may be destroyed directly after its last launch, but its code must stay until the launch has finished.
  context.driver().cuCtxSynchronize();
  context.driver().cuModuleUnload(module);
}

}  // namespace tilewright::rt::cuda
