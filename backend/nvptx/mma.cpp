// Lowers mma to mma.sync: fragments of the operands are packed into the instruction's registers, one K slice after another.
//
// precision = tf32x3 or bf16x3: a factor x is split into high + low, where high is x rounded to tf32 or bf16 and low is the rounded rest;
// low * low, at most 2^-22 or 2^-16 of the product, is left out. A finite x is limited to the greatest sum of two parts, and its high part
// to the greatest finite number, so that neither rounds to infinity. For infinities and NaNs, low is x and high is 1 with its sign: then no
// infinity is multiplied by a rest that is zero, infinities are multiplied by each other with the right sign, and NaNs by everything.
//
// If a tile is smaller than a fragment, the missing elements along K are zeros in both operands, since 0 times an infinity would be NaN;
// along M and N they are copies, which only compute copies of sums.
#include "backend/nvptx/mma.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"
#include "tileir/diagnostics.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::backend::nvptx {

namespace {

/// The fragments of one tile, indexed by the flat index of their first element in lane 0 of warp 0.
class Fragments {
 public:
  /// inner: the axis along which registers of a fragment are packed; outer: the other axis; `orders`: those of the instruction's
  /// coordinates along these axes (ir::MmaOrder).
  Fragments(const Emitter& e, ValueId tile, int inner, int outer, std::span<const std::int64_t> inner_order,
            std::span<const std::int64_t> outer_order)
      : layout_(e.layout(tile)), registers_(e.registers(tile)), axes_{inner, outer}, orders_{inner_order, outer_order} {
    for (std::uint32_t r = 0; r < registers_.size(); ++r) positions_.emplace(layout_.apply(HardwareDim::reg, r), r);
  }

  int log2_inner() const { return extent(axes_[0]); }
  int log2_outer() const { return extent(axes_[1]); }
  std::uint32_t batches() const { return layout_.rank() == 3 ? 1u << extent(0) : 1; }
  /// The flat index of an element, given the coordinates of instructions.
  std::uint32_t flat(std::uint32_t batch, std::uint32_t inner, std::uint32_t outer) const {
    const std::uint32_t of_batch = layout_.rank() == 3 ? batch << layout_.axis_shift(0) : 0;
    return of_batch | ir::in_order(orders_[0], inner) << layout_.axis_shift(axes_[0]) |
           ir::in_order(orders_[1], outer) << layout_.axis_shift(axes_[1]);
  }
  /// The register that holds an element; none if lane 0 of warp 0 does not hold it.
  std::optional<std::uint32_t> find(std::uint32_t flat) const {
    const auto at = positions_.find(flat);
    return at == positions_.end() ? std::nullopt : std::optional(at->second);
  }
  Value* value(std::uint32_t r) const { return registers_[r]; }

 private:
  int extent(int axis) const { return layout_.log2_extents()[static_cast<std::size_t>(axis)]; }

  const LinearLayout& layout_;
  const Registers& registers_;
  const std::array<int, 2> axes_;
  const std::array<std::span<const std::int64_t>, 2> orders_;
  std::map<std::uint32_t, std::uint32_t> positions_;
};

class MmaLowering {
 public:
  MmaLowering(Emitter& e, OpId id)
      : e_(e),
        id_(id),
        instruction_(ir::matrix_instruction(e.f(), id)),
        order_(ir::mma_order(e.f(), id)),
        element_(e.f().type(e.f().operand(id, 0)).scalar()),
        precision_(static_cast<ir::Precision>(e.f().attr(id, ir::AttrName::precision))),
        a_(operand(order_.swapped ? 1 : 0)),
        b_(operand(order_.swapped ? 0 : 1)),
        sums_(order_.swapped ? Fragments(e, e.f().operand(id, 2), rows(), columns(), order_.rows, order_.columns)
                             : Fragments(e, e.f().operand(id, 2), columns(), rows(), order_.columns, order_.rows)),
        log2_packed_(std::max(5 - std::countr_zero(static_cast<unsigned>(ir::bits(instruction_.factors))), 0)) {}

  void run() {
    Registers out = e_.registers(e_.f().operand(id_, 2));
    const std::uint32_t ks = 1u << std::max(a_.log2_inner() - instruction_.log2_k, 0);
    const std::uint32_t ms = 1u << std::max(sums_.log2_outer() - instruction_.log2_m, 0);
    const std::uint32_t ns = 1u << std::max(sums_.log2_inner() - instruction_.log2_n, 0);
    for (std::uint32_t k = 0; k < ks; ++k)
      for (std::uint32_t batch = 0; batch < sums_.batches(); ++batch)
        for (std::uint32_t m = 0; m < ms; ++m)
          for (std::uint32_t i = 0; i < ns; ++i) {
            const std::uint32_t n = m % 2 == 0 ? i : ns - 1 - i;  // serpentine order: neighbours share a fragment
            multiply(out, batch, m << instruction_.log2_m, n << instruction_.log2_n, k << instruction_.log2_k);
          }
    e_.set(e_.f().result(id_), std::move(out));
  }

