// The cases that a command line selects: kernels with shapes and element types.
#pragma once
#include <string>
#include <vector>

#include "frontend/cli/bench/rows/kernel_row.h"

namespace tilewright::cli::bench {

enum class DeviceKind { cpu, gpu, emulator };

struct CaseName {
  const KernelRow* row;
  Shape shape;
  ir::Element type;
};

/// `shapes` and `types` as on the command line; if empty, the ones that suit the device. Throws UsageError that lists the possible values.
std::vector<CaseName> parse_cases(const std::vector<std::string>& kernels, const std::string& shapes, const std::string& types, DeviceKind);

/// Splits at commas. Throws UsageError, naming `option`, if a word is empty.
std::vector<std::string> split_list(const std::string& text, const char* option);

}  // namespace tilewright::cli::bench
