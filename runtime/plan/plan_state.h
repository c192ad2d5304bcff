// The state that copies of a Plan share: the sequence of kernels, their compiled forms and, on a device, the memory that is kept between runs.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/bindings.h"
#include "runtime/plan/plan_kernel.h"
#include "runtime/plan/plan_search.h"
#include "runtime/plan/sizes.h"
#include "runtime/plan/symbol_values.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// The parts from which a plan is made.
struct PlanParts {
  std::shared_ptr<const graph::Graph> graph;  // no longer changes
  passes::fusion::KernelSequence sequence;
  std::function<passes::fusion::KernelSequence()> unfused;  // the same graph with one kernel per node, for comparison
  std::shared_ptr<rt::Device> device;                       // null if compiled for a target only
  std::string target;
  std::size_t max_workspace = SIZE_MAX;
  bool stores_indices = false;  // the graph has nodes that checked mode added
  PlanSearch search = {};
};

/// Every public function may be called from any thread.
class PlanState {
 public:
  /// Compiles all kernels. Throws Error at `at`.
  PlanState(PlanParts, const Here& at);

  void run(std::span<const RunArgument>, const RunOptions&, const Here& at);
  enum class When { each_run, with_parameters };
  std::vector<PlannedKernel> kernels(When) const;
  const PlanSearch& search() const { return parts_.search; }
  std::string rewritten() const;
  std::string explain() const;
  std::string explain_svg() const;
  std::size_t intermediate_bytes() const;
  std::size_t workspace_bytes() const;
  PlanProof proof() const;
  std::int64_t compilations() const;

 private:
  // ---- run ----
  rt::Stream& stream_of(const RunOptions&, const RunCall&) const;
  /// Sets sizes_. Returns the old sizes if they change.
  std::optional<Sizes> update_sizes(const RunCall&);
  void check_memory(const RunCall&) const;
  void check_view(const Slot&, const Binding&, const RunCall&) const;
  struct Memory {
    std::uint64_t begin, end;
  };
  Memory memory_of(std::size_t slot) const;
  void check_overlaps(const RunCall&) const;
  bool needs_parameter_kernels() const;
  void release(RawBuffer&);
  void allocate(const RunCall&);
  void upload_constants(const RunCall&);
  std::uint64_t address_of(int buffer) const;
  void prepare(std::deque<PlanKernel>&, const std::vector<passes::fusion::SequenceKernel>&, const std::vector<KernelSize>&,
               std::vector<rt::PreparedLaunch>&, const RunCall&);
  void follow_previous_run(rt::Stream&, const std::shared_ptr<rt::Stream>&);
  void announce_writes(rt::Stream&, const RunCall&) const;
  void launch(const std::vector<rt::PreparedLaunch>&, rt::LaunchSequence*, rt::Stream&) const;

  // ---- reports; their callers hold the lock ----
  PlannedKernel planned(const passes::fusion::SequenceKernel&, const KernelSize&, const PlanKernel&) const;
  Sizes sizes_of_report() const;
  std::string symbols_text(const Sizes&) const;
  std::string header_text(const Sizes&) const;
  std::string kernel_text(const passes::fusion::SequenceKernel&, const KernelSize&, const Sizes&) const;
  std::string kernels_text(const std::vector<passes::fusion::SequenceKernel>&, const std::vector<KernelSize>&, const Sizes&) const;
  std::string totals_text(const Sizes&) const;

  const PlanParts parts_;
  const SequenceSizes sequence_sizes_;
  Bindings bindings_;
  SymbolValues symbol_values_;
  std::deque<PlanKernel> kernels_, parameter_kernels_;  // deques, because elements must not move

  mutable std::mutex mutex_;          // guards the members below, the bindings, the symbols and the kernels
  Sizes sizes_;                       // sizes of the latest run
  std::vector<RawBuffer> constants_;  // by buffer of the sequence; empty for buffers that are not constants
  RawBuffer workspace_, derived_;
  std::optional<std::vector<std::int64_t>> derived_symbols_;       // the symbol values for which derived_ was computed
  std::vector<rt::PreparedLaunch> launches_, parameter_launches_;  // prepared so that a run allocates nothing on the device
  std::unique_ptr<rt::LaunchSequence> sequence_;                   // records launches_; null if the device has no graphs
  std::int64_t compilations_ = 0;
  bool has_run_ = false, was_captured_ = false;
  std::vector<RawBuffer> captured_memory_;  // memory of runs that the user captured, now too small for later runs
  // Where the latest run used memory of the plan. A run on another stream must wait for it.
  enum class Previous { none, default_stream, other_stream } previous_ = Previous::none;
  std::weak_ptr<rt::Stream> previous_stream_;
  std::shared_ptr<rt::Event> previous_end_;
  mutable std::optional<passes::fusion::KernelSequence> unfused_;
};

std::shared_ptr<PlanState> make_plan_state(PlanParts, const Here& at);

}  // namespace tilewright::detail
