// Finds, for the selects with one condition, the items that nothing else uses.
#include "backend/host/guarded_items.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;

namespace {

class Finder {
 public:
  Finder(const Function& f, const EvaluationPlan& plan, const Step& step) : f_(f), plan_(plan), step_(step) {
    for (std::size_t i = 0; i < step.items.size(); ++i)
      if (step.items[i].op) number_[step.items[i].op.index] = i;
  }

  std::vector<GuardedItems> run() const {
    std::map<ValueId, std::vector<std::size_t>> selects;
    for (std::size_t i = 0; i < step_.items.size(); ++i)
      if (const OpId id = step_.items[i].op; id && f_.kind(id) == OpKind::select_ && !f_.type(f_.operand(id, 0)).is_scalar())
        selects[f_.operand(id, 0)].push_back(i);
    std::vector<GuardedItems> found;
    std::vector<bool> is_taken(step_.items.size());
    for (const auto& [condition, of_condition] : selects) {
      GuardedItems group{condition, {}, of_condition};
      group.items = items_of(group);
      const auto taken = [&](std::size_t i) { return is_taken[i]; };
      const bool is_free =
          std::none_of(group.items.begin(), group.items.end(), taken) && std::none_of(of_condition.begin(), of_condition.end(), taken);
      if (group.items.size() < kLeastItems || !is_free || !is_ready(group)) continue;
      for (std::size_t i : group.items) is_taken[i] = true;
      for (std::size_t i : of_condition) is_taken[i] = true;
      found.push_back(std::move(group));
    }
    return found;
  }

 private:
  // A branch that is foreseen costs about as much as two items.
  static constexpr std::size_t kLeastItems = 12;

  /// The items whose results only the selects use, as their first choice, and other such items.
  std::vector<std::size_t> items_of(const GuardedItems& group) const {
    std::vector<bool> is_guarded(step_.items.size());
    std::vector<std::size_t> items;
    for (std::size_t i = group.selects.back(); i-- > 0;) {
      const Item& item = step_.items[i];
      if (!item.op || item.is_recomputed || !ir::info(f_.kind(item.op)).has(ir::kElementwise) || f_.op(item.op).results.size() != 1)
        continue;
      const ValueId result = f_.result(item.op);
      is_guarded[i] = f_.has_uses(result) && !plan_.has_buffer(result) && is_used_by(result, group, is_guarded);
      if (is_guarded[i]) items.insert(items.begin(), i);
    }
    return items;
  }

  bool is_used_by(ValueId v, const GuardedItems& group, const std::vector<bool>& is_guarded) const {
    const auto& users = f_.value(v).users;
    return std::all_of(users.begin(), users.end(), [&](OpId user) {
      const auto at = number_.find(user.index);
      if (at == number_.end()) return false;
      const bool is_select = std::find(group.selects.begin(), group.selects.end(), at->second) != group.selects.end();
      return is_select ? f_.operand(user, 1) == v && f_.operand(user, 0) != v && f_.operand(user, 2) != v : is_guarded[at->second];
    });
  }

  /// Whether everything else that the selects and the guarded items use comes before the first select.
  bool is_ready(const GuardedItems& group) const {
    std::vector<std::size_t> all = group.items;
    all.insert(all.end(), group.selects.begin(), group.selects.end());
    return std::all_of(all.begin(), all.end(), [&](std::size_t i) {
      const auto& operands = f_.op(step_.items[i].op).operands;
      return std::all_of(operands.begin(), operands.end(), [&](ValueId x) {
        const OpId def = f_.value(plan_.resolve(x).value).op;
        const auto at = def ? number_.find(def.index) : number_.end();
        return at == number_.end() || at->second < group.selects.front() ||
               std::find(group.items.begin(), group.items.end(), at->second) != group.items.end();
      });
    });
  }

  const Function& f_;
  const EvaluationPlan& plan_;
  const Step& step_;
  std::unordered_map<std::uint32_t, std::size_t> number_;  // of the item, by op
};

}  // namespace

std::vector<GuardedItems> find_guarded_items(const Function& f, const EvaluationPlan& plan, const Step& step) {
  return Finder(f, plan, step).run();
}

}  // namespace tilewright::backend::host
