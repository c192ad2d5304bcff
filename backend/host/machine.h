// The processor of a host for which code is generated.
#pragma once
#include <string>

#include "tileir/target/target_desc.h"

namespace tilewright::backend::host {

/// What the code may use: LLVM's names of a CPU and of its features, and what follows from them.
struct Machine {
  std::string cpu;
  std::string features;
  ir::TargetDesc description;
  bool has_byte_products = false;  // an instruction on whole registers adds four products of bytes to each i32 (vpdpbusd)
};

}  // namespace tilewright::backend::host
