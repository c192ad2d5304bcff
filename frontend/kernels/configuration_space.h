// The configurations of the kernel library: the candidates of a problem, and the model that ranks them, for every kind (problems/).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

/// The configurations that make sense for a problem: tiles not larger than the problem, and small enough for registers and shared memory.
std::vector<Configuration> candidates_of(const Machine&, const Problem&);

/// The time of a launch as the model predicts it.
double estimated_seconds(const Machine&, const Problem&, const Configuration&);

/// The candidates, sorted by predicted time, fastest first.
std::vector<Configuration> ranked_candidates(const Machine&, const Problem&);

/// The key under which measurements are stored. Extents along which programs are divided are rounded up to powers of two.
std::string key_of(const Problem&);

/// The problems of one function of the library, such as "matmul", that this process launched and still remembers.
std::vector<Problem> launched_problems(std::string_view function);

/// The problem with an assumed number of rows (or of another batch extent), so that the result does not depend on the caller's number.
Problem without_batch(Problem);

}  // namespace tilewright::kernels::host
