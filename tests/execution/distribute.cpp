// Propagates layouts by the rules of tileir/layout_rules.h, forward and backward, until each tile has one.
#include "tests/execution/distribute.h"

#include <doctest/doctest.h>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/machines.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/layout_rules.h"
#include "tileir/verifier.h"

namespace tilewright::test {

using namespace ir;

void distribute(Function& f, const std::map<ValueId, LinearLayout>& given) {
  for (const auto& [v, layout] : given) f.set_layout(v, f.add_layout(layout));
  bool changed = true;
  const auto lies = [&](ValueId v) { return f.layout_id(v).valid(); };
  const auto give = [&](ValueId v, LayoutId layout) {
    if (f.type(v).is_scalar() || lies(v)) return;
    f.set_layout(v, layout);
    changed = true;
  };
  while (changed) {
    changed = false;
    f.walk([&](OpId id) {
      const OpData& op = f.op(id);
      if (op.operands.empty()) return;
      const LayoutRule rule = layout_rule(op.kind);
      if (rule == LayoutRule::same_layout) {
        for (const auto* values : {&op.operands, &op.results})
          for (ValueId v : *values)
            if (lies(v)) {
              for (ValueId other : op.operands) give(other, f.layout_id(v));
              for (ValueId other : op.results) give(other, f.layout_id(v));
            }
      } else if (rule == LayoutRule::infer_result) {
        if (lies(op.operands[0])) {
          for (ValueId other : op.operands) give(other, f.layout_id(op.operands[0]));
          for (ValueId r : op.results)
            if (!lies(r) && !f.type(r).is_scalar()) give(r, f.add_layout(result_layout(f, id, f.layout(op.operands[0])).value()));
        } else if (lies(op.results[0])) {
          if (const auto layout = operand_layout(f, id, f.layout(op.results[0]))) give(op.operands[0], f.add_layout(*layout));
        }
      }
    });
  }
  verify_or_throw(f);
}

void check_on(fuzz::Executor& machine, const fuzz::Program& p, int num_warps, const TargetDesc& target) {
  fuzz::RewritingExecutor reference("interpreter", [&](Function& f) {
    if (!f.is_distributed()) passes::run_passes(f, passes::pipeline(target), {target, true, false, num_warps});
  });
  const auto difference = fuzz::compare(p, reference, machine);
  if (difference && difference->find(fuzz::DeviceExecutor::kTooLong) != std::string::npos) return;
  INFO(machine.name(), ": ", difference.value_or(""), "\n", fuzz::text(p));
  CHECK_FALSE(difference.has_value());
}

Emitted check_on_emulator(const fuzz::Program& p, int num_warps, const std::string& target) {
  fuzz::EmulatorExecutor candidate(target, num_warps);
  const TargetDesc description = backend::describe_target(target);
  check_on(candidate, p, num_warps, description);
  for (const std::string& name : machines())
    if (name.starts_with("cuda:")) {
      fuzz::DeviceExecutor gpu(name, num_warps);
      check_on(gpu, p, num_warps, description);
    }
  const backend::CompiledKernel kernel =
      backend::compile(p.function, {.target = target, .num_warps = num_warps}, {.keep_text = true, .dump = {}});
  return {kernel.assembly,
          count(kernel.assembly, "bar.sync") + count(kernel.assembly, "bar.warp.sync") - count(kernel.tile_ir, "  barrier\n")};
}

Type tile(Element e, const std::vector<int>& log2_extents) {
  std::vector<std::int64_t> shape;
  for (int log2 : log2_extents) shape.push_back(std::int64_t{1} << log2);
  return Type(e, shape);
}

int count(const std::string& text, const std::string& piece) {
  int n = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + piece.size())) ++n;
  return n;
}

}  // namespace tilewright::test
