// Emits the loop over programs.
#include "backend/host/lowering.h"

#include "backend/host/emitter.h"
#include "backend/host/non_temporal.h"
#include "backend/host/step_ops.h"
#include "backend/host/steps.h"

namespace tilewright::backend::host {

LoweredFunction lower(llvm::Module& m, const Function& f, const Machine& machine, bool check, const std::string& entry) {
  Emitter e(m, f, machine, check, entry);
  NonTemporalStores non_temporal(e);
  e.set_non_temporal(non_temporal);
  e.lower_blocks_by([&](BlockId block) { emit_steps(e, non_temporal, block); });
  e.combined_atomics().begin(e);
  e.loop(e.first_program(), e.end_program(), e.i64(1), {}, true, [&](Value* program, const Values&) {
    e.set_program(program);
    e.begin_program();
    e.emit_block(f.body());
    return Values{};
  });
  e.combined_atomics().finish(e);
  non_temporal.finish();
  const std::int64_t frame_bytes = e.finish();
  return {e.buffer_bytes() + frame_bytes, frame_bytes > 0, e.take_sites(), e.take_reports()};
}

}  // namespace tilewright::backend::host
