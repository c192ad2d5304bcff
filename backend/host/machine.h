// The processor of a host for which code is generated.
#pragma once
#include <string>

#include "tileir/target/target_desc.h"

namespace tilewright::backend::host {

/// Instructions that add several products of small factors at once.
struct ProductInstructions {
  bool four_bytes = false;  // four products of bytes to each i32 of a whole register (vpdpbusd)
  bool byte_tiles = false;  // tile registers of bytes (AMX-INT8)
  bool bf16_tiles = false;  // tile registers of bf16 (AMX-BF16): see tileir/target/dot_order.h
};

/// What the code may use: LLVM's names of a CPU and of its features, and what follows from them.
struct Machine {
  std::string cpu;
  std::string features;
  ir::TargetDesc description;
  ProductInstructions products;
};

}  // namespace tilewright::backend::host
