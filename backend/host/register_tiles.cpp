// Finds the accesses of each class, and rejects classes with an access that needs memory.
#include "backend/host/register_tiles.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

class RegisterTiles {
 public:
  explicit RegisterTiles(EvaluationPlan& plan) : p_(plan), f_(plan.f_), classes_(plan.parent_.size()) {}

  void run() {
    find_shapes();
    for (std::uint32_t n = 0; n < p_.blocks_.size(); ++n)
      for (const Step& step : p_.blocks_[n].steps) visit_step(BlockId{n}, step);
    for (const EvaluationPlan::Filled& each : p_.filled_) reject(each.into);
    reject_crowds();
    reject_copied();
    p_.register_tiles_.resize(classes_.size());
    for (ClassId c = 0; c < static_cast<ClassId>(classes_.size()); ++c)
      if (p_.find(c) == c && is_accepted(c)) p_.register_tiles_[static_cast<std::size_t>(c)] = at(c).shape;
    for (BlockPlan& block : p_.blocks_)
      for (Step& step : block.steps) {
        if (!step.is_loops) continue;
        for_each_access(step, [&](ClassId c, const Type&, const AxisMap&) { step.is_unrolled = step.is_unrolled || p_.in_registers(c); });
      }
  }

 private:
  struct Class {
    std::optional<Type> shape;  // the same in all values of the class, apart from extents of 1
    bool is_rejected = false;
    bool is_used_in_loop = false;
  };
  using Visit = std::function<void(ClassId, const Type&, const AxisMap&)>;

  Class& at(ClassId c) { return classes_[static_cast<std::size_t>(p_.find(c))]; }
  void reject(ClassId c) {
    if (c != kNoClass) at(c).is_rejected = true;
  }
  bool is_accepted(ClassId c) { return !at(c).is_rejected && at(c).shape && at(c).is_used_in_loop; }

  // ---- the registers of a class, and the code of an unrolled nest ----

  int vector_bits() const { return p_.memory_->lanes * 32; }
  std::int64_t lanes_of(const std::vector<std::int64_t>& extents) const {
    return extents.empty() ? 1 : std::min<std::int64_t>(extents.back(), p_.memory_->lanes);
  }
  /// Half of the registers: 32 of 512 bits, or 16.
  std::int64_t most_registers() const { return vector_bits() >= 512 ? 16 : 8; }
  std::int64_t registers_of(const Type& t) const {
    const std::int64_t lanes = lanes_of(squeezed(t));
    const std::int64_t bits = t.is_bool() ? 1 : t.element_bytes() * 8;
    return t.elements() / lanes * std::max<std::int64_t>(1, lanes * bits / vector_bits());
  }

  void find_shapes() {
    const auto visit = [&](ValueId v) {
      if (p_.has_buffer(v)) add_shape(p_.class_of(v), f_.type(v));
    };
    f_.walk([&](OpId id) {
      for (ValueId r : f_.op(id).results) visit(r);
      for (BlockId b : f_.op(id).regions)
        for (ValueId a : f_.block(b).args) visit(a);
    });
  }

  void add_shape(ClassId c, const Type& t) {
    std::optional<Type>& shape = at(c).shape;
    if (!shape) shape = t;
    const bool is_same = squeezed(*shape) == squeezed(t) && shape->element() == t.element() && shape->is_pointer() == t.is_pointer();
    if (!is_same || registers_of(t) > most_registers()) reject(c);
  }

  /// Operations in one unrolled nest; larger ones take longer to compile than they save.
  static constexpr std::int64_t kMostWork = 128;

  bool may_unroll(const Step& step) const {
    if (step.is_interchanged || step.transposed) return false;
    const AxisMap all{0, 1, 2, 3, 4};
    return instances(step, all) <= most_registers() && work_of(step) <= kMostWork;
  }