 private:
  int rows() const { return e_.f().type(e_.f().result(id_)).rank() - 2; }
  int columns() const { return rows() + 1; }
  /// The fragments of operand i of the op; their axes are K, and the rows of a or the columns of b.
  Fragments operand(int i) const {
    const ValueId tile = e_.f().operand(id_, i);
    return i == 0 ? Fragments(e_, tile, columns(), rows(), order_.k, order_.rows)
                  : Fragments(e_, tile, rows(), columns(), order_.k, order_.columns);
  }

  /// Emits one instruction on the sums of a fragment, if warp 0 has them. m, n, k: the first coordinates of the instruction.
  void multiply(Registers& out, std::uint32_t batch, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    const std::uint32_t first = sums_.flat(batch, n, m);
    if (!sums_.find(first)) return;  // it belongs to another warp
    const std::vector<Part>& as = words(a_, batch, k, m, instruction_.log2_m);
    const std::vector<Part>& bs = words(b_, batch, k, n, instruction_.log2_n);
    std::vector<std::uint32_t> held;
    std::vector<Value*> sums;
    for (std::uint32_t j = 0; j < 1u << (instruction_.log2_m - 2); ++j) {
      const std::uint32_t next_n = sums_.log2_inner() > 0 ? j & 1 : 0, next_m = sums_.log2_outer() > 3 ? (j & 2) << 2 : 0;
      held.push_back(*sums_.find(first | sums_.flat(0, next_n, next_m)));
      sums.push_back(out[held.back()]);
    }
    // The small products come first.
    if (is_split()) {
      sums = instruct(as, &Part::low, bs, &Part::high, sums);
      sums = instruct(as, &Part::high, bs, &Part::low, sums);
    }
    sums = instruct(as, &Part::high, bs, &Part::high, sums);
    // Backwards, so that of several copies the first one remains.
    for (std::size_t j = held.size(); j-- > 0;) out[held[j]] = sums[j];
  }

  /// A register of a fragment; `low`: for split factors, the rest.
  struct Part {
    Value *high = nullptr, *low = nullptr;
  };

  std::vector<Value*> instruct(const std::vector<Part>& as, Value* Part::* of_a, const std::vector<Part>& bs, Value* Part::* of_b,
                               const std::vector<Value*>& sums) {
    std::vector<Value*> inputs;
    for (const Part& p : as) inputs.push_back(p.*of_a);
    for (const Part& p : bs) inputs.push_back(p.*of_b);
    inputs.insert(inputs.end(), sums.begin(), sums.end());
    const std::vector<llvm::Type*> types(sums.size(), sums[0]->getType());
    std::string text(instruction_.ptx);
    std::size_t next = 0;
    for (const std::size_t count : {sums.size(), as.size(), bs.size(), sums.size()}) {
      text += next == 0 ? " {" : ", {";
      for (std::size_t i = 0; i < count; ++i, ++next) text += fmt::format("{}${}", i ? ", " : "", next);
      text += "}";
    }
    return inline_ptx(e_.b(), text + ";", types, inputs, {false, false, true});
  }

  /// The registers of a fragment of a or b: `packed` elements along K each, then the next 8 of the outer axis, then the upper half of K.
  const std::vector<Part>& words(const Fragments& t, std::uint32_t batch, std::uint32_t k, std::uint32_t at, int log2_outer) {
    const std::uint32_t first = t.flat(batch, k, at);
    auto& known = known_[{&t == &a_, first}];
    if (!known.empty()) return known;
    const int halves = instruction_.log2_k - log2_packed_ - 2, eights = log2_outer - 3;
    for (std::uint32_t half = 0; half < 1u << halves; ++half)
      for (std::uint32_t eight = 0; eight < 1u << eights; ++eight) {
        std::vector<Value*> elements;
        for (std::uint32_t i = 0; i < 1u << log2_packed_; ++i) {
          const std::uint32_t inner = i | half << (log2_packed_ + 2), outer = t.log2_outer() > 3 ? eight << 3 : 0;
          const bool exists = inner >> t.log2_inner() == 0;
          elements.push_back(exists ? t.value(*t.find(first | t.flat(0, inner, outer))) : zero());
        }
        Part& part = known.emplace_back();
        if (is_split()) {
          const Split factors = split(elements);
          part.high = zero_absent_lanes(word(factors.high), t.log2_inner());
          part.low = zero_absent_lanes(word(rests(factors.whole, part.high)), t.log2_inner());
        } else {
          part.high = zero_absent_lanes(is_near_enough() ? near_tf32(elements[0]) : word(elements), t.log2_inner());
        }
      }
    return known;
  }

  bool is_split() const { return precision_ == ir::Precision::tf32x3 || precision_ == ir::Precision::bf16x3; }
  Value* zero() { return llvm::Constant::getNullValue(a_.value(0)->getType()); }

  /// Whether factors are rounded by near_tf32. On Ampere and Ada, rounding to nearest takes two machine instructions for each element of a
  /// fragment, one of them a comparison: together with what ptxas inserts, half of a main loop. Hopper has one instruction for it.
  bool is_near_enough() const {
    return element_.element() == ir::Element::f32 && log2_packed_ == 0 && precision_ == ir::Precision::standard && e_.target().sm < 90;
  }

