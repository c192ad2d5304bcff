// Schedules, aliases, buffer classes and their lifetimes; block_planner.cpp forms the steps.
#include "backend/host/evaluation_plan.h"

#include <algorithm>

#include "backend/host/block_planner.h"
#include "backend/host/contraction.h"
#include "backend/host/kept_factors.h"
#include "backend/host/register_tiles.h"
#include "backend/host/tile_shape.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::Family;
using ir::OpKind;
using ir::Type;

namespace {

// An expression of scalars, index ranges and smaller tiles with more operations than this gets a buffer.
constexpr int kInlineLimit = 16;

int op_cost(OpKind k) {
  switch (k) {
    case OpKind::constant_:
    case OpKind::arange_:
    case OpKind::cast_:
    case OpKind::bitcast_: return 0;
    case OpKind::div_:
    case OpKind::rem_:
    case OpKind::sqrt_:
    case OpKind::div_rn_: return 8;
    default: return 1;
  }
}

}  // namespace

std::vector<std::int64_t> squeezed(const Type& t) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < t.rank(); ++i)
    if (t.log2_extent(i) > 0) out.push_back(t.extent(i));
  return out;
}

AxisMap squeezed_axes(const Type& t) {
  AxisMap map = kNoAxes;
  std::int8_t n = 0;
  for (int i = 0; i < std::min(t.rank(), ir::kMaxRank); ++i)  // with rank() alone, GCC 12 warns of writes past the end
    if (t.log2_extent(i) > 0) map[i] = n++;
  return map;
}

Strides strides_of(const Function& f, const Source& source) {
  Strides strides{};
  const Type t = f.type(source.value);
  std::int64_t stride = 1;
  for (int i = t.rank() - 1; i >= 0; --i) {
    if (t.log2_extent(i) > 0 && source.map[i] >= 0) strides[source.map[i]] = stride;
    stride *= t.extent(i);
  }
  return strides;
}

std::optional<TransposedBlock> transposed_block(int lanes, int element_bytes, std::int64_t rows, std::int64_t columns) {
  const std::int64_t square = 16 / element_bytes;
  if (rows < square || columns < square) return std::nullopt;
  // A vector is written as a whole: it has one element of each row, or 128 bits of each `square` rows. As many vectors as a square has
  // columns hold the squares below each other; further vectors hold the squares beside them, as far as there are registers.
  const std::int64_t below = std::min<std::int64_t>(lanes / 4, rows / square);
  const std::int64_t beside = std::min({below, std::max<std::int64_t>(lanes / square, 1), columns / square});
  return TransposedBlock{static_cast<int>(below * square), static_cast<int>(beside * square)};
}

bool works_on_buffers(OpKind k) {
  switch (k) {
    // Index mappings: aliases, or a buffer under another shape.
    case OpKind::reshape_:
    case OpKind::broadcast_:
    case OpKind::permute_:
    // These are computed inline.
    case OpKind::constant_:
    case OpKind::arange_:
    // These are items of loop nests.
    case OpKind::load_:
    case OpKind::store_:
    case OpKind::reduce_:
    // Its result uses the accumulator's buffer.
    case OpKind::dot_: return false;
    default: break;
  }
  const ir::OpInfo& info = ir::info(k);
  const bool is_scalar = info.family == Family::program;
  const bool is_alias = info.family == Family::hint;
  return !info.has(ir::kElementwise) && !is_scalar && !is_alias && info.family != Family::control;
}

bool maps_indices(const Function& f, OpId id) {
  const auto& op = f.op(id);
  switch (op.kind) {
    case OpKind::broadcast_: return !f.type(op.operands[0]).is_scalar();
    case OpKind::permute_: return true;
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return !f.type(op.operands[0]).is_scalar();
    case OpKind::reshape_:
      return !f.type(op.operands[0]).is_scalar() && !f.type(op.results[0]).is_scalar() &&
             squeezed(f.type(op.operands[0])) == squeezed(f.type(op.results[0]));
    case OpKind::reduce_:
      return !f.type(op.results[0]).is_scalar() &&
             f.type(op.operands[0]).log2_extent(static_cast<int>(f.attr(id, ir::AttrName::axis))) == 0;
    default: return false;
  }
}

