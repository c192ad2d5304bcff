// Names values by the user's names and by functions.
#include "passes/fusion/tensor_names.h"

#include <fmt/format.h>

#include <cctype>

#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

std::string identifier(std::string_view name) {
  std::string word;
  for (unsigned char c : name) {
    const bool continues_character = (c & 0xc0) == 0x80;  // UTF-8
    if (!continues_character) word += std::isalnum(c) ? static_cast<char>(c) : '_';
  }
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0]))) word.insert(0, "_");
  return word;
}

std::string NameSet::add(const std::string& wanted) {
  std::string name = wanted;
  for (int& number = next_.try_emplace(wanted, 2).first->second; has(name); ++number) name = fmt::format("{}_{}", wanted, number);
  take(name);
  return name;
}

void NameSet::take(const std::string& name) {
  names_.insert(name);
  names_.insert(identifier(name));
}

namespace {

/// The last node of each composite function: its result.
std::vector<NodeId> composite_results(const Graph& g) {
  std::vector<NodeId> results(g.composites());
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (const Node& n = g.node({i}); n.composite) results[*n.composite] = {i};
  return results;
}

}  // namespace

TensorNames::TensorNames(const Graph& g) : of_(g.size()) {
  const auto each = [&](auto&& visit) {
    for (std::uint32_t i = 0; i < g.size(); ++i) visit(NodeId{i}, g.node({i}), of_[i]);
  };
  // 1. Names that the caller of a run uses stay as they are.
  each([&](NodeId, const Node& n, std::string& name) {
    if (n.op == Op::input || n.op == Op::scalar) names_.take(name = n.text);
  });
  for (const graph::Output& o : g.outputs()) names_.take(o.name);
  for (std::uint32_t s = 0; s < g.symbols()->size(); ++s) names_.take((*g.symbols())[s].name);
  // 2. Then come names that the user has given to other values.
  const std::vector<bool> needed = g.needed_nodes();
  each([&](NodeId id, const Node& n, std::string& name) {
    if (needed[id.index] && name.empty() && !n.name.empty()) name = add(n.name);
  });
  const std::vector<NodeId> results = composite_results(g);
  // A view inside of a composite function is named after the value that it shows.
  const auto inner_name = [&](NodeId id) {
    NodeId shown = id;
    while (graph::is_view(g.node(shown).op) && g.node(shown).composite == g.node(id).composite) shown = g.node(shown).operands[0];
    return g.node(shown).composite == g.node(id).composite ? graph::function_name(g.node(shown)) : of_[shown.index];
  };
  // 3. All others are named after functions, in three rounds: views inside of composite functions, which are rarely in memory, come after
  //    other values, and values that no output needs come last. So neither changes the number in another name.
  const auto round_of = [&](NodeId id, const Node& n) {
    return !needed[id.index] ? 2 : n.composite && graph::is_view(n.op) && results[*n.composite] != id ? 1 : 0;
  };
  for (const int round : {0, 1, 2})
    each([&](NodeId id, const Node& n, std::string& name) {
      if (round_of(id, n) != round || !name.empty()) return;
      if (!n.name.empty())
        name = add(n.name);
      else if (!n.composite)
        name = add(graph::function_name(n));
      else if (const std::string& whole = g.composite(*n.composite).name; results[*n.composite] == id)
        name = add(whole);
      else
        name = add(whole + "_" + inner_name(id));
    });
}

}  // namespace tilewright::passes::fusion
