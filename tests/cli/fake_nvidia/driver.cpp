// libcuda.so.1 with emulated GPUs: each function of the driver API jumps to that of the emulator's table, so that programs take the path of
// devices cuda:N on a machine with no GPU.
#include "runtime/emulator/driver/emulated_driver.h"

// A stub of a function cannot name parameters of a macro: it is a jump through a slot.
#define TW_CUDA_FUNCTION(name, symbol, parameters)                      \
  extern "C" {                                                          \
  __attribute__((visibility("hidden"))) void* tw_slot_##name = nullptr; \
  }                                                                     \
  asm(".text\n.globl " symbol "\n.type " symbol ", @function\n" symbol  \
      ":\n"                                                             \
      "  jmp *tw_slot_" #name "(%rip)\n");
#include "runtime/cuda/driver_functions.def"

namespace {

__attribute__((constructor)) void fill_slots() {
  const tilewright::rt::cuda::Driver& table = tilewright::rt::emulator::emulated_driver();
#define TW_CUDA_FUNCTION(name, symbol, parameters) tw_slot_##name = reinterpret_cast<void*>(table.name);
#include "runtime/cuda/driver_functions.def"
}

}  // namespace
