// Copies the whole graph, with replacements in place of regions.
#include "passes/search/regions/join.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::search {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

class Joiner {
 public:
  Joiner(const graph::Graph& written, std::span<const Region> regions, std::span<const graph::Graph* const> replacements)
      : written_(written),
        regions_(regions),
        replacements_(replacements),
        joined_(written.symbols()),
        made_(written.size()),
        owner_(written.size(), SIZE_MAX),
        is_spliced_(regions.size()) {
    for (std::uint32_t i = 0; i < written.composites(); ++i) joined_.add_composite(written.composite(i));
  }

  graph::Graph run() {
    const std::vector<bool> needed = written_.needed_nodes();  // functions of reductions are not: each region has its own
    for (std::size_t r = 0; r < regions_.size(); ++r)
      if (replacements_[r])
        for (std::uint32_t i = 0; i < regions_[r].graph.size(); ++i)
          if (const NodeId n = regions_[r].origins[i]; needed[n.index] && !graph::is_leaf(regions_[r].graph.node({i}).op))
            owner_[n.index] = r;
    const std::vector<bool> copied = nodes_to_copy();
    for (std::uint32_t i = 0; i < written_.size(); ++i)
      if (copied[i] && (owner_[i] == SIZE_MAX || !is_spliced_[owner_[i]])) make({i});
    for (const graph::Output& o : written_.outputs()) joined_.add_output({o.name, made(o.node), o.where});
    return std::move(joined_);
  }

 private:
  /// The nodes that the outputs need, with the functions of reductions, and all inputs.
  std::vector<bool> nodes_to_copy() const {
    std::vector<bool> copied = written_.needed_nodes();
    for (std::size_t i = written_.size(); i-- > 0;) {
      const Node& n = written_.node({static_cast<std::uint32_t>(i)});
      if (n.op == Op::input || n.op == Op::scalar) copied[i] = true;
      if (!copied[i]) continue;
      for (NodeId x : n.operands) copied[x.index] = true;
      if (n.combiner.valid()) copied[n.combiner.index] = true;
    }
    return copied;
  }

  /// Copies a node, or the replacement of its region.
  void make(NodeId n) {
    if (made_[n.index].valid()) return;
    const std::size_t region = owner_[n.index];
    if (region == SIZE_MAX) {
      made_[n.index] = copy(n);
    } else if (!is_spliced_[region]) {
      is_spliced_[region] = true;
      splice(regions_[region], *replacements_[region]);
    }
  }

  /// The copy of a value. It may follow its first user in the graph: a leaf, or a value of a region of shared values.
  NodeId made(NodeId n) {
    make(n);
    TW_CHECK(made_[n.index].valid(), "search: a region is read before it is computed");
    return made_[n.index];
  }

  NodeId copy(NodeId from) {
    Node n = written_.node(from);
    for (NodeId& x : n.operands) x = made(x);
    if (n.combiner.valid()) n.combiner = made(n.combiner);
    return joined_.append(std::move(n));
  }

  void splice(const Region& region, const graph::Graph& replacement) {
    std::vector<NodeId> own(replacement.size());
    for (std::uint32_t i = 0; i < replacement.size(); ++i) {
      Node n = replacement.node({i});
      if (n.op == Op::input || n.op == Op::scalar) {
        own[i] = made(region.inputs[number_of(n.text)]);
        continue;
      }
      for (NodeId& x : n.operands) x = own[x.index];
      if (n.combiner.valid()) n.combiner = own[n.combiner.index];
      own[i] = joined_.append(std::move(n));
    }
    for (const graph::Output& o : replacement.outputs()) made_[region.results[number_of(o.name)].index] = own[o.node.index];
  }

  /// 3 for "x3".
  static std::size_t number_of(const std::string& name) {
    std::size_t number = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), number);
    return number;
  }

  const graph::Graph& written_;
  const std::span<const Region> regions_;
  const std::span<const graph::Graph* const> replacements_;
  graph::Graph joined_;
  std::vector<NodeId> made_;        // by node of the written graph
  std::vector<std::size_t> owner_;  // by node of the written graph: the region that is replaced and has it
  std::vector<bool> is_spliced_;    // by region
};

}  // namespace

graph::Graph join(const graph::Graph& written, std::span<const Region> regions, std::span<const graph::Graph* const> replacements) {
  return Joiner(written, regions, replacements).run();
}

}  // namespace tilewright::passes::search
