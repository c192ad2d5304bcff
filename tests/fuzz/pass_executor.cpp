// Prefixes of a target's pipeline as executors.
#include "tests/fuzz/pass_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "passes/pass_manager.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

namespace {
void run_verified(ir::Function& f, std::span<const std::string_view> names, const ir::TargetDesc& target) {
  passes::RunOptions options;
  options.verify_each = true;
  passes::run_passes(f, names, {target, false}, options);
}
}  // namespace

void fix_rounding(Program& p, const ir::TargetDesc& target) {
  const std::string_view names[] = {"expand_math"};
  run_verified(p.function, names, target.is_gpu() ? ir::TargetDesc{} : target);
  ir::Function& f = p.function;
  f.walk([&](ir::OpId id) {
    if (f.kind(id) != ir::OpKind::div_ || f.type(f.result(id)).element() != ir::Element::f32) return;
    passes::Rewriter r(f);
    r.at(id);
    r.replace(id, r.binary(ir::OpKind::div_rn_, f.operand(id, 0), f.operand(id, 1)));
  });
}

RewritingExecutor after_passes(const ir::TargetDesc& target, std::size_t count) {
  return RewritingExecutor(
      fmt::format("interpreter after {} passes", count),
      [target, count](ir::Function& f) {
        const std::vector<std::string_view> names = passes::pipeline(target);
        run_verified(f, std::span(names).first(count), target);
      },
      target.reduction);
}

std::size_t exact_passes(const Program& p, const ir::TargetDesc& target) {
  const std::vector<std::string_view> names = passes::pipeline(target);
  const ir::Function& f = p.function;
  bool has_order = false, has_row = false;
  f.walk([&](ir::OpId id) {
    if (f.kind(id) == ir::OpKind::dot_)
      if (const ir::Type t = f.type(f.result(id)); t.is_float() && t.extent(t.rank() - 2) == 1) has_row = true;
    const ir::Family family = ir::info(f.kind(id)).family;
    if (family != ir::Family::reduce && family != ir::Family::linalg) return;
    for (const ir::ValueId v : f.op(id).results) has_order = has_order || ir::is_float(f.type(v).element());
    // The only operation on integers by which reductions combine that is not associative.
    for (const ir::BlockId region : f.op(id).regions)
      f.walk(region, [&](ir::OpId inner) { has_order = has_order || f.kind(inner) == ir::OpKind::umulhi_; });
  });
  // Each of these adds floats in another order: on GPUs reductions and products do so by their layouts, on hosts products of one row.
  const std::string_view first = target.is_gpu() ? (has_order ? "assign_layouts" : "") : (has_row ? "sum_dots" : "");
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), first) - names.begin());
}

std::size_t first_wrong_prefix(const Program& p, const ir::TargetDesc& target) {
  InterpreterExecutor reference(target.reduction);
  for (std::size_t n = 1; n <= exact_passes(p, target); ++n) {
    RewritingExecutor candidate = after_passes(target, n);
    if (compare(p, reference, candidate)) return n;
  }
  return 0;
}

std::string pass_name(const ir::TargetDesc& target, std::size_t prefix) {
  return fmt::format("{} (pass {})", passes::pipeline(target)[prefix - 1], prefix);
}

}  // namespace tilewright::fuzz