Source EvaluationPlan::resolve(ValueId v) const {
  Source s{v, kNoAxes};
  const Type t = f_.type(v);
  for (int i = 0; i < t.rank(); ++i) s.map[i] = t.log2_extent(i) > 0 ? static_cast<std::int8_t>(i) : std::int8_t{-1};
  while (true) {
    const OpId id = f_.value(s.value).op;
    if (!id || !is_alias(id)) return s;
    const auto& op = f_.op(id);
    const ValueId x = op.kind == OpKind::reduce_ ? op.operands[f_.value(s.value).number] : op.operands[0];
    const Type from = f_.type(x);
    const Type to = f_.type(s.value);
    AxisMap map = kNoAxes;
    switch (op.kind) {
      case OpKind::broadcast_:
        for (int i = 0; i < from.rank(); ++i)
          if (from.log2_extent(i) > 0) map[i] = s.map[i];
        break;
      case OpKind::permute_: {
        const auto& axes = f_.attr_list(id, ir::AttrName::axes);
        for (int i = 0; i < to.rank(); ++i) map[axes[i]] = s.map[i];
        break;
      }
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: map = s.map; break;
      default: {  // reshape and reduce: extents other than 1 keep their order
        std::vector<std::int8_t> running;
        for (int i = 0; i < to.rank(); ++i)
          if (to.log2_extent(i) > 0) running.push_back(s.map[i]);
        std::size_t n = 0;
        for (int i = 0; i < from.rank(); ++i)
          if (from.log2_extent(i) > 0) map[i] = running[n++];
      }
    }
    s = {x, map};
  }
}

EvaluationPlan::EvaluationPlan(const Function& f, std::optional<MemoryAxes> memory)
    : f_(f),
      memory_(memory),
      schedule_(f.value_capacity(), Schedule::scalar),
      cost_(f.value_capacity(), 0),
      class_(f.value_capacity(), kNoClass),
      blocks_(f.block_capacity()),
      step_of_(f.op_capacity(), -1) {
  choose_schedules();
  find_contractions();
  BlockPlanner(*this, f.body()).run();
  plan_contractions();
  plan_lifetimes();
  if (memory_) choose_register_tiles(*this);
}

void EvaluationPlan::find_contractions() {
  if (!memory_) return;
  f_.walk([&](OpId id) {
    if (f_.kind(id) != OpKind::for_) return;
    const auto found = find_contraction(f_, *this, *memory_, id);
    if (found) contractions_.emplace(id, *found);
  });
  for (const auto& [loop, found] : contractions_)
    for (const ContractedDot& each : found.dots)
      if (each.left.load) schedule_[f_.result(each.left.load).index] = Schedule::in_place;
  f_.walk([&](OpId id) {
    if (f_.kind(id) != OpKind::dot_ || contraction(f_.block(f_.op(id).parent).parent)) return;
    const auto right = find_right_in_memory(f_, *this, *memory_, id);
    if (!right) return;
    rights_.emplace(id, *right);
    right_of_.emplace(right->load, id);
  });
}

const InPlaceFactor* EvaluationPlan::right_in_memory(OpId dot) const {
  const auto at = rights_.find(dot);
  return at == rights_.end() ? nullptr : &at->second;
}

const Contraction* EvaluationPlan::contraction(OpId loop) const {
  const auto at = contractions_.find(loop);
  return at == contractions_.end() ? nullptr : &at->second;
}

std::vector<ClassId> EvaluationPlan::factor_classes(OpId loop, const Contraction& contraction) const {
  std::vector<ClassId> out;
  for (const ContractedDot& each : contraction.dots)
    for (int operand = each.left.load ? 1 : 0; operand < 2; ++operand) {
      const ValueId factor = f_.operand(each.dot, operand);
      const ClassId c = operand_class(each.dot, operand);
      const bool is_filled = c != class_of(factor);
      if ((is_filled || f_.defining_block(factor) == f_.region(loop)) && std::find(out.begin(), out.end(), c) == out.end())
        out.push_back(c);
    }
  return out;
}

