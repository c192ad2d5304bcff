// Prints segments.
#include "passes/fusion/segments/segments_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/fusion/graph/carried_values.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/recurring_values.h"
#include "passes/fusion/graph/shifted_reads.h"
#include "passes/fusion/segments/alike_segments.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/segments/segment_structure.h"
#include "passes/fusion/segments/walked_sums.h"
#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;

class Printer {
 public:
  Printer(const graph::Graph& g, const std::vector<Segment>& segments) : g_(g), names_(g) {
    for (const AlikeSegments& a : alike_segments(g, segments))
      for (std::size_t i : a.segments) first_alike_[i] = a.segments[0];
  }

  std::string operator()(const Segment& s, std::size_t number) {
    const std::size_t operations = operations_of(g_, s);
    std::string all = fmt::format("segment {}: {} from {}; {} operation{}\n", number, list(s.results), list(read_by(s)), operations,
                                  operations == 1 ? "" : "s");
    const auto line = [&](std::string_view why, const std::vector<NodeId>& nodes) {
      if (!nodes.empty()) all += fmt::format("  {}: {}\n", why, list(nodes));
    };
    line("computed before a run", s.ahead);
    line("read at many positions", s.repeated);
    line("read by one reduction after the other", s.recurring);
    line("walked by several reductions", s.walked);
    line("computed from many tensors", s.carried);
    if (s.cut) all += fmt::format("  first of {} parts of {} operations\n", s.cut->parts, s.cut->operations);
    if (s.joined) all += joined(*s.joined);
    if (const auto [first, is_new] = first_of_.emplace(s.structure, number); !is_new)
      all += fmt::format("  as segment {}\n", first->second);
    else if (const auto alike = first_alike_.find(number); alike != first_alike_.end() && alike->second != number)
      all += fmt::format("  as segment {} with other numbers\n", alike->second);
    return all;
  }

 private:
  std::string list(const std::vector<NodeId>& nodes) const {
    std::string all;
    for (NodeId n : nodes) all += (all.empty() ? "" : ", ") + names_.of(n);
    return all.empty() ? "nothing" : all;
  }

  // Values of earlier segments, and tensors that the user gives.
  std::vector<NodeId> read_by(const Segment& s) const {
    std::vector<NodeId> read;
    for (NodeId n : s.nodes)
      if (s.memory.contains(n) || is_in_memory(g_.node(n))) read.push_back(n);
    return read;
  }

  std::string joined(const JoinedPart& j) const {
    return fmt::format("  written into {}, along axis {} from {}{}{}\n", names_.of(j.whole), g_.node(j.whole).axes[0], j.begin.text(),
                       j.is_last ? "; the last part" : "", j.is_ahead ? "; before a run" : "");
  }

  const graph::Graph& g_;
  const TensorNames names_;
  std::map<std::string, std::size_t> first_of_;     // by structure
  std::map<std::size_t, std::size_t> first_alike_;  // by segment: the first one that differs in numbers only
};

}  // namespace

std::string segments_text(const graph::Graph& g, const std::vector<Segment>& segments) {
  Printer print(g, segments);
  std::string all;
  for (std::size_t i = 0; i < segments.size(); ++i) all += print(segments[i], i);
  return all;
}

std::vector<std::string> stored_texts(const graph::Graph& g, const Segment& s) {
  std::vector<std::string> all;
  for (NodeId n : s.repeated) all.push_back(repeated_text(g, n));
  for (NodeId n : s.recurring) all.push_back(recurring_text(g, n));
  for (NodeId n : s.walked) all.push_back(walked_text(g, n));
  for (NodeId n : s.carried) all.push_back(carried_text(g, n));
  return all;
}

}  // namespace tilewright::passes::fusion
