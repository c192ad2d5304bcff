// Counts what programs do, and divides by what a machine does in a second.
#include "passes/fusion/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "passes/fusion/cover.h"
#include "passes/fusion/emit/configuration.h"
#include "passes/fusion/products.h"

namespace tilewright::passes::fusion {

namespace {

constexpr std::int64_t kLongestPayload = 1024;

using graph::Combine;
using ir::OpKind;

bool is_reference(Expr e) { return e->is(ExprKind::reference) || e->is(ExprKind::shift_reference) || e->is(ExprKind::delta); }

bool is_transcendental(Expr e) {
  if (e->is(ExprKind::exp) || e->is(ExprKind::log)) return true;
  if (!e->is(ExprKind::function)) return false;
  switch (e->function) {
    case OpKind::tanh_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::erf_: return true;
    default: return false;
  }
}

double tensor_bytes(Tensor t) {
  double elements = 1;
  for (const Dim& d : t->shape) elements *= estimated_extent(d);
  return elements * ir::bytes(t->element);
}

class Estimator {
 public:
  Estimator(const Plan& plan, const ExprBuilder& b, const ir::TargetDesc& target)
      : plan_(plan), b_(b), facts_(machine_facts(target)), tiles_(choose_tiles(plan, b, target)) {}

  KernelCost run() {
    for (const auto& [axis, size] : tiles_.grid) cost_.programs *= tile_count(axis);
    for (const Reduction& r : plan_.reductions) stop_.insert(r.value);
    // What a pass has computed is not computed again by what follows in it: the outputs belong to the last one.
    ExprSet seen;
    for (int pass = 1; pass <= plan_.passes; ++pass) {
      seen.clear();
      add_pass(pass, seen);
    }
    for (const KernelOutput& o : plan_.outputs) {
      visit(o.value, seen);
      cost_.written_bytes += tensor_bytes(o.tensor);
    }
    for (const auto& [tensor, bytes] : read_) {
      const double once = std::min(bytes, tensor_bytes(tensor));
      cost_.read_bytes += once;
      cost_.reread_bytes += bytes - once;
    }
    cost_.fits = fits();
    cost_.seconds = seconds();
    return cost_;
  }

 private:
  double tile_count(Axis a) const { return std::ceil(estimated_extent(a->extent) / static_cast<double>(tiles_.grid.at(a))); }

  // How many elements of a value with these axes all programs compute.
  double evaluations(const AxisSet& axes) const {
    double count = 1;
    for (Axis a : axes) count *= estimated_extent(a->extent);
    for (const auto& [axis, size] : tiles_.grid)
      if (!axes.contains(axis)) count *= tile_count(axis);
    return count;
  }
  static AxisSet both(AxisSet a, const AxisSet& b) {
    a.insert(b);
    return a;
  }

  void add_pass(int pass, ExprSet& seen) {
    for (std::size_t i = 0; i < plan_.accumulators.size(); ++i) {
      const Accumulator& a = plan_.accumulators[i];
      if (a.pass != pass || !plan_.is_read(static_cast<int>(i))) continue;
      add_reduction(a.combine, a.body, {plan_.loop}, a.reduce->operand_element, a.axes, seen);
      if (!a.exponent->is_number(0)) {
        const double steps = std::ceil(estimated_extent(plan_.loop->extent) / static_cast<double>(tiles_.loop));
        cost_.flops += steps * evaluations(a.axes);
        cost_.exponentials += steps * evaluations(a.exponent->axes);
      }
      double cells = 4;
      for (Axis x : a.axes) {
        const auto grid = tiles_.grid.find(x);
        cells *= grid == tiles_.grid.end() ? estimated_extent(x->extent) : static_cast<double>(grid->second);
      }
      cost_.accumulator_bytes += cells;
    }
  }

  void add_reduction(Combine c, Expr body, const AxisSet& along, ir::Element operands, const AxisSet& axes, ExprSet& seen) {
    const double count = evaluations(both(axes, along));
    if (c == Combine::sum && is_product(b_.factors(body), along)) {
      cost_.matrix_flops += 2 * count;
      bits_ = std::min(bits_, ir::bits(operands));
      for (const Factor& f : b_.factors(body)) visit(f.base, seen);
    } else {
      cost_.flops += count;
      for (Axis a : along) {
        const auto inner = tiles_.inner.find(a);
        walks_inside_ |=
            plan_.loop && !axes.contains(plan_.loop) && a != plan_.loop && inner != tiles_.inner.end() && inner->second.is_looped;
      }
      visit(body, seen);
    }
  }

