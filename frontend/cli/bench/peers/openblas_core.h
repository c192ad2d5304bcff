// The kernels that OpenBLAS runs, by the processor that they were written for.
#pragma once
#include <string>

namespace tilewright::cli::bench {

/// Before OpenBLAS is loaded, here or by a process that is started later: makes it choose the kernels for this processor's instruction sets
/// if it would choose those of SSE, as it does on a processor that it does not know. An OPENBLAS_CORETYPE that is set is left as it is.
/// Returns the processor whose kernels OpenBLAS would choose by itself; empty if there is no OpenBLAS.
std::string choose_openblas_core();

}  // namespace tilewright::cli::bench
