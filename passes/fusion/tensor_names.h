// Names of tensors: one for each value of a graph and each tensor that a plan adds. Reports, kernels and their parameters use them.
//
//   q, loss       a value that the user has named, by graph.input, graph.output or name(), has that name
//   softmax       another value has the name of the function that computes it
//   softmax_max   a value inside of a composite function has the names of both functions
//                 (softmax_x: a view of x inside of it)
//   softmax_2     a number follows if the name is taken: the second softmax of the graph
//
// Numbers count the values that outputs need, in the order of the graph: equal graphs have equal names, whatever is fused.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// A name as an identifier: each character that is not a letter, digit or underscore becomes an underscore.
std::string identifier(std::string_view name);

/// A set of names that are all different, also as identifiers.
class NameSet {
 public:
  /// The name, followed by the least number that makes it unique: "x", "x_2".
  std::string add(const std::string& wanted);
  /// Reserves a name as it is, whether or not it is unique.
  void take(const std::string& name);

 private:
  bool has(const std::string& name) const { return names_.contains(name) || names_.contains(identifier(name)); }

  std::set<std::string> names_;
  std::map<std::string, int> next_;  // the next number for each name
};

class TensorNames {
 public:
  explicit TensorNames(const graph::Graph&);
  /// The name of a node's value.
  const std::string& of(graph::NodeId n) const { return of_[n.index]; }
  /// A name for a tensor that is not a node's value.
  std::string add(const std::string& wanted) { return names_.add(wanted); }

 private:
  NameSet names_;
  std::vector<std::string> of_;
};

}  // namespace tilewright::passes::fusion
