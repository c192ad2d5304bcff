// Asks OpenBLAS which kernels it chooses, and sets OPENBLAS_CORETYPE where they are too old for the processor.
#include "frontend/cli/bench/peers/openblas_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "frontend/cli/bench/measuring/contender.h"
#include "frontend/cli/bench/peers/peer_library.h"
#include "frontend/cli/execution/child_process.h"
#include "runtime/host/cpu_model.h"

namespace tilewright::cli::bench {

namespace {

// OpenBLAS's names of the processors whose kernels have no AVX. The first one is its choice for an unknown processor.
constexpr std::array<std::string_view, 11> kSseCores = {"Prescott", "Core2",   "Penryn",       "Dunnington", "Nehalem", "Atom",
                                                        "Nano",     "Opteron", "Opteron_SSE3", "Barcelona",  "Bobcat"};

/// OpenBLAS's own choice; empty if there is no OpenBLAS. In a process of its own, because a library that is loaded keeps its choice.
std::string chosen_core() {
  return ChildProcesses()
      .run(
          [] {
            char* (*corename)() = nullptr;
            try {
              load_functions(kOpenBlasNames, "", {{"openblas_get_corename", corename}});
            } catch (const Unavailable&) {
              return std::string();
            }
            return std::string(corename());
          },
          60)
      .text;
}

}  // namespace

std::string choose_openblas_core() {
  const std::string chosen = chosen_core();
  const char* better = rt::reason_against_level("x86-64-v4").empty()   ? "SkylakeX"
                       : rt::reason_against_level("x86-64-v3").empty() ? "Haswell"
                                                                       : nullptr;
  if (better && std::find(kSseCores.begin(), kSseCores.end(), chosen) != kSseCores.end())
    setenv("OPENBLAS_CORETYPE", better, /*replace=*/0);
  return chosen;
}

}  // namespace tilewright::cli::bench
