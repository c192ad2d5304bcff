// The configurations of the kernel library: the candidates of a problem, and the model that ranks them. Both stand here and nowhere else.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tileir/target/machine_facts.h"
#include "tileir/target/target_desc.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

/// What candidates and model ask of a device.
struct Machine {
  ir::TargetDesc target;
  ir::MachineFacts facts;
  bool is_emulated = false;  // time is estimated from counters, which know no L2
};
Machine machine_of(const Device&);

/// The configurations that make sense for a problem: tiles no larger than it, and no larger than registers and shared memory.
std::vector<Configuration> candidates_of(const Machine&, const Problem&);

/// How long the model thinks that a launch takes.
double estimated_seconds(const Machine&, const Problem&, const Configuration&);

/// The candidates, the fastest by the model first.
std::vector<Configuration> ranked_candidates(const Machine&, const Problem&);

/// What measurements are kept under: extents that programs are divided along are rounded up to powers of two.
std::string key_of(const Problem&);

/// The problems of a function of the library, "matmul", that were launched in this process, as far as their choices are remembered.
std::vector<Problem> launched_problems(std::string_view function);

/// The problem with a number of rows, or of what else batches are made of, that does not depend on the caller's.
Problem without_batch(Problem);

}  // namespace tilewright::kernels::host
