// The facts about a device by which configurations are chosen.
#pragma once
#include "tileir/target/machine_facts.h"
#include "tileir/target/target_desc.h"
#include "tilewright/device.h"

namespace tilewright::kernels::host {

struct Machine {
  ir::TargetDesc target;
  ir::MachineFacts facts;
  bool is_emulated = false;  // time is estimated from counters, which know no L2
};
Machine machine_of(const Device&);

}  // namespace tilewright::kernels::host