void EvaluationPlan::plan_contractions() {
  class_factor_.assign(parent_.size(), {});
  for (auto& [loop, found] : contractions_) {
    const std::vector<ClassId> factors = factor_classes(loop, found);
    std::int64_t bytes = 0;
    bool is_aligned = true;  // each iteration's part, as every buffer
    for (ClassId c : factors) {
      bytes += class_bytes_[c];
      is_aligned = is_aligned && class_bytes_[c] % 64 == 0;
    }
    std::map<ClassId, Step*> loads;
    for (const ContractedDot& each : found.dots)
      if (Step* step = step_of_right(each)) loads.emplace(operand_class(each.dot, 1), step);
    found.reads_right = loads.size() == found.dots.size();
    if (found.reads_right)
      for (const auto& [c, step] : loads) step->right_factor = c;
    found.iterations = is_aligned ? iterations_in_block(f_, found, bytes, memory_->products) : 1;
    for (ClassId c : factors) class_factor_[c].iterations = found.iterations;
    for (const ContractedDot& each : found.dots) {
      const ClassId c = operand_class(each.dot, 1);
      const Type t = f_.type(f_.operand(each.dot, 1));
      const Type sum = f_.type(f_.result(each.dot));
      const TileShape shape = register_tile_shape(memory_->lanes * 32, sum);
      const auto amx = amx_shape(memory_->products, f_.type(f_.operand(each.dot, 0)), sum);
      const std::int64_t columns = amx ? amx->columns : shape.columns();
      if (std::find(factors.begin(), factors.end(), c) != factors.end() && is_only_filled_for(each.dot, c))
        class_factor_[c].panels = {columns, found.iterations * t.extent(0), t.extent(0) * columns * t.element_bytes(),
                                   amx || (memory_->products.four_bytes && adds_byte_products(t, shape, memory_->lanes))};
    }
    for (ContractedDot& each : found.dots)
      if (each.store && !may_store_in_loop(loop, each.store)) each.store = {};
    plan_kept_factors(loop, found);
  }
}

bool EvaluationPlan::may_store_in_loop(OpId loop, OpId store) const {
  const std::int32_t at = step_of_[store.index];
  const Step& step = blocks_[f_.op(store).parent.index].steps[static_cast<std::size_t>(at)];
  const auto& operands = f_.op(store).operands;
  return at == step_of_[loop.index] + 1 && step.items.size() == 1 && !step.is_interchanged && is_known_before(loop, operands[0]) &&
         (operands.size() < 3 || is_known_before(loop, operands[2]));
}

bool EvaluationPlan::is_known_before(OpId loop, ValueId v) const {
  const ValueId source = resolve(v).value;
  const OpId id = f_.value(source).op;
  if (f_.defining_block(source) != f_.op(loop).parent || !id) return true;
  if (schedule(source) == Schedule::scalar) return id != loop && step_of_[id.index] <= step_of_[loop.index];
  const auto& operands = f_.op(id).operands;
  return std::all_of(operands.begin(), operands.end(), [&](ValueId x) { return is_known_before(loop, x); });
}

Step* EvaluationPlan::step_of_right(const ContractedDot& each) {
  const OpId load = each.right.load;
  if (!load || f_.value(f_.result(load)).users.size() != 1 || f_.type(f_.result(load)).extent(1) == 1) return nullptr;
  for (Step& step : blocks_[f_.op(load).parent.index].steps)
    if (step.items.size() == 1 && step.items[0].op == load && !step.is_interchanged) return &step;
  return nullptr;
}

std::vector<ClassId> EvaluationPlan::kept_classes() const {
  std::vector<ClassId> out;
  for (ClassId c = 0; c < static_cast<ClassId>(class_factor_.size()); ++c)
    if (class_factor_[c].kept_blocks > 0) out.push_back(c);
  return out;
}

bool EvaluationPlan::is_only_filled_for(OpId dot, ClassId c) const {
  const ValueId factor = f_.operand(dot, 1);
  if (c == class_of(factor) && (schedule(factor) != Schedule::fused || f_.value(factor).users.size() != 1)) return false;
  bool is_filled = false;
  for (const Step& step : blocks_[f_.op(dot).parent.index].steps)
    for (const Item& item : step.items) {
      const bool is_written = item.fill ? find(item.target) == c : !f_.op(item.op).results.empty() && f_.result(item.op) == factor;
      if (is_written) is_filled = !step.transposed && (item.fill || f_.kind(item.op) != OpKind::reduce_);
    }
  return is_filled;
}

