// Names of tensors: one for each value of a graph and each tensor that a plan adds. Reports, parameters of kernels and kernels have them.
//
//   q, loss       what the user has named, with graph.input, graph.output or name(), has that name
//   softmax       another value has the name of the function that computes it
//   softmax_max   a value inside of a composite function has the names of both
//                 (softmax_x: a view of x inside of it)
//   softmax_2     a number follows where a name is taken: the second softmax of the program
//
// Numbers count the values that outputs need, in the order of the program: equal graphs have equal names, whatever is fused.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// A name as an identifier: what is no letter, digit or underscore becomes an underscore.
std::string identifier(std::string_view name);

/// Names of which no two are equal, nor equal as identifiers.
class NameSet {
 public:
  /// The name, with the least number behind it that makes it new: "x", "x_2".
  std::string add(const std::string& wanted);
  /// Takes a name as it is, whether or not it is new.
  void take(const std::string& name);

 private:
  bool has(const std::string& name) const { return names_.contains(name) || names_.contains(identifier(name)); }

  std::set<std::string> names_;
  std::map<std::string, int> next_;  // numbers that come next
};

class TensorNames {
 public:
  explicit TensorNames(const graph::Graph&);
  /// Of a node's value.
  const std::string& of(graph::NodeId n) const { return of_[n.index]; }
  /// For a tensor that is no node's value.
  std::string add(const std::string& wanted) { return names_.add(wanted); }

 private:
  NameSet names_;
  std::vector<std::string> of_;
};

}  // namespace tilewright::passes::fusion
