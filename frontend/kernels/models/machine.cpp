// Finds the facts about a device by which configurations are chosen.
#include "frontend/kernels/models/machine.h"

#include "backend/compile.h"
#include "runtime/device.h"

namespace tilewright::kernels::host {

Machine machine_of(const Device& device) {
  Machine m;
  m.target = backend::describe_target(device.handle()->target());
  if (!m.target.is_gpu()) m.target.processors = device.handle()->host_threads();
  m.facts = ir::machine_facts(m.target);
  m.is_emulated = device.name().starts_with("emulator:");
  return m;
}

}  // namespace tilewright::kernels::host
