// Expands dot_scaled to a dot of the products of elements and scales in f32, each rounded once. If matrix instructions multiply bf16, the
// products become factors of bf16; they are exact, except those below 2^-126 that are not multiples of 2^-133.
//
// Input, output: traced IR. Numerics: with bf16, sums are in the order of matrix instructions, and tiny products are rounded as described.
// See tests/files/passes/expand_dot_scaled/.
#include <algorithm>

#include "passes/math/emitter.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

using math::Expr;

namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::int64_t kBlock = 32;  // elements of K that share a scale

/// 2^(s - 127); NaN for 255.
Expr scale_of(Expr s) {
  const Expr u = cast(s, Element::u32);
  // The exponent field is s, except for 2^-127, a subnormal.
  const Expr bits = select(u == 0, 0x400000, select(u == 255, 0x7fc00000, u << 23));
  return bitcast(bits, Element::f32);
}

/// The value of four bits: one sign bit, two exponent bits, one mantissa bit.
Expr e2m1(Expr nibble) {
  const Expr u = cast(nibble, Element::u32), magnitude = u & 7;
  // From 1 on, a shift and a change of bias turn the bits into those of an f32; for 0 and 1/2 the value is the bits times 1/2.
  const Expr normal = bitcast((magnitude << 22) + (std::int64_t{126} << 23), Element::f32);
  const Expr small = cast(bitcast(magnitude, Element::i32), Element::f32) * 0.5;
  return bitcast(unsigned_bits(select(magnitude < 2, small, normal)) | ((u & 8) << 28), Element::f32);
}

class Expander {
 public:
  Expander(Rewriter& rw, const ir::TargetDesc& target) : rw_(rw), emitter_(rw, target.has_fma), by_bf16_(multiplies_bf16(target)) {}

  void expand(OpId id) {
    rw_.at(id);
    const Function& f = rw_.ir();
    const ValueId a = f.operand(id, 0), b = f.operand(id, 2);
    const std::int64_t m = f.type(a).extent(0), n = f.type(b).extent(1), k = f.type(f.operand(id, 1)).extent(1) * kBlock;
    // K is split into blocks, so that each scale is broadcast over its block.
    const ValueId left = scaled(values(a, 1), {m, k / kBlock, kBlock}, f.operand(id, 1), {m, k / kBlock, 1}, {m, k});
    const ValueId turned = rw_.permute(f.operand(id, 3), Extents{1, 0});
    const ValueId right = scaled(values(b, 0), {k / kBlock, kBlock, n}, turned, {k / kBlock, 1, n}, {k, n});
    const ValueId operands[] = {left, right, f.operand(id, 4)};
    std::vector<ir::Attr> attrs;
    if (!by_bf16_) attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(ir::Precision::ieee), {}, {}});
    rw_.replace(id, f.result(rw_.create(OpKind::dot_, operands, attrs)));
  }

 private:
  static bool multiplies_bf16(const ir::TargetDesc& target) {
    return std::ranges::any_of(ir::mma_instructions(), [&](const ir::MatrixInstruction& i) {
      return i.factors == ir::Element::bf16 && ir::has_instruction(target, i);
    });
  }

  /// The elements in f32; the two elements of a byte along `axis` become an additional axis of 2 after that one.
  Expr values(ValueId x, int axis) {
    const ir::Type t = rw_.ir().type(x);
    if (t.is_float()) return cast(emitter_.wrap(x), Element::f32);
    Extents one = t.shape();
    one.insert(one.begin() + axis + 1, 1);
    Extents two = one;
    two[static_cast<std::size_t>(axis) + 1] = 2;
    Extents line(two.size(), 1);
    line[static_cast<std::size_t>(axis) + 1] = 2;
    const Expr pairs = emitter_.wrap(rw_.broadcast(rw_.reshape(x, one), two));
    const Expr half = cast(emitter_.wrap(rw_.broadcast(rw_.reshape(rw_.arange(0, 2), line), two)), Element::u8);
    return e2m1((pairs >> (half * 4)) & 15);
  }

  ValueId scaled(Expr x, const Extents& blocks, ValueId scale, const Extents& one_each, const Extents& shape) {
    const Expr s = scale_of(emitter_.wrap(rw_.reshape(scale, one_each)));
    const Expr product = emitter_.wrap(rw_.reshape(x.id, blocks)) * emitter_.wrap(rw_.broadcast(s.id, blocks));
    return rw_.reshape(by_bf16_ ? cast(product, Element::bf16).id : product.id, shape);
  }

  Rewriter& rw_;
  math::Emitter emitter_;
  const bool by_bf16_;
};

}  // namespace

bool expand_dot_scaled(Function& f, const PassContext& context) {
  Rewriter rw(f);
  Expander expander(rw, context.target);
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::dot_scaled_) expander.expand(id);
  });
  return rw.changed();
}

}  // namespace tilewright::passes
