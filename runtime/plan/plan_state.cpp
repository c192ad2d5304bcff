// Makes plans, and the public functions of Plan.
#include "runtime/plan/plan_state.h"

#include <fmt/format.h>

#include "runtime/active_call.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::detail {

PlanState::PlanState(PlanParts parts, const Here& at)
    : parts_(std::move(parts)),
      sequence_sizes_(*parts_.graph, parts_.sequence),
      bindings_(*parts_.graph, parts_.sequence),
      symbol_values_(sequence_sizes_.table(), parts_.sequence, bindings_, sequence_sizes_.symbols()) {
  std::vector<PlanKernel*> all;
  const auto make = [&](const std::vector<passes::fusion::SequenceKernel>& sources, std::deque<PlanKernel>& kernels) {
    for (const passes::fusion::SequenceKernel& k : sources) {
      if (k.like >= 0)
        kernels.emplace_back(k, kernels[static_cast<std::size_t>(k.like)]);
      else
        kernels.emplace_back(k, parts_.target);
      all.push_back(&kernels.back());
    }
  };
  make(parts_.sequence.kernels, kernels_);
  make(parts_.sequence.parameter_kernels, parameter_kernels_);
  PlanKernel::compile_all(all, at);
  constants_.resize(parts_.sequence.buffers.size());
  if (parts_.device) sequence_ = parts_.device->create_sequence();
  sizes_ = sequence_sizes_.of_report(symbol_values_.least());
  if (sizes_.workspace_bytes > parts_.max_workspace)
    throw Error(location_of(at),
                fmt::format("compile: the plan needs a workspace of {} bytes{}; max_workspace is {}", sizes_.workspace_bytes,
                            parts_.stores_indices ? ", in which checked mode stores the indices that it tests" : "", parts_.max_workspace));
}

std::shared_ptr<PlanState> make_plan_state(PlanParts parts, const Here& at) {
  return {new PlanState(std::move(parts), at), [](PlanState* plan) {
            const rt::ActiveCall call(std::nothrow);
            if (call.is_allowed()) delete plan;
          }};
}

std::size_t PlanState::intermediate_bytes() const {
  std::lock_guard lock(mutex_);
  return sizes_.intermediate_bytes;
}

std::size_t PlanState::workspace_bytes() const {
  std::lock_guard lock(mutex_);
  return sizes_.workspace_bytes;
}

std::string PlanState::rewritten() const { return graph::print(*parts_.graph); }

std::int64_t PlanState::compilations() const {
  std::lock_guard lock(mutex_);
  return compilations_;
}

PlanProof PlanState::proof() const {
  const passes::fusion::SequenceProof& p = parts_.sequence.proof;
  return {p.exact, p.rounds, p.log2_error, p.text};
}

}  // namespace tilewright::detail

namespace tilewright {

using detail::PlanState;

PlanState& Plan::state(const char* function, const Here& at) const {
  if (!state_) throw Error(detail::location_of(at), fmt::format("{}: this plan is empty: a plan comes from Graph::compile", function));
  return *state_;
}

void Plan::run(std::span<const RunArgument> arguments, const RunOptions& options, Here at) const {
  const rt::ActiveCall call(at);
  state("run", at).run(arguments, options, at);
}

std::vector<PlannedKernel> Plan::kernels(Here at) const {
  const rt::ActiveCall call(at);
  return state("kernels", at).kernels(PlanState::When::each_run);
}

std::vector<PlannedKernel> Plan::parameter_kernels(Here at) const {
  const rt::ActiveCall call(at);
  return state("parameter_kernels", at).kernels(PlanState::When::with_parameters);
}

std::vector<Rewrite> Plan::rewrites(Here at) const {
  const rt::ActiveCall call(at);
  return state("rewrites", at).search().rewrites;
}

SearchReport Plan::search_report(Here at) const {
  const rt::ActiveCall call(at);
  return state("search_report", at).search().report;
}

std::string Plan::rewritten(Here at) const {
  const rt::ActiveCall call(at);
  return state("rewritten", at).rewritten();
}

std::string Plan::explain(Here at) const {
  const rt::ActiveCall call(at);
  return state("explain", at).explain();
}

std::string Plan::explain_svg(Here at) const {
  const rt::ActiveCall call(at);
  return state("explain_svg", at).explain_svg();
}

std::size_t Plan::intermediate_bytes(Here at) const {
  const rt::ActiveCall call(at);
  return state("intermediate_bytes", at).intermediate_bytes();
}

std::size_t Plan::workspace_bytes(Here at) const {
  const rt::ActiveCall call(at);
  return state("workspace_bytes", at).workspace_bytes();
}

PlanProof Plan::proof(Here at) const {
  const rt::ActiveCall call(at);
  return state("proof", at).proof();
}

std::int64_t Plan::compilations(Here at) const {
  const rt::ActiveCall call(at);
  return state("compilations", at).compilations();
}

}  // namespace tilewright
