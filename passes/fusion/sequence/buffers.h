// The buffers of a sequence of kernels: which buffer holds each tensor and each node's value, and the names of buffers.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/plan/loop_label.h"
#include "passes/fusion/sequence/kernel_sequence.h"
#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

class SequenceBuffers {
 public:
  /// Begins with the graph's inputs and outputs. Keeps the references.
  SequenceBuffers(const graph::Graph&, const KnownNodes&);

  const SequenceBuffer& operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }

  /// The buffer of a tensor or of a node's value: that of an input or an output, or a new one.
  int of(Tensor);
  int of(graph::NodeId);
  /// The outputs that hold the node's value.
  std::vector<int> outputs_of(graph::NodeId) const;

  /// The tensor that a kernel writes for an output.
  Tensor output_tensor(const graph::Output&, ExprPool&);
  /// From now on, if a node of an output passes the test, its value is stored in the output's buffer, and other kernels read it there. Returns
  /// the names of these outputs.
  std::set<std::string> store_in_outputs(const std::function<bool(graph::NodeId)>& which);

  /// Adds the buffer to which a kernel writes an output, if there is none; it is named after its contents.
  void add_written(const KernelOutput&, ExprBuilder&);
  /// A name for a tensor that holds a part of a divided loop's state: the part for this reduction, or for a reference to it.
  std::string name_state(const ExprPool&, Expr);
  /// A name for a tensor that is computed from these tensors, which depend only on parameters.
  std::string name_derived(const std::vector<Tensor>& read);
  bool is_derived(Tensor t) const { return derived_.contains(t->name); }

  /// Adds a buffer like i for values of another part of the graph. `nodes`, `names`: map nodes and names of tensors there.
  int add_like(int i, const std::map<graph::NodeId, graph::NodeId>& nodes, const std::map<std::string, std::string>& names);
  /// Reserves `count` of the numbers by which cover() distinguishes the tensors of all segments.
  void take_numbers(int count) { numbers_ += count; }
  int next_number() const { return numbers_; }

  /// The subject of the name of a kernel that writes this buffer; it is equal for parts of one value.
  std::string subject_of(int i) const;
  /// As above for a kernel that writes several buffers.
  std::string subject_of(const std::vector<int>& written) const;
  /// The name of a node's value in reports.
  const std::string& name_of(graph::NodeId) const;
  /// The names of tensors that are in memory already, and of nodes.
  TensorLabel labels() const;

  /// The buffers; inputs that no kernel reads are marked as unused.
  std::vector<SequenceBuffer> finish(const std::vector<SequenceKernel>& kernels, const std::vector<SequenceKernel>& parameter_kernels) &&;

 private:
  int add(SequenceBuffer);
  /// A name that no buffer has: the source's name, if the buffer holds all of its value.
  std::string name_for(graph::NodeId source, BufferContents);
  std::string name_derived(std::vector<std::string> read);
  static std::string joined(const std::vector<std::string>& read);

  const graph::Graph& g_;
  const KnownNodes& known_;
  TensorNames names_;
  std::vector<SequenceBuffer> all_;
  std::set<std::string> named_;                        // the names of all buffers
  std::map<graph::NodeId, std::vector<int>> outputs_;  // indexed by node
  std::map<graph::NodeId, int> by_node_;
  std::map<std::string, int> by_tensor_;  // tensors that are not a node's value, by their names in pools
  std::map<std::string, std::vector<std::string>>
      derived_;  // tensors that depend only on parameters: keyed by the names of the tensors that are read
  std::map<std::string, std::pair<graph::NodeId, BufferContents>> states_;  // tensors of states
  int numbers_ = 0;
};

}  // namespace tilewright::passes::fusion