  void visit(Expr e, ExprSet& seen) {
    if (is_reference(e) || stop_.count(e) != 0 || !seen.insert(e).second) return;
    if (e->is(ExprKind::load)) {
      if (!e->tensor->is_scalar) read_[e->tensor] += evaluations(e->axes) * ir::bytes(e->tensor->element);
      return;
    }
    if (e->is(ExprKind::index) || e->is(ExprKind::extent) || e->is(ExprKind::number)) return;
    if (e->is(ExprKind::reduce)) {
      return add_reduction(e->combine, e->operands[0], e->bound, e->operand_element, e->axes, seen);
    }
    if (is_transcendental(e)) {
      cost_.exponentials += evaluations(e->axes);
    } else {
      cost_.flops += evaluations(e->axes) * static_cast<double>(std::max<std::size_t>(children(e).size(), 1));
    }
    for (Expr x : children(e)) visit(x, seen);
  }

  // An axis that a program has whole must fit for every value of its symbols. A sum that is no product, too long for a
  // tile, and the same for all of the loop would be walked again for each tile of it.
  bool fits() const {
    const bool is_bounded =
        std::all_of(tiles_.payload.begin(), tiles_.payload.end(), [](const auto& axis) { return axis.second <= kLongestPayload; });
    return is_bounded && !walks_inside_ && fits_on_chip(plan_) && cost_.accumulator_bytes <= facts_.accumulator_bytes;
  }

  double seconds() const {
    // A loop can be shared out over programs, two steps each. A kernel of fewer programs than processors is short, and launches count as
    // much as what it leaves idle: that has a limit.
    constexpr double kLeastSteps = 2, kLeastBusy = 0.25;
    const double steps = plan_.loop ? estimated_extent(plan_.loop->extent) / static_cast<double>(tiles_.loop) : 1;
    const double busy = std::clamp(cost_.programs * std::max(1.0, steps / kLeastSteps) / facts_.processors, kLeastBusy, 1.0);
    const double memory = (cost_.read_bytes + cost_.written_bytes) / facts_.memory_bytes + cost_.reread_bytes / facts_.cache_bytes;
    const double matrix = bits_ >= 32 ? facts_.matrix_flops_32 : bits_ == 16 ? facts_.matrix_flops_16 : facts_.matrix_flops_8;
    const double compute = cost_.matrix_flops / matrix + cost_.flops / facts_.flops + cost_.exponentials / facts_.exponentials;
    // Memory and arithmetic overlap for the most part.
    constexpr double kApart = 0.25;
    return facts_.launch_seconds + (std::max(memory, compute) + kApart * std::min(memory, compute)) / busy;
  }

  const Plan& plan_;
  const ExprBuilder& b_;
  const MachineFacts& facts_;
  const TileSizes tiles_;
  ExprSet stop_;
  std::map<Tensor, double> read_;
  int bits_ = 64;  // of the narrowest operands of a product
  bool walks_inside_ = false;
  KernelCost cost_;
};

std::string amount(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t i = 0;
  for (; value >= 1000 && i + 1 < std::size(kPrefixes); ++i) value /= 1000;
  return fmt::format("{:.3g} {}{}", value, kPrefixes[i], unit);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

}  // namespace

// GPUs: what data sheets say. Hosts: eight cores with vectors of 256 bits.
const MachineFacts& machine_facts(const ir::TargetDesc& target) {
  static constexpr MachineFacts kHost{40e9, 400e9, 5e11, 5e11, 5e11, 5e11, 8e9, 2e-6, 8, 1 << 20};
  static constexpr MachineFacts kTuring{0.32e12, 1.3e12, 8e12, 8e12, 65e12, 130e12, 1.0e12, 4e-6, 40, 192 << 10};
  static constexpr MachineFacts kAmpere{1.9e12, 4.5e12, 19e12, 156e12, 312e12, 624e12, 2.4e12, 3e-6, 108, 192 << 10};
  static constexpr MachineFacts kHopper{3.3e12, 5.5e12, 67e12, 495e12, 989e12, 1979e12, 3.9e12, 3e-6, 132, 192 << 10};
  if (!target.is_gpu()) return kHost;
  return target.sm >= 90 ? kHopper : target.sm >= 80 ? kAmpere : kTuring;
}

KernelCost estimate(const Plan& plan, const ExprBuilder& b, const ir::TargetDesc& target) { return Estimator(plan, b, target).run(); }

std::string KernelCost::text() const {
  std::string all = fmt::format("estimate: {} from and to memory", amount(read_bytes + written_bytes, "B"));
  if (reread_bytes > 0) all += fmt::format(", {} again from caches", amount(reread_bytes, "B"));
  if (matrix_flops > 0) all += fmt::format(", {} in products", amount(matrix_flops, "flop"));
  all += fmt::format(", {} beside", amount(flops, "flop"));
  if (exponentials > 0) all += fmt::format(", {}", amount(exponentials, "exp"));
  if (accumulator_bytes > 0) all += fmt::format(", {} of accumulators a program", amount(accumulator_bytes, "B"));
  return all + fmt::format(": about {} in {:.0f} programs", time_text(seconds), programs) + (fits ? "" : "; does not fit");
}

}  // namespace tilewright::passes::fusion
