// The pools of a Function and the links between them.
#include "tileir/ir.h"

#include <algorithm>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

Function::Function(std::string name) : name(std::move(name)) { blocks_.emplace_back(); }

namespace {
const Attr* find(const OpData& op, AttrName name) {
  for (const Attr& a : op.attrs)
    if (a.name == name) return &a;
  return nullptr;
}

/// Sorts attributes, so that equal ops compare equal.
void sort_attrs(OpData& op) {
  const std::vector<AttrInfo>& row = info(op.kind).attributes;
  const auto index_in_row = [&](const Attr& a) {
    return std::find_if(row.begin(), row.end(), [&](const AttrInfo& i) { return i.name == a.name; }) - row.begin();
  };
  std::sort(op.attrs.begin(), op.attrs.end(), [&](const Attr& a, const Attr& b) { return index_in_row(a) < index_in_row(b); });
}
}  // namespace

std::int64_t Function::attr(OpId id, AttrName name) const {
  const Attr* a = find(op(id), name);
  return a ? a->number : 0;
}
const std::vector<std::int64_t>& Function::attr_list(OpId id, AttrName name) const {
  static const std::vector<std::int64_t> none;
  const Attr* a = find(op(id), name);
  return a ? a->list : none;
}
const std::string& Function::attr_text(OpId id, AttrName name) const {
  static const std::string none;
  const Attr* a = find(op(id), name);
  return a ? a->text : none;
}
bool Function::has_attr(OpId id, AttrName name) const { return find(op(id), name) != nullptr; }

OpId Function::defined_by(ValueId v, OpKind k) const {
  const OpId id = value(v).op;
  return id && kind(id) == k ? id : OpId{};
}

std::optional<std::uint64_t> Function::constant_bits(ValueId v) const {
  const OpId id = defined_by(v, OpKind::constant_);
  if (!id) return std::nullopt;
  return static_cast<std::uint64_t>(attr(id, AttrName::value));
}

bool Function::encloses(BlockId outer, BlockId inner) const {
  for (BlockId b = inner; b;) {
    if (b == outer) return true;
    const OpId parent = block(b).parent;
    b = parent ? op(parent).parent : BlockId{};
  }
  return false;
}

BlockId Function::defining_block(ValueId v) const {
  const ValueData& d = value(v);
  return d.op ? op(d.op).parent : d.block;
}

Location Function::where(OpId id) const {
  const Loc loc = op(id).loc;
  if (loc.line == 0 || loc.file >= files.size()) return {name, 0, 0};
  return {files[loc.file], static_cast<int>(loc.line), static_cast<int>(loc.column)};
}

Location Function::where(ValueId v) const {
  const ValueData& d = value(v);
  const OpId at = d.op ? d.op : block(d.block).parent;
  return at ? where(at) : Location{name, 0, 0};
}

std::uint32_t Function::add_file(const std::string& file) {
  const auto it = std::find(files.begin(), files.end(), file);
  if (it != files.end()) return static_cast<std::uint32_t>(it - files.begin());
  files.push_back(file);
  return static_cast<std::uint32_t>(files.size() - 1);
}

LayoutId Function::add_layout(const LinearLayout& layout) {
  auto it = std::find(layouts_.begin(), layouts_.end(), layout);
  if (it == layouts_.end()) it = layouts_.insert(it, layout);
  return {static_cast<std::uint32_t>(it - layouts_.begin())};
}

void Function::link(OpId id, BlockId at, OpId before) {
  BlockData& b = blocks_[at.index];
  OpData& op = ops_[id.index];
  TW_CHECK(!before || ops_[before.index].parent == at, "insertion point lies in another block");
  op.parent = at;
  op.next = before;
  op.prev = before ? ops_[before.index].prev : b.last;
  (op.prev ? ops_[op.prev.index].next : b.first) = id;
  (before ? ops_[before.index].prev : b.last) = id;
}

void Function::unlink(OpId id) {
  OpData& op = ops_[id.index];
  BlockData& b = blocks_[op.parent.index];
  (op.prev ? ops_[op.prev.index].next : b.first) = op.next;
  (op.next ? ops_[op.next.index].prev : b.last) = op.prev;
  op.parent = {};
  op.prev = op.next = {};
}

OpId Function::create_op(OpKind kind, Loc loc, std::span<const ValueId> operands, std::span<const Type> results, std::vector<Attr> attrs,
                         BlockId at, OpId before) {
  const OpId id{static_cast<std::uint32_t>(ops_.size())};
  OpData& op = ops_.emplace_back();
  op.kind = kind;
  op.loc = loc;
  op.attrs = std::move(attrs);
  sort_attrs(op);
  op.operands.assign(operands.begin(), operands.end());
  for (ValueId v : operands) values_[v.index].users.push_back(id);
  for (Type t : results) add_result(id, t);
  link(id, at, before);
  return id;
}

