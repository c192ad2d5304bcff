// Descriptions of GPUs.
#pragma once
#include <string>

#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion::test {

inline ir::TargetDesc gpu(int sm, int shared_bytes, int processors) {
  ir::TargetDesc target;
  target.name = "sm_" + std::to_string(sm);
  target.kind = ir::TargetDesc::Kind::nvptx;
  target.sm = sm;
  target.shared_bytes = shared_bytes;
  target.processors = processors;
  return target;
}

inline const ir::TargetDesc kTuring = gpu(75, 65536, 40), kAmpere = gpu(80, 166912, 108), kHopper = gpu(90, 232448, 132);

}  // namespace tilewright::passes::fusion::test
