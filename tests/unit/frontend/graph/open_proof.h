// What the proof of a plan leaves open where numbers are too great for the check.
#pragma once
#include <string>

#include "tilewright/tilewright.h"

namespace graph_program {

/// Whether a plan is proved, or nothing was compared: no difference was found, and nothing but the rounding of great numbers is open.
inline bool is_exact_or_compares_nothing(const tilewright::PlanProof& proof) {
  return proof.exact || (proof.text.find("rounding leaves all of them open") != std::string::npos &&
                         proof.text.find("the kernels were not compared with the graph as written") != std::string::npos &&
                         proof.text.find("was rounded") == std::string::npos);
}

}  // namespace graph_program
