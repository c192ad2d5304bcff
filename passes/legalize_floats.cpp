// Legalises small floats: arithmetic on f16 and bf16 is done in f32, and casts of small floats become bit operations. Ops for which the
// target has an instruction stay (f16 <-> f32 on most hosts; sums, products, fma, comparisons and more on GPUs). Afterwards only these ops,
// moves, bitcasts and dot use small floats.
//
// Input, output: traced IR. Numerics do not change: each result is the exact one, rounded once. Rounding + - * / and sqrt to f32 first
// gives the same result, since f32 has more than twice the precision of f16 and bf16 plus two bits. See
// tests/files/passes/legalize_floats/.
#include <optional>
#include <vector>

#include "passes/math/small_floats.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

using math::Expr;

/// The casts of a target. GPUs: PTX ISA 8.0, "Half Precision Floating Point Instructions" and "cvt", by compute capability (0 for a host).
math::SmallFloatCasts casts_of(const ir::TargetDesc& t) { return {t.has_f16_conversion, t.sm >= 80, t.sm >= 90}; }

/// Whether a GPU computes the op on this small float in one instruction.
bool has_instruction(OpKind k, Element e, int sm) {
  switch (k) {
    case OpKind::add_:
    case OpKind::sub_:
    case OpKind::mul_:
    case OpKind::fma_: return e == Element::f16 ? sm >= 75 : sm >= 80;
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::fmin_:
    case OpKind::fmax_: return sm >= 80;
    case OpKind::eq_:
    case OpKind::ne_:
    case OpKind::lt_:
    case OpKind::le_:
    case OpKind::gt_:
    case OpKind::ge_: return e == Element::f16 && sm >= 75;
    default: return false;
  }
}

class Legalizer {
 public:
  Legalizer(Rewriter& rewriter, const ir::TargetDesc& target)
      : rewriter_(rewriter), emitter_(rewriter, target.has_fma), target_(target), casts_(casts_of(target)) {}

  /// The value that replaces the op's result; none if the op is legal.
  std::optional<Expr> replacement(ir::OpId);

 private:
  Expr operand(ir::OpId id, int i) { return emitter_.wrap(rewriter_.ir().operand(id, i)); }
  std::optional<Expr> cast(ir::OpId);
  bool is_instruction(Element from, Element to) const;
  /// Ops on signs and classes of floats, as bit operations; they preserve the payloads of NaNs.
  std::optional<Expr> on_bits(OpKind, Expr x, ir::OpId);
  Expr through_f32(ir::OpId);

  Rewriter& rewriter_;
  math::Emitter emitter_;
  const ir::TargetDesc& target_;
  math::SmallFloatCasts casts_;
};

/// Whether the result for operands of the small type is always exact in that type.
bool is_exact(OpKind k) {
  switch (k) {
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::fmin_:
    case OpKind::fmax_:
    case OpKind::ceil_:
    case OpKind::floor_:
    case OpKind::round_:
    case OpKind::rint_:
    case OpKind::trunc_: return true;
    default: return false;
  }
}

bool Legalizer::is_instruction(Element from, Element to) const {
  if (from == Element::f32 || to == Element::f32) {
    const Element small = from == Element::f32 ? to : from;
    if (small == Element::bf16) return casts_.bf16 && to == small;
    return small == Element::f16 ? casts_.f16 : casts_.fp8;
  }
  // GPUs convert f16 from and to every type of 8 to 64 bits.
  const Element other = from == Element::f16 ? to : from;
  return target_.is_gpu() && (from == Element::f16 || to == Element::f16) && (other == Element::f64 || ir::is_integer(other));
}

std::optional<Expr> Legalizer::cast(ir::OpId id) {
  const Element from = rewriter_.ir().type(rewriter_.ir().operand(id, 0)).element(),
                to = rewriter_.ir().type(rewriter_.ir().result(id)).element();
  if (!math::is_small_float(from) && !math::is_small_float(to)) return std::nullopt;
  if (is_instruction(from, to)) return std::nullopt;
  rewriter_.at(id);
  return from == to ? operand(id, 0) : math::convert(operand(id, 0), to, casts_);
}

std::optional<Expr> Legalizer::on_bits(OpKind k, Expr x, ir::OpId id) {
  constexpr std::uint64_t kSign = 0x8000, kMagnitude = 0x7fff;
  const auto bits = [&] { return math::unsigned_bits(x); };
  const std::uint64_t infinity = x.element() == Element::f16 ? 0x7c00 : 0x7f80;
  switch (k) {
    case OpKind::neg_: return math::bitcast(bits() ^ kSign, x.element());
    case OpKind::abs_: return math::bitcast(bits() & kMagnitude, x.element());
    case OpKind::copysign_: return math::bitcast((bits() & kMagnitude) | (math::unsigned_bits(operand(id, 1)) & kSign), x.element());
    case OpKind::isnan_: return (bits() & kMagnitude) > infinity;
    case OpKind::isinf_: return (bits() & kMagnitude) == infinity;
    default: return std::nullopt;
  }
}

Expr Legalizer::through_f32(ir::OpId id) {
  OpKind kind = rewriter_.ir().kind(id);
  // On GPUs `/` of f32 is not correctly rounded.
  if (kind == OpKind::div_ && target_.is_gpu()) kind = OpKind::div_rn_;
  const Element small = operand(id, 0).element();
  std::vector<ir::ValueId> wide;
  for (int i = 0; i < static_cast<int>(rewriter_.ir().op(id).operands.size()); ++i) wide.push_back(math::widen(operand(id, i), casts_).id);
  const Expr y = emitter_.wrap(rewriter_.ir().result(rewriter_.create(kind, wide)));
  if (y.element() != Element::f32) return y;  // the result of a comparison
  return is_exact(kind) ? math::narrow_exact(y, small, casts_) : math::narrow(y, small, casts_);
}

std::optional<Expr> Legalizer::replacement(ir::OpId id) {
  const ir::Function& f = rewriter_.ir();
  const OpKind kind = f.kind(id);
  if (kind == OpKind::cast_) return cast(id);
  const bool moves = kind == OpKind::select_ || kind == OpKind::bitcast_ || kind == OpKind::constant_ || kind == OpKind::add_ptr_;
  if (!ir::info(kind).has(ir::kElementwise) || moves) return std::nullopt;
  const ir::Type t = f.type(f.operand(id, 0));
  if (t.is_pointer() || !math::is_small_float(t.element())) return std::nullopt;
  if (target_.is_gpu() && !ir::is_fp8(t.element()) && has_instruction(kind, t.element(), target_.sm)) return std::nullopt;
  rewriter_.at(id);
  if (kind == OpKind::fma_) return math::fma_small(operand(id, 0), operand(id, 1), operand(id, 2), casts_);
  if (std::optional<Expr> y = on_bits(kind, operand(id, 0), id)) return y;
  return through_f32(id);
}

}  // namespace

bool legalize_floats(ir::Function& f, const PassContext& context) {
  Rewriter rewriter(f);
  Legalizer legalizer(rewriter, context.target);
  f.walk([&](ir::OpId id) {
    if (const std::optional<Expr> y = legalizer.replacement(id)) rewriter.replace(id, y->id);
  });
  return rewriter.changed();
}

}  // namespace tilewright::passes
