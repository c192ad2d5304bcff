// Copies the whole graph, with replacements in place of regions.
#include "passes/search/regions/join.h"

#include <charconv>

#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::search {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

class Joiner {
 public:
  explicit Joiner(const graph::Graph& written) : written_(written), joined_(written.symbols()), made_(written.size()) {
    for (std::uint32_t i = 0; i < written.composites(); ++i) joined_.add_composite(written.composite(i));
  }

  graph::Graph run(std::span<const Region> regions, std::span<const graph::Graph* const> replacements) {
    std::vector<std::size_t> owner(written_.size(), SIZE_MAX);
    const std::vector<bool> needed = written_.needed_nodes();  // functions of reductions are not: each region has its own
    for (std::size_t r = 0; r < regions.size(); ++r)
      if (replacements[r])
        for (std::uint32_t i = 0; i < regions[r].graph.size(); ++i)
          if (const NodeId n = regions[r].origins[i]; needed[n.index] && !graph::is_leaf(regions[r].graph.node({i}).op)) owner[n.index] = r;
    const std::vector<bool> copied = nodes_to_copy();
    std::vector<bool> is_spliced(regions.size());
    for (std::uint32_t i = 0; i < written_.size(); ++i) {
      const std::size_t r = owner[i];
      if (r == SIZE_MAX) {
        if (copied[i] && !made_[i].valid()) made_[i] = copy({i});
      } else if (!is_spliced[r]) {
        is_spliced[r] = true;
        splice(regions[r], *replacements[r]);
      }
    }
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

  /// The copy of a node. A leaf may follow its first user in the graph.
  NodeId made(NodeId n) {
    if (!made_[n.index].valid()) {
      TW_CHECK(graph::is_leaf(written_.node(n).op), "search: a region is read before it is computed");
      made_[n.index] = copy(n);
    }
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
  graph::Graph joined_;
  std::vector<NodeId> made_;  // by node of the written graph
};

}  // namespace

graph::Graph join(const graph::Graph& written, std::span<const Region> regions, std::span<const graph::Graph* const> replacements) {
  return Joiner(written).run(regions, replacements);
}

}  // namespace tilewright::passes::search