BlockId Function::add_region(OpId id) {
  const BlockId b{static_cast<std::uint32_t>(blocks_.size())};
  blocks_.emplace_back().parent = id;
  ops_[id.index].regions.push_back(b);
  return b;
}

ValueId Function::add_arg(BlockId b, Type t) {
  const ValueId v{static_cast<std::uint32_t>(values_.size())};
  ValueData& d = values_.emplace_back();
  d.type = t;
  d.block = b;
  d.number = static_cast<std::uint32_t>(blocks_[b.index].args.size());
  blocks_[b.index].args.push_back(v);
  return v;
}

ValueId Function::add_param(Type t, Param p) {
  params.push_back(std::move(p));
  return add_arg(body(), t);
}

ValueId Function::add_result(OpId id, Type t) {
  const ValueId v{static_cast<std::uint32_t>(values_.size())};
  ValueData& d = values_.emplace_back();
  d.type = t;
  d.op = id;
  d.number = static_cast<std::uint32_t>(ops_[id.index].results.size());
  ops_[id.index].results.push_back(v);
  return v;
}

void Function::set_attr(OpId id, Attr a) {
  auto& attrs = ops_[id.index].attrs;
  const auto it = std::find_if(attrs.begin(), attrs.end(), [&](const Attr& x) { return x.name == a.name; });
  if (it != attrs.end())
    *it = std::move(a);
  else
    attrs.push_back(std::move(a));
  sort_attrs(ops_[id.index]);
}

void Function::erase_attr(OpId id, AttrName name) {
  std::erase_if(ops_[id.index].attrs, [&](const Attr& a) { return a.name == name; });
}

void Function::drop_use(ValueId v, OpId user) {
  auto& users = values_[v.index].users;
  const auto it = std::find(users.begin(), users.end(), user);
  TW_CHECK(it != users.end(), "use list lacks a user");
  *it = users.back();
  users.pop_back();
}

void Function::set_operand(OpId id, int i, ValueId v) {
  ValueId& slot = ops_[id.index].operands[i];
  if (slot == v) return;
  drop_use(slot, id);
  slot = v;
  values_[v.index].users.push_back(id);
}

void Function::add_operand(OpId id, ValueId v) {
  ops_[id.index].operands.push_back(v);
  values_[v.index].users.push_back(id);
}

void Function::erase_operand(OpId id, int i) {
  auto& operands = ops_[id.index].operands;
  drop_use(operands[i], id);
  operands.erase(operands.begin() + i);
}

void Function::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  auto users = std::move(values_[from.index].users);
  values_[from.index].users.clear();
  for (OpId user : users)
    for (ValueId& slot : ops_[user.index].operands)
      if (slot == from) slot = to;
  auto& mine = values_[to.index].users;
  mine.insert(mine.end(), users.begin(), users.end());
}

void Function::erase(OpId id) {
  for (ValueId r : op(id).results) TW_CHECK(!has_uses(r), "erasing an op whose result has a use");
  for (BlockId b : std::vector<BlockId>(op(id).regions))
    while (block(b).last) {
      const OpId inner = block(b).last;
      TW_CHECK(inner != id, "an op is nested in itself");
      erase(inner);
    }
  while (!op(id).operands.empty()) erase_operand(id, static_cast<int>(op(id).operands.size()) - 1);
  unlink(id);
}

void Function::erase_arg(BlockId b, int i) {
  auto& args = blocks_[b.index].args;
  TW_CHECK(!has_uses(args[i]), "erasing a block argument that has a use");
  args.erase(args.begin() + i);
  for (std::size_t k = i; k < args.size(); ++k) values_[args[k].index].number = static_cast<std::uint32_t>(k);
  if (b == body()) params.erase(params.begin() + i);
}

void Function::erase_result(OpId id, int i) {
  auto& results = ops_[id.index].results;
  TW_CHECK(!has_uses(results[i]), "erasing a result that has a use");
  results.erase(results.begin() + i);
  for (std::size_t k = i; k < results.size(); ++k) values_[results[k].index].number = static_cast<std::uint32_t>(k);
}

void Function::move_before(OpId id, OpId where) {
  if (id == where) return;
  const BlockId at = op(where).parent;
  unlink(id);
  link(id, at, where);
}

void Function::move_to_end(OpId id, BlockId b) {
  unlink(id);
  link(id, b, {});
}

}  // namespace tilewright::ir
