// The textual form of tile IR (the grammar is in tileir/README.md). parse(print(f)) prints the same text again.
#pragma once
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

struct PrintOptions {
  bool locations = false;  // append  @ "file":line:column  to ops
};

std::string print(const Function&, PrintOptions = {});
std::string print(const Module&, PrintOptions = {});
/// One op on one line, regions left out: for messages.
std::string print(const Function&, OpId);

}  // namespace tilewright::ir
