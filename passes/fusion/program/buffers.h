// The buffers of a program: in which of them each tensor and each node's value is, and what they are called.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/program/program.h"
#include "passes/fusion/tensor_names.h"
#include "passes/fusion/translate/parameters.h"

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

  /// Adds the buffer of what a kernel writes, if it has none: it is called after what it holds.
  void add_written(const KernelOutput&, ExprBuilder&);
  /// A name for a tensor that holds a part of the state of a divided loop: of this reduction, or of a reference to it.
  std::string name_state(const ExprPool&, Expr);
  /// A name for a tensor that is computed from these, which depend on parameters alone.
  std::string name_derived(const std::vector<Tensor>& read);
  bool is_derived(Tensor t) const { return derived_.contains(t->name); }

  /// A buffer like i for the values of another part of the graph. `nodes`, `names`: nodes and names of tensors there.
  int add_like(int i, const std::map<graph::NodeId, graph::NodeId>& nodes, const std::map<std::string, std::string>& names);
  /// Numbers that tell the tensors of all segments apart, for cover(): takes `count` of them.
  void take_numbers(int count) { numbers_ += count; }
  int next_number() const { return numbers_; }

  /// What a kernel that writes the buffer is called after: equal for parts of one value.
  std::string subject_of(int i) const;
  /// The same for a kernel that writes several.
  std::string subject_of(const std::vector<int>& written) const;
  /// What reports call a node's value.
  const std::string& name_of(graph::NodeId) const;

  /// The buffers; those that no kernel reads are marked.
  std::vector<ProgramBuffer> finish(const std::vector<ProgramKernel>& kernels, const std::vector<ProgramKernel>& parameter_kernels) &&;

 private:
  int add(ProgramBuffer);
  /// A name that no buffer has: that of the source, if the buffer holds all of its value.
  std::string name_for(graph::NodeId source, BufferContents);
  std::string name_derived(std::vector<std::string> read);
  static std::string joined(const std::vector<std::string>& read);

  const graph::Graph& g_;
  const KnownNodes& known_;
  TensorNames names_;
  std::vector<ProgramBuffer> all_;
  std::set<std::string> named_;                        // the names of all
  std::map<graph::NodeId, std::vector<int>> outputs_;  // by node
  std::map<graph::NodeId, int> by_node_;
  std::map<std::string, int> by_tensor_;  // tensors that are no node's value, by their names in pools
  std::map<std::string, std::vector<std::string>>
      derived_;  // tensors that hold what depends on parameters alone: the names of what is read
  std::map<std::string, std::pair<graph::NodeId, BufferContents>> states_;  // tensors of states
  int numbers_ = 0;
};

}  // namespace tilewright::passes::fusion
