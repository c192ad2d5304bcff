// The interface of a pass.
#pragma once
#include <string>
#include <vector>

#include "passes/ir_names.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes {

class PlanCache;

/// A message about a correct compilation: the kernel does less than the program asks for, or will be slow, and why.
struct Remark {
  Location where;
  std::string text;
};

/// The target and options of a compilation.
struct PassContext {
  ir::TargetDesc target;
  bool contract = true;  // a * b + c may become fma(a, b, c)
  bool check = false;    // checked mode: assertions are kept, hints become assertions
  int num_warps = 4;     // warps of a program, on a GPU
  int num_stages = 0;    // stages of pipelined loops that do not specify them; 0: the default
  /// Lowering plans of the function, shared by the passes after the last change of a layout. Null: run_passes uses a cache of its own.
  PlanCache* plans = nullptr;
  std::vector<Remark>* remarks = nullptr;  // null: no caller wants them
};

/// Changes the function; returns whether anything changed.
using PassFunction = bool (*)(ir::Function&, const PassContext&);

}  // namespace tilewright::passes
