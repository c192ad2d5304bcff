// mma by mma.sync: fragments of the operands packed into the registers of the instruction, K slice by K slice.
//
// precision = tf32x3: a factor x is high + low, where high is x rounded to tf32 and low the rounded rest; low * low, at most 2^-22 of the
// product, is left out. Where high is no finite number there is no rest.
//
// Elements that the tile does not have (a tile may be smaller than a fragment): along K they are zeros, in both operands, since 0 times an
// infinity would be NaN; along M and N they are copies, which only compute copies of sums.
#include "backend/nvptx/mma.h"

#include <fmt/format.h>

#include <map>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::backend::nvptx {

namespace {

/// The fragments of one tile, by the flat index of their first element in lane 0 of warp 0.
class Fragments {
 public:
  Fragments(const Emitter& e, ValueId tile) : layout_(e.layout(tile)), registers_(e.registers(tile)) {
    for (std::uint32_t r = 0; r < registers_.size(); ++r) positions_.emplace(layout_.apply(HardwareDim::reg, r), r);
  }

  int log2_extent(int axis) const { return layout_.log2_extents()[static_cast<std::size_t>(axis)]; }
  std::uint32_t flat(int axis, std::uint32_t coordinate) const { return coordinate << layout_.axis_shift(axis); }
  /// The register that holds an element; none: no register of lane 0 of warp 0 does.
  std::optional<std::uint32_t> find(std::uint32_t flat) const {
    const auto at = positions_.find(flat);
    return at == positions_.end() ? std::nullopt : std::optional(at->second);
  }
  Value* value(std::uint32_t r) const { return registers_[r]; }

 private:
  const LinearLayout& layout_;
  const Registers& registers_;
  std::map<std::uint32_t, std::uint32_t> positions_;
};

class MmaLowering {
 public:
  MmaLowering(Emitter& e, OpId id)
      : e_(e),
        id_(id),
        instruction_(ir::matrix_instruction(e.f(), id)),
        rank_(e.f().type(e.f().result(id)).rank()),
        element_(e.f().type(e.f().operand(id, 0)).scalar()),
        a_(e, e.f().operand(id, 0)),
        b_(e, e.f().operand(id, 1)),
        sums_(e, e.f().operand(id, 2)) {
    const int bits = element_.element_bits();
    log2_packed_ = bits >= 32 ? 0 : bits == 16 ? 1 : 2;
  }

  void run() {
    Registers out = e_.registers(e_.f().operand(id_, 2));
    const int rows = rank_ - 2, columns = rank_ - 1;
    const std::uint32_t batches = rank_ == 3 ? 1u << sums_.log2_extent(0) : 1;
    const std::uint32_t ks = 1u << std::max(a_.log2_extent(columns) - instruction_.log2_k, 0);
    const std::uint32_t ms = 1u << std::max(sums_.log2_extent(rows) - instruction_.log2_m, 0);
    const std::uint32_t ns = 1u << std::max(sums_.log2_extent(columns) - instruction_.log2_n, 0);
    for (std::uint32_t k = 0; k < ks; ++k)
      for (std::uint32_t batch = 0; batch < batches; ++batch)
        for (std::uint32_t m = 0; m < ms; ++m)
          for (std::uint32_t i = 0; i < ns; ++i) {
            const std::uint32_t n = m % 2 == 0 ? i : ns - 1 - i;  // serpentine: neighbours share a fragment
            multiply(out, batch, m << instruction_.log2_m, n << instruction_.log2_n, k << instruction_.log2_k);
          }
    e_.set(e_.f().result(id_), std::move(out));
  }

 private:
  std::uint32_t batch_part(const Fragments& t, std::uint32_t batch) const { return rank_ == 3 ? t.flat(0, batch) : 0; }

  /// One instruction on the sums of a fragment, if warp 0 has it.
  void multiply(Registers& out, std::uint32_t batch, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    const int rows = rank_ - 2, columns = rank_ - 1;
    const std::uint32_t first = batch_part(sums_, batch) | sums_.flat(rows, m) | sums_.flat(columns, n);
    if (!sums_.find(first)) return;  // of another warp
    const std::vector<Part>& as = words(a_, batch, columns, k, rows, m, instruction_.log2_m);
    const std::vector<Part>& bs = words(b_, batch, rows, k, columns, n, instruction_.log2_n);
    std::vector<std::uint32_t> held;
    std::vector<Value*> sums;
    for (std::uint32_t j = 0; j < 1u << (instruction_.log2_m - 2); ++j) {
      const bool next_column = j & 1, next_row = j & 2;
      const std::uint32_t flat = first | (next_column && sums_.log2_extent(columns) > 0 ? sums_.flat(columns, 1) : 0) |
                                 (next_row && sums_.log2_extent(rows) > 3 ? sums_.flat(rows, 8) : 0);
      held.push_back(*sums_.find(flat));
      sums.push_back(out[held.back()]);
    }
    // The small products first.
    if (is_split_) {
      sums = instruct(as, &Part::low, bs, &Part::high, sums);
      sums = instruct(as, &Part::high, bs, &Part::low, sums);
    }
    sums = instruct(as, &Part::high, bs, &Part::high, sums);
    // Backwards: of copies the first one stays.
    for (std::size_t j = held.size(); j-- > 0;) out[held[j]] = sums[j];
  }

