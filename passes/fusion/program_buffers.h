// The buffers of a program: in which of them each tensor and each node's value is.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/parameters.h"
#include "passes/fusion/program.h"

namespace tilewright::passes::fusion {

class ProgramBuffers {
 public:
  /// Begins with the graph's inputs and outputs. Keeps the references.
  ProgramBuffers(const graph::Graph&, const KnownNodes&);

  const ProgramBuffer& operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }

  /// The buffer of a tensor or of a node's value: an input or an output, or a new one.
  int of(Tensor);
  int of(graph::NodeId);
  /// The outputs that hold the node's value.
  std::vector<int> outputs_of(graph::NodeId) const;

  /// The tensor that a kernel writes for an output.
  Tensor output_tensor(const graph::Output&, ExprPool&);
  /// From here on the values of such nodes that are outputs are stored there, and read there by other kernels. Returns those outputs'
  /// names.
  std::set<std::string> store_in_outputs(const std::function<bool(graph::NodeId)>& which);

  /// A name for a tensor that holds what depends on parameters alone.
  std::string name_derived(const std::string& wanted);
  bool is_derived(Tensor t) const { return derived_.contains(t->name); }
  bool is_prefix_of_a_name(const std::string& prefix) const;

  /// A buffer like i for the values of another part of the graph; `wanted`: its name, if i holds what depends on parameters alone.
  int add_like(int i, const std::string& wanted);
  /// Numbers name intermediates that are no node's value: takes `count` of them, and returns the first.
  int take_numbers(int count);
  /// The number that take_numbers returns next.
  int next_number() const { return numbers_; }

  /// What a report calls a node's value: the user's name, or %7.
  std::string text_of(graph::NodeId) const;

  /// The buffers; those that no kernel reads are marked.
  std::vector<ProgramBuffer> finish(const std::vector<ProgramKernel>& kernels, const std::vector<ProgramKernel>& parameter_kernels) &&;

 private:
  int add(const std::string& key, ProgramBuffer);
  std::string unique_name(const std::string& wanted) const;

  const graph::Graph& g_;
  const KnownNodes& known_;
  std::vector<ProgramBuffer> all_;
  std::map<std::string, int> by_key_;  // of the tensors' names
  std::set<std::string> derived_;      // names of tensors that hold what depends on parameters alone
  int numbers_ = 0;                    // of intermediates that are no node's value
};

}  // namespace tilewright::passes::fusion
