// Makes the texts of failed driver calls.
#include "runtime/cuda/driver_failure.h"

#include <fmt/format.h>

namespace tilewright::rt::cuda {

std::string failure_text(const Driver& driver, const char* call, CUresult status, std::string_view details) {
  const char *name = nullptr, *meaning = nullptr;
  const int code = static_cast<int>(status);
  // Both calls fail for codes that the driver does not know; then the text has only the number.
  if (driver.cuGetErrorName(status, &name) != CUDA_SUCCESS || !name) return fmt::format("{}: error {}{}", call, code, details);
  if (driver.cuGetErrorString(status, &meaning) != CUDA_SUCCESS || !meaning) meaning = "no description";
  // The emulator's description of a kernel's failure is long and complete.
  constexpr std::size_t kLong = 80;
  const std::string_view text = meaning;
  return text.size() > kLong ? fmt::format("{}: {} ({}){}:\n{}", call, name, code, details, text)
                             : fmt::format("{}: {} ({}: {}){}", call, name, code, text, details);
}

bool loses_context(CUresult status) {
  switch (status) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

}  // namespace tilewright::rt::cuda