void EvaluationPlan::plan_kept_factors(OpId loop, Contraction& found) {
  std::vector<ClassId> rights;
  std::int64_t bytes = 0;
  for (const ContractedDot& each : found.dots) {
    const ClassId c = operand_class(each.dot, 1);
    if (class_factor_[c].panels.columns == 0 || std::find(rights.begin(), rights.end(), c) != rights.end()) return;
    rights.push_back(c);
    bytes += class_bytes_[c] * found.iterations;
  }
  if (found.iterations == 1) return;
  const auto inputs = inputs_of_right_factors(f_, found, loop);
  if (!inputs) return;
  // Every step that computes something of the right factors must compute nothing else.
  std::vector<Step*> steps;
  for (Step& step : blocks_[f_.region(loop).index].steps) {
    std::size_t of_factors = 0;
    for (const Item& item : step.items)
      if (item.fill ? std::find(rights.begin(), rights.end(), find(item.target)) != rights.end() : inputs->is_only_of_right(f_, item.op))
        ++of_factors;
    if (step.op && f_.kind(step.op) != OpKind::dot_ && !f_.op(step.op).results.empty() && inputs->is_of_right(f_, step.op)) return;
    const bool is_mixed = std::any_of(step.items.begin(), step.items.end(), [&](const Item& item) {
      return item.op && inputs->is_of_right(f_, item.op) && !inputs->is_only_of_right(f_, item.op);
    });
    if (is_mixed || (of_factors > 0 && of_factors < step.items.size())) return;
    if (of_factors > 0) steps.push_back(&step);
  }
  found.kept_blocks = blocks_to_keep(bytes);
  found.key = inputs->key;
  for (ClassId c : rights) class_factor_[c].kept_blocks = found.kept_blocks;
  for (Step* step : steps) step->is_of_kept_factor = true;
}

void EvaluationPlan::choose_schedules() {
  for (ValueId v : f_.block(f_.body()).args) schedule_[v.index] = Schedule::scalar;
  f_.walk([&](OpId id) {
    const auto& op = f_.op(id);
    for (BlockId b : op.regions)
      for (ValueId a : f_.block(b).args) schedule_[a.index] = f_.type(a).is_scalar() ? Schedule::scalar : Schedule::buffered;
    for (ValueId r : op.results) {
      Schedule& schedule = schedule_[r.index];
      if (f_.type(r).is_scalar()) {
        schedule = Schedule::scalar;
        continue;
      }
      const auto& info = ir::info(op.kind);
      const bool elementwise = info.has(ir::kElementwise);
      const bool reshapes = (info.family == Family::shape && !works_on_buffers(op.kind)) || info.family == Family::hint;
      bool cheap = op.kind == OpKind::constant_ || op.kind == OpKind::arange_ || elementwise || reshapes;
      int cost = op_cost(op.kind) * (reshapes ? 0 : 1);
      for (ValueId x : op.operands) {
        const bool is_read = elementwise && is_of_smaller_tile(x, f_.type(r));
        cheap = cheap && (f_.type(x).is_scalar() || schedule_[x.index] == Schedule::inlined || is_read);
        cost = std::min(cost + cost_[x.index] + (is_read ? 1 : 0), 1 << 20);
      }
      // A reshape that is not an alias cannot be indexed through: its operand must be in a buffer.
      const bool opaque = op.kind == OpKind::reshape_ && !maps_indices(f_, id) && !f_.type(op.operands[0]).is_scalar();
      if (cheap && !opaque && cost <= kInlineLimit) {
        schedule = Schedule::inlined;
        cost_[r.index] = cost;
      } else if (maps_indices(f_, id)) {
        schedule = Schedule::alias;
        if (op.kind == OpKind::permute_ && is_worth_a_buffer(r)) schedule = Schedule::buffered;
      } else if (elementwise || op.kind == OpKind::load_ || op.kind == OpKind::reduce_) {
        schedule = Schedule::fused;
      } else {
        schedule = Schedule::buffered;
      }
    }
  });
}

bool EvaluationPlan::is_of_smaller_tile(ValueId x, const Type& use) const {
  if (schedule_[x.index] != Schedule::alias) return false;
  // A block's argument cannot be aliased, since its buffer may be overwritten before a use.
  const ValueId source = resolve(x).value;
  return schedule_[source.index] == Schedule::fused && f_.type(source).elements() < use.elements();
}

bool EvaluationPlan::is_worth_a_buffer(ValueId permuted) const {
  if (!memory_) return false;
  const Source s = resolve(permuted);
  if (schedule_[s.value.index] != Schedule::fused && schedule_[s.value.index] != Schedule::buffered) return false;
  const Strides strides = strides_of(f_, s);
  const Type t = f_.type(permuted);
  int last = t.rank() - 1;
  while (last > 0 && t.log2_extent(last) == 0) --last;
  const auto contiguous = std::find(strides.begin(), strides.end(), 1);
  return strides[last] > 1 && contiguous != strides.end() &&
         transposed_block(memory_->lanes, t.element_bytes(), t.extent(last), t.extent(static_cast<int>(contiguous - strides.begin())));
}

