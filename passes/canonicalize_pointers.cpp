// Canonicalises loop-carried pointers and integer tiles: a tile that a loop advances by a uniform step becomes the tile before the loop
// plus a carried scalar offset.
//
//   for ... (p = init) { use p; yield p + broadcast(s) }   ->   for ... (o = 0) { p = init + broadcast(o); use p; yield o + s }
//
// The loop carries 8 bytes instead of a tile of pointers, and the contiguity and alignment of the addresses are known inside of the loop.
//
// Input, output: any IR. Numerics do not change: integers wrap. See tests/files/passes/canonicalize_pointers/.
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

/// The op (add, sub or add_ptr) by which a loop advances a carried tile, and the step, which is a splat.
struct Advance {
  OpId op;
  ValueId step;
};

/// The advance of carried value k; none if its step is not uniform.
std::optional<Advance> uniform_advance(const Function& f, OpId loop, int k) {
  const BlockId body = f.region(loop);
  const ValueId arg = f.arg(body, k + 1), next = f.operand(f.terminator(body), k);
  const Type t = f.type(arg);
  if (t.is_scalar() || !(t.is_pointer() || t.is_integer())) return std::nullopt;
  const OpId op = f.value(next).op;
  if (!op) return std::nullopt;
  const OpKind kind = f.kind(op);
  if (kind != OpKind::add_ptr_ && kind != OpKind::add_ && kind != OpKind::sub_) return std::nullopt;
  const ValueId a = f.operand(op, 0), b = f.operand(op, 1);
  if (a == arg && is_splat(f, b)) return Advance{op, b};
  if (kind == OpKind::add_ && b == arg && is_splat(f, a)) return Advance{op, a};
  return std::nullopt;
}

ValueId advanced(Rewriter& rw, ValueId tile, ValueId offset) {
  const Type t = rw.ir().type(tile);
  return rw.binary(t.is_pointer() ? OpKind::add_ptr_ : OpKind::add_, tile, rw.broadcast(offset, t.shape()));
}

void carry_offset(Rewriter& rw, OpId loop, int k, Advance advance) {
  Function& f = rw.function();
  const BlockId body = f.region(loop);
  const ValueId arg = f.arg(body, k + 1), init = f.operand(loop, k + 3), result = f.result(loop, k);
  const Type tile = f.type(arg);
  const Element element = tile.is_pointer() ? Element::i64 : tile.element();

  rw.at(loop);
  rw.set_operand(loop, k + 3, rw.constant(Type(element), 0));
  // The ops on the offset are made first, and the uses of the tile are listed before the tile is computed from the offset: both need the
  // carried value itself.
  rw.at(advance.op);
  const ValueId step = splat_scalar(rw, advance.step, element);
  const OpKind kind = f.kind(advance.op) == OpKind::sub_ ? OpKind::sub_ : OpKind::add_;
  const OpId next = f.create_op(kind, f.op(advance.op).loc, std::vector<ValueId>{arg, step}, std::vector<Type>{Type(element)}, {},
                                f.op(advance.op).parent, advance.op);
  rw.set_operand(f.terminator(body), k, f.result(next));
  const std::vector<OpId> users = f.value(arg).users;
  f.set_type(arg, Type(element));
  f.set_type(result, Type(element));

  rw.at_start(body);
  rw.set_loc(f.op(loop).loc);
  const ValueId inside = advanced(rw, init, arg);
  for (OpId user : users)
    if (user != next)
      for (int i = 0; i < static_cast<int>(f.op(user).operands.size()); ++i)
        if (f.operand(user, i) == arg) rw.set_operand(user, i, inside);

  if (!f.has_uses(result)) return;
  const std::vector<OpId> later = f.value(result).users;
  rw.after(loop);
  const ValueId outside = advanced(rw, init, result);
  for (OpId user : later)
    for (int i = 0; i < static_cast<int>(f.op(user).operands.size()); ++i)
      if (f.operand(user, i) == result) rw.set_operand(user, i, outside);
}

}  // namespace

bool canonicalize_pointers(Function& f, const PassContext&) {
  Rewriter rw(f);
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::for_) return;
    for (int k = 0; k < static_cast<int>(f.op(id).results.size()); ++k)
      if (const auto advance = uniform_advance(f, id, k)) carry_offset(rw, id, k, *advance);
  });
  return rw.changed();
}

}  // namespace tilewright::passes
