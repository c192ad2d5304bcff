// Graphs for which partial equivalence is proposed (PET, Wang et al., 2021): a cheaper graph is equal almost everywhere, and the positions at
// which it differs are computed as written.
//
//   conv of images of 14 x 14        rows are one axis: right but for the first and the last column, which are computed apart
//
// The corrected graphs are written by hand, so that it can be measured what a search that finds them would gain.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/formula.h"

namespace bench {

struct PartialGraph {
  struct Form {
    std::string name;
    std::function<void(Formula&)> build;
  };
  std::string name;
  std::function<void(Formula&)> as_written;
  std::vector<Form> forms;  // equal graphs; most of them are corrected
};

std::vector<PartialGraph> partial_graphs();

}  // namespace bench
