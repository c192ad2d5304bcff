// Launches of the PTX kernels in tests/ptx, compiled by nvcc or written by hand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/mutants/subject.h"

namespace tilewright::test {

/// The kernels of all files with launches; what the checks report of one as it is, is added to `reports`. The memory has to outlive them.
std::vector<std::unique_ptr<Subject>> ptx_subjects(rt::emulator::Memory&, std::vector<std::string>& reports);

}  // namespace tilewright::test
