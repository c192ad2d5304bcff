// Finds tiles, known values and the scope that an expression depends on.
#include "passes/fusion/emit/scopes.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

void Scopes::push(EmitScope scope) {
  open_.push_back(std::move(scope));
  move_builder();
}

void Scopes::pop() {
  open_.pop_back();
  if (!open_.empty()) move_builder();
}

void Scopes::move_builder() {
  const EmitScope& s = open_.back();
  if (s.before)
    ir_.before(s.before);
  else
    ir_.at_end(s.block);
}

void Scopes::insert_before(ir::OpId op) {
  const ir::BlockId block = open_.back().block;
  for (auto s = open_.rbegin(); s != open_.rend() && s->block == block; ++s) s->before = op;
  move_builder();
}

void Scopes::know(Expr e, const Part& p) {
  open_.back().known[e] = p;
  open_.back().depends.clear();
}

const Part* Scopes::find_known(Expr e) const {
  for (auto s = open_.rbegin(); s != open_.rend(); ++s)
    if (const auto at = s->known.find(e); at != s->known.end()) return &at->second;
  return nullptr;
}

const AxisTile& Scopes::tile(Axis a) const {
  for (auto s = open_.rbegin(); s != open_.rend(); ++s)
    if (const auto at = s->tiles.find(a); at != s->tiles.end()) return at->second;
  TW_CHECK(false, "fusion: an axis has no tile");
  return open_.front().tiles.begin()->second;
}

bool Scopes::depends_on(Expr e, EmitScope& s) {
  const auto decide = [&](Expr x) -> std::optional<bool> {
    if (s.known.contains(x)) return true;
    for (const auto& [axis, tile] : s.tiles)
      if (x->axes.contains(axis)) return true;
    return s.known.empty() ? std::optional(false) : std::nullopt;
  };
  return known_fact(e, s.depends, decide, [&](Expr x) {
    return std::any_of(children(x).begin(), children(x).end(), [&](Expr part) { return s.depends.at(part); });
  });
}

std::size_t Scopes::depth_of(Expr e) {
  std::size_t depth = open_.size() - 1;
  while (depth > 0 && !depends_on(e, open_[depth])) --depth;
  return depth;
}

}  // namespace tilewright::passes::fusion