  /// The number of vectors, or scalars, of a value in an unrolled nest whose axes run along these dimensions.
  std::int64_t instances(const Step& step, const AxisMap& dims) const {
    std::int64_t n = 1;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(step.extents.size()); ++d)
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) n *= step.extents[static_cast<std::size_t>(d)];
    const bool is_vector = !step.extents.empty() && std::find(dims.begin(), dims.end(), step.extents.size() - 1) != dims.end();
    return is_vector ? n / lanes_of(step.extents) : n;
  }

  /// Instructions of an unrolled nest, without those that access the buffers and compute addresses.
  std::int64_t work_of(const Step& step) const {
    std::int64_t work = 0;
    std::set<std::pair<ValueId, AxisMap>> counted;
    const auto add = [&](const auto& self, ValueId v, const AxisMap& dims) -> void {
      const Source s = p_.resolve(v);
      if (f_.type(s.value).is_scalar() || p_.schedule(s.value) != Schedule::inlined) return;
      const AxisMap through = through_source(s, dims);
      if (!counted.insert({s.value, through}).second) return;
      work += instances(step, through);
      for (ValueId x : f_.op(f_.value(s.value).op).operands) self(self, x, through);
    };
    const auto axes_of = [&](ValueId v) { return squeezed_axes(f_.type(v)); };
    for (const Item& item : step.items) {
      if (item.fill) {
        work += instances(step, axes_of(item.fill));
        add(add, item.fill, axes_of(item.fill));
        continue;
      }
      const auto& op = f_.op(item.op);
      const AxisMap shape = axes_of(op.operands[0]);
      work += instances(step, shape) * (goes_by_lane(step, item.op) ? 1 + 4 * lanes_of(step.extents) : 1);
      for (ValueId x : op.operands)
        if (!f_.type(x).is_pointer()) add(add, x, axes_of(x));
    }
    return work;
  }

  /// Whether this is an access that is not a vector instruction.
  bool goes_by_lane(const Step& step, OpId id) const {
    if (f_.kind(id) != OpKind::load_ && f_.kind(id) != OpKind::store_) return false;
    const Type t = f_.type(f_.operand(id, 0));
    int last = t.rank() - 1;
    while (last > 0 && t.log2_extent(last) == 0) --last;
    const bool is_contiguous =
        t.is_scalar() || p_.memory_->info(f_.operand(id, 0)).contiguity[static_cast<std::size_t>(last)] >= lanes_of(step.extents);
    const bool has_masks = vector_bits() >= 512 || (vector_bits() >= 256 && ir::bytes(t.element()) >= 4);
    return !is_contiguous || (!has_masks && ir::mask_of(f_, id));
  }

  // ---- accesses ----

  bool is_in_loop(BlockId b) const {
    for (OpId parent = f_.block(b).parent; parent; parent = f_.block(f_.op(parent).parent).parent)
      if (f_.kind(parent) == OpKind::for_ || f_.kind(parent) == OpKind::while_) return true;
    return false;
  }

  void visit_step(BlockId block, const Step& step) {
    const bool in_loop = is_in_loop(block);
    for (OpId id : step.scalars_before)
      for (ValueId x : f_.op(id).operands) reject_unless_scalar(x);
    if (step.op && ir::info(f_.kind(step.op)).family != ir::Family::control) {
      for (ValueId x : f_.op(step.op).operands) reject_unless_scalar(x);
      for (ValueId r : f_.op(step.op).results) reject(p_.class_of(r));
    }
    if (!step.is_loops) return;
    // A contraction keeps the sums of its products in registers, and its nests only fill buffers for these.
    const bool may_be_unrolled = may_unroll(step) && !p_.contraction(f_.block(block).parent);
    for_each_access(step, [&](ClassId c, const Type& t, const AxisMap& dims) {
      add_shape(c, t);
      at(c).is_used_in_loop = at(c).is_used_in_loop || in_loop;
      if (in_loop) used_in_[block.index].insert(p_.find(c));
      if (!may_be_unrolled || !is_vector_or_element(step, t, dims)) reject(c);
    });
  }

  void reject_unless_scalar(ValueId x) {
    if (f_.type(x).is_scalar()) return;
    each_buffer(x, kNoAxes, [&](ClassId c, const Type&, const AxisMap&) { reject(c); });
  }

  /// Whether the lanes of the nest access neighbours, or one element.
  static bool is_vector_or_element(const Step& step, const Type& t, const AxisMap& dims) {
    const int vector_dim = static_cast<int>(step.extents.size()) - 1;
    bool is_last = true;
    for (int axis = t.rank() - 1; axis >= 0; --axis) {
      if (t.log2_extent(axis) == 0) continue;
      if (dims[static_cast<std::size_t>(axis)] == vector_dim && !is_last) return false;
      is_last = false;
    }
    return true;
  }

  /// Calls `visit` for each buffer that the nest reads or writes, with the dimensions that the axes of its tile run along.
  void for_each_access(const Step& step, const Visit& visit) const {
    for (const Item& item : step.items) {
      if (item.fill) {
        each_buffer(item.fill, squeezed_axes(f_.type(item.fill)), visit);
        visit(p_.find(item.target), f_.type(item.fill), squeezed_axes(f_.type(item.fill)));
        continue;
      }
      const auto& op = f_.op(item.op);
      for (ValueId x : op.operands) each_buffer(x, squeezed_axes(f_.type(x)), visit);
      for (ValueId r : op.results) {
        if (!p_.has_buffer(r)) continue;
        AxisMap dims = squeezed_axes(f_.type(r));
        if (op.kind == OpKind::reduce_) {
          const auto axis = static_cast<int>(f_.attr(item.op, ir::AttrName::axis));
          const AxisMap reduced = squeezed_axes(f_.type(op.operands[0]));
          for (int d = 0; d < f_.type(r).rank(); ++d)
            dims[static_cast<std::size_t>(d)] = reduced[static_cast<std::size_t>(d < axis ? d : d + 1)];
        }
        visit(p_.class_of(r), f_.type(r), dims);
      }
    }
  }

  /// The dimensions that the axes of the source run along.
  AxisMap through_source(const Source& s, const AxisMap& dims) const {
    AxisMap through = kNoAxes;
    for (int i = 0; i < f_.type(s.value).rank(); ++i)
      if (s.map[i] >= 0) through[i] = dims[s.map[i]];
    return through;
  }

  /// As Nest::evaluate; values of the nest itself are among the buffers if they have one.
  void each_buffer(ValueId v, const AxisMap& dims, const Visit& visit) const {
    const Type t = f_.type(v);
    if (t.is_scalar()) return;
    const Source s = p_.resolve(v);
    const AxisMap through = through_source(s, dims);
    if (p_.schedule(s.value) != Schedule::inlined) {
      if (p_.has_buffer(s.value)) visit(p_.class_of(s.value), f_.type(s.value), through);
      return;
    }
    for (ValueId x : f_.op(f_.value(s.value).op).operands) each_buffer(x, through, visit);
  }

  /// Rejects the tiles that the nests of a loop access if these need most of the registers together.
  void reject_crowds() {
    for (const auto& [block, classes] : used_in_) {
      std::int64_t registers = 0;
      for (ClassId c : classes) registers += is_accepted(c) ? registers_of(*at(c).shape) : 0;
      // One or two vectors beside full accumulators; others spill.
      if (registers > most_registers() + 2)
        for (ClassId c : classes) reject(c);
    }
  }

  /// Copies between buffers: both are in registers, or none.
  void reject_copied() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockPlan& block : p_.blocks_)
        for (const Step& step : block.steps)
          for (const Copy& copy : step.copies)
            for (const auto& [a, b] : {std::pair{copy.from, copy.to}, std::pair{copy.to, copy.from}}) {
              if (!is_accepted(a) || is_accepted(b)) continue;
              changed = true;
              at(b).is_used_in_loop = true;
              if (!is_accepted(b)) reject(a);
            }
    }
  }

  EvaluationPlan& p_;
  const Function& f_;
  std::vector<Class> classes_;
  std::map<std::uint32_t, std::set<ClassId>> used_in_;  // indexed by block: the classes that its nests access
};

void choose_register_tiles(EvaluationPlan& plan) { RegisterTiles(plan).run(); }

}  // namespace tilewright::backend::host