ClassId EvaluationPlan::new_class(std::int64_t bytes) {
  parent_.push_back(static_cast<ClassId>(parent_.size()));
  class_bytes_.push_back(bytes);
  return parent_.back();
}

ClassId EvaluationPlan::find(ClassId c) const {
  if (c == kNoClass) return c;
  while (parent_[c] != c) c = parent_[c] = parent_[parent_[c]];
  return c;
}

ClassId EvaluationPlan::ensure_class(ValueId v) {
  if (class_[v.index] == kNoClass) {
    const Type t = f_.type(v);
    class_[v.index] = new_class(t.elements() * t.element_bytes());
  }
  return find(class_[v.index]);
}

void EvaluationPlan::unite(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  TW_CHECK(class_bytes_[a] == class_bytes_[b], "buffers of different sizes");
  parent_[a] = b;
}

ClassId EvaluationPlan::operand_class(OpId op, int operand) const {
  for (const Filled& each : filled_)
    if (each.op == op && each.operand == operand) return find(each.into);
  const ClassId c = class_of(f_.operand(op, operand));
  TW_CHECK(c != kNoClass, "an operand that must be in a buffer is not");
  return c;
}

void EvaluationPlan::plan_lifetimes() {
  // The block that owns a class encloses every block where it is written or read.
  std::vector<BlockId> owner(parent_.size());
  std::vector<std::int32_t> last(parent_.size(), -1);
  const auto ancestor_step = [&](BlockId from, std::int32_t step, BlockId to) {
    while (from != to) {
      const OpId parent = f_.block(from).parent;
      if (!parent) return std::int32_t{-1};
      step = step_of_[parent.index];
      from = f_.op(parent).parent;
    }
    return step;
  };
  struct Touch {
    ClassId c;
    BlockId block;
    std::int32_t step;
  };
  std::vector<Touch> touches;
  const auto touch = [&](ClassId c, BlockId b, std::int32_t step) {
    if (c != kNoClass) touches.push_back({find(c), b, step});
  };
  for (std::uint32_t n = 0; n < blocks_.size(); ++n) {
    const BlockId b{n};
    for (std::size_t s = 0; s < blocks_[n].steps.size(); ++s) {
      const Step& step = blocks_[n].steps[s];
      const auto at = static_cast<std::int32_t>(s);
      const auto touch_value = [&](const auto& self, ValueId x) -> void {
        const ValueId source = resolve(x).value;
        touch(class_of(source), b, at);
        if (schedule(source) != Schedule::inlined) return;
        for (ValueId operand : f_.op(f_.value(source).op).operands) self(self, operand);
      };
      const auto touch_op = [&](OpId id) {
        for (ValueId x : f_.op(id).operands) touch_value(touch_value, x);
        for (ValueId r : f_.op(id).results) touch(class_of(r), b, at);
      };
      for (OpId id : step.scalars_before) touch_op(id);
      if (step.op) {
        touch_op(step.op);
        // The products of a block are added after the last step of the loop's body.
        if (const Contraction* found = contraction(step.op))
          for (ClassId c : factor_classes(step.op, *found)) touch(c, b, at);
      }
      for (const Item& item : step.items) {
        if (item.op) touch_op(item.op);
        if (item.fill) {
          touch_value(touch_value, item.fill);
          touch(item.target, b, at);
        }
      }
      for (const Copy& copy : step.copies) {
        touch(copy.from, b, at);
        touch(copy.to, b, at);
      }
      for (const Filled& each : filled_)
        if (each.op == step.op && step.op) touch(each.into, b, at);
    }
  }
  for (const Touch& t : touches)
    if (!owner[t.c] || f_.encloses(t.block, owner[t.c])) owner[t.c] = t.block;
  // If neither of two blocks encloses the other, the owner is the nearest block around both.
  for (const Touch& t : touches)
    while (!f_.encloses(owner[t.c], t.block)) owner[t.c] = f_.op(f_.block(owner[t.c]).parent).parent;
  for (const Touch& t : touches) last[t.c] = std::max(last[t.c], ancestor_step(t.block, t.step, owner[t.c]));
  for (ClassId c = 0; c < static_cast<ClassId>(last.size()); ++c)
    if (owner[c] && last[c] >= 0) blocks_[owner[c].index].steps[last[c]].freed.push_back(c);
}

}  // namespace tilewright::backend::host
