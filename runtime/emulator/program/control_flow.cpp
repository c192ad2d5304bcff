// Computes basic blocks and post-dominators.
#include "runtime/emulator/program/control_flow.h"

#include <algorithm>

namespace tilewright::rt::emulator {
namespace {

bool ends_block(const Instruction& instruction) {
  return instruction.kind == Kind::branch || instruction.kind == Kind::indexed || instruction.kind == Kind::exit ||
         instruction.kind == Kind::trap || instruction.kind == Kind::leave;
}

std::vector<u32> targets_of(const Kernel& kernel, const Instruction& instruction) {
  if (instruction.kind == Kind::branch || instruction.kind == Kind::leave) return {instruction.target};
  std::vector<u32> targets;
  if (instruction.kind == Kind::indexed)
    for (u32 i = 0; i < instruction.extras; ++i) targets.push_back(static_cast<u32>(kernel.extra[instruction.first + i]));
  return targets;
}

/// The nodes from which the exit is reachable, starting with the exit; each comes before nodes that reach the exit only through it.
std::vector<u32> order_from_exit(const FlowGraph& graph) {
  std::vector<std::vector<u32>> predecessors(graph.nodes.size() + 1);
  for (u32 n = 0; n < graph.nodes.size(); ++n)
    for (u32 successor : graph.nodes[n].successors) predecessors[successor].push_back(n);
  std::vector<u32> order;
  std::vector<bool> seen(graph.nodes.size() + 1, false);
  std::vector<std::pair<u32, std::size_t>> stack{{graph.end(), 0}};
  seen[graph.end()] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == predecessors[node].size()) {
      order.push_back(node);
      stack.pop_back();
    } else if (const u32 predecessor = predecessors[node][next++]; !seen[predecessor]) {
      seen[predecessor] = true;
      stack.emplace_back(predecessor, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

FlowGraph flow_graph(const Kernel& kernel, u32 begin, u32 end) {
  std::vector<bool> leads(end + 1, false);
  leads[begin] = true;
  for (u32 i = begin; i < end; ++i) {
    if (!ends_block(kernel.code[i])) continue;
    leads[i + 1] = true;
    for (u32 target : targets_of(kernel, kernel.code[i])) leads[target] = true;
  }
  FlowGraph graph;
  graph.code_end = end;
  std::vector<u32> node_of(end + 1, 0);
  for (u32 i = begin; i < end; ++i) {
    if (leads[i]) {
      if (!graph.nodes.empty()) graph.nodes.back().end = i;
      graph.nodes.push_back({i, end, {}});
    }
    node_of[i] = static_cast<u32>(graph.nodes.size()) - 1;
  }
  node_of[end] = graph.end();
  for (FlowGraph::Node& node : graph.nodes) {
    const Instruction& last = kernel.code[node.end - 1];
    for (u32 target : targets_of(kernel, last)) node.successors.push_back(node_of[target]);
    const bool ends_thread = last.kind == Kind::exit || last.kind == Kind::trap;
    const bool goes_on = !ends_block(last) || last.guard != kNoSlot;
    if (ends_thread) node.successors.push_back(graph.end());
    if (goes_on) node.successors.push_back(node_of[node.end]);
    std::sort(node.successors.begin(), node.successors.end());
    node.successors.erase(std::unique(node.successors.begin(), node.successors.end()), node.successors.end());
  }
  return graph;
}

void set_reconvergence_points(const FlowGraph& graph, Kernel& kernel) {
  // The dominators algorithm of Cooper, Harvey and Kennedy on the reversed graph, whose root is the exit.
  constexpr u32 kUnknown = ~0u;
  const std::vector<u32> order = order_from_exit(graph);
  std::vector<u32> position(graph.nodes.size() + 1, 0);
  for (u32 i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<u32> join(graph.nodes.size() + 1, kUnknown);
  join[graph.end()] = graph.end();
  const auto meet = [&](u32 a, u32 b) {
    while (a != b) {
      while (position[a] > position[b]) a = join[a];
      while (position[b] > position[a]) b = join[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (u32 node : order) {
      if (node == graph.end()) continue;
      u32 found = kUnknown;
      for (u32 successor : graph.nodes[node].successors)
        if (join[successor] != kUnknown) found = found == kUnknown ? successor : meet(found, successor);
      if (join[node] != found) {
        join[node] = found;
        changed = true;
      }
    }
  }
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    Instruction& last = kernel.code[graph.nodes[n].end - 1];
    if (last.kind != Kind::branch && last.kind != Kind::indexed && last.kind != Kind::leave) continue;
    // Nodes of an endless loop do not reach the exit: their lanes never reconverge.
    const u32 at = join[n];
    last.reconvergence = at == kUnknown || at == graph.end() ? graph.code_end : graph.nodes[at].begin;
  }
}

}  // namespace tilewright::rt::emulator