  /// A register of a fragment; `low`: of factors that are split, the rest.
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

  /// The registers of a fragment of a or b: `packed` elements along K each, then the next 8 of the outer axis, then the higher half of K.
  const std::vector<Part>& words(const Fragments& t, std::uint32_t batch, int inner, std::uint32_t k, int outer, std::uint32_t at,
                                 int log2_outer) {
    const bool is_a = &t == &a_;
    const std::uint32_t first = batch_part(t, batch) | t.flat(inner, k) | t.flat(outer, at);
    auto& known = known_[{is_a, first}];
    if (!known.empty()) return known;
    const int halves = instruction_.log2_k - log2_packed_ - 2, rows = log2_outer - 3;
    for (std::uint32_t half = 0; half < 1u << halves; ++half)
      for (std::uint32_t row = 0; row < 1u << rows; ++row) {
        std::vector<Value*> elements;
        for (std::uint32_t i = 0; i < 1u << log2_packed_; ++i) {
          const std::uint32_t inner_offset = i | half << (log2_packed_ + 2);
          const std::uint32_t outer_offset = t.log2_extent(outer) > 3 ? row << 3 : 0;
          const bool exists = inner_offset >> t.log2_extent(inner) == 0;
          elements.push_back(exists ? t.value(*t.find(first | t.flat(inner, inner_offset) | t.flat(outer, outer_offset))) : zero());
        }
        Part& part = known.emplace_back();
        part.high = zero_absent_lanes(word(elements), t.log2_extent(inner));
        if (is_split_) part.low = zero_absent_lanes(word({rest(elements[0], part.high)}), t.log2_extent(inner));
      }
    return known;
  }

  Value* zero() { return llvm::Constant::getNullValue(a_.value(0)->getType()); }

  Value* word(const std::vector<Value*>& elements) {
    if (element_.element() == ir::Element::f32) return inline_ptx(e_.b(), "cvt.rna.tf32.f32 $0, $1;", e_.b().getInt32Ty(), {elements[0]});
    return pack(e_.b(), element_, elements)[0];
  }

  /// x less its value rounded to tf32.
  Value* rest(Value* x, Value* rounded) {
    llvm::IRBuilder<>& b = e_.b();
    Value *high = b.CreateBitCast(rounded, x->getType()), *low = b.CreateFSub(x, high);
    Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, high);
    Value* is_finite = b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(x->getType()));
    return b.CreateSelect(is_finite, low, llvm::Constant::getNullValue(x->getType()));
  }

  /// Lanes hold copies for elements of K beyond the tile: zeros instead.
  Value* zero_absent_lanes(Value* word, int log2_k) {
    const int lanes = std::clamp(log2_k - log2_packed_, 0, 2);  // bits of the lane that are elements of the tile
    if (lanes == 2) return word;
    if (!is_present_) is_present_ = e_.b().CreateICmpEQ(e_.b().CreateAnd(e_.lane(), e_.i32(3 & ~((1 << lanes) - 1))), e_.i32(0));
    return e_.b().CreateSelect(is_present_, word, llvm::Constant::getNullValue(word->getType()));
  }

  Emitter& e_;
  const OpId id_;
  const ir::MatrixInstruction& instruction_;
  const int rank_;
  const Type element_;
  Fragments a_, b_, sums_;
  int log2_packed_ = 0;
  const bool is_split_ = static_cast<ir::Precision>(e_.f().attr(id_, ir::AttrName::precision)) == ir::Precision::tf32x3;
  Value* is_present_ = nullptr;
  std::map<std::pair<bool, std::uint32_t>, std::vector<Part>> known_;
};

}  // namespace

void emit_mma(Emitter& e, OpId id) { MmaLowering(e, id).run(); }

}  // namespace tilewright::backend::nvptx