  /// x (1 + c). The instruction ignores the last 13 bits, which truncates to tf32. With c = 2^-11 / (2 ln 2), factors whose logarithms are
  /// evenly distributed have no error on average (evenly distributed mantissas: 0.054 * 2^-11), while truncated factors are too small by
  /// 0.72 * 2^-11, which does not average out in a sum. Each result is within 2^-10 - c of x, 1.28 * 2^-11, or equals x if x is a number of
  /// tf32, since c < 2^-11. Infinities and NaNs stay.
  Value* near_tf32(Value* x) {
    llvm::IRBuilder<>& b = e_.b();
    // With a single product by 1 + c, which is an f32, ptxas spills.
    Value* c = llvm::ConstantFP::get(x->getType(), 2955 * 0x1p-23);
    return b.CreateBitCast(b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, c, x}), b.getInt32Ty());
  }

  Value* word(const std::vector<Value*>& elements) {
    llvm::IRBuilder<>& b = e_.b();
    if (element_.element() != ir::Element::f32) return pack(b, element_, elements)[0];
    // Both round to nearest. Ties away from zero take three machine instructions on Hopper, and ties to even take one; Ampere has only the
    // former.
    if (log2_packed_ == 0)
      return inline_ptx(b, e_.target().sm >= 90 ? "cvt.rn.tf32.f32 $0, $1;" : "cvt.rna.tf32.f32 $0, $1;", b.getInt32Ty(), {elements[0]});
    return inline_ptx(b, "cvt.rn.bf16x2.f32 $0, $2, $1;", b.getInt32Ty(), {elements[0], elements[1]});
  }

  /// Split factors: the value that is rounded to the high part, and the value whose rest is the low part.
  struct Split {
    std::vector<Value*> high, whole;
  };
  /// Finite factors are limited to the greatest sum of two parts, and high parts to the greatest number of their type, so that neither
  /// rounds to infinity; for other factors the high part is 1 with the factor's sign.
  Split split(const std::vector<Value*>& elements) {
    constexpr std::uint32_t kSignAndOne = 0xbf800000;  // the bits of -1; an infinity has all exponent bits set
    const bool is_bf16 = log2_packed_ == 1;
    const double greatest = is_bf16 ? 0x1.fep+127 : 0x1.ffcp+127, greatest_sum = is_bf16 ? 0x1.fffep+127 : 0x1.fffff8p+127;
    llvm::IRBuilder<>& b = e_.b();
    Split result;
    for (Value* x : elements) {
      Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      Value* is_finite = b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(x->getType()));
      const auto at_most = [&](double limit) {
        return b.CreateCopySign(b.CreateMinNum(size, llvm::ConstantFP::get(x->getType(), limit)), x);
      };
      Value* one = b.CreateBitCast(b.CreateAnd(b.CreateBitCast(x, b.getInt32Ty()), b.getInt32(kSignAndOne)), x->getType());
      result.high.push_back(b.CreateSelect(is_finite, at_most(greatest), one));
      result.whole.push_back(b.CreateSelect(is_finite, at_most(greatest_sum), x));
    }
    return result;
  }

  /// The elements minus their rounded values, which word() has packed into `rounded`.
  std::vector<Value*> rests(const std::vector<Value*>& elements, Value* rounded) {
    llvm::IRBuilder<>& b = e_.b();
    std::vector<Value*> result;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Value* bits = rounded;
      if (log2_packed_ == 1) bits = i == 0 ? b.CreateShl(rounded, 16) : b.CreateAnd(rounded, e_.i32(static_cast<int>(0xffff0000)));
      result.push_back(b.CreateFSub(elements[i], b.CreateBitCast(bits, elements[i]->getType())));
    }
    return result;
  }

  /// Lanes hold copies for elements of K outside of the tile: replaces these by zeros.
  Value* zero_absent_lanes(Value* word, int log2_k) {
    const int lanes = std::clamp(log2_k - log2_packed_, 0, 2);  // lane bits that select elements of the tile
    if (lanes == 2) return word;
    if (!is_present_) is_present_ = e_.b().CreateICmpEQ(e_.b().CreateAnd(e_.lane(), e_.i32(3 & ~((1 << lanes) - 1))), e_.i32(0));
    return e_.b().CreateSelect(is_present_, word, llvm::Constant::getNullValue(word->getType()));
  }

  Emitter& e_;
  const OpId id_;
  const ir::MatrixInstruction& instruction_;
  const ir::MmaOrder order_;
  const Type element_;
  const ir::Precision precision_;
  const Fragments a_, b_, sums_;  // a_, b_: the first and second operand of the instruction
  const int log2_packed_;         // elements in a 32-bit register
  Value* is_present_ = nullptr;
  std::map<std::pair<bool, std::uint32_t>, std::vector<Part>> known_;
};

}  // namespace

void emit_mma(Emitter& e, OpId id) {
  TW_CHECK(!ir::is_asynchronous(ir::matrix_instruction(e.f(), id)), "expand_async_mma has expanded products of asynchronous instructions");
  MmaLowering(e, id).run();
}

}  // namespace tilewright::backend::nvptx
