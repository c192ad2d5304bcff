// Lowers mma_async to wgmma: PTX ISA 9.0, section 9.7.15.
//
// A product is one inline assembly with all its instructions, which form one group: LLVM then compiles it in a third of the time that one
// for each instruction takes. An accumulator is tied through it and through mma_wait, so that it stays in its registers; nothing between
// the two uses the values. Registers are in the order of the instruction, since the layouts of the op are (ir::mma_layouts).
#include "backend/nvptx/mma_async.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::backend::nvptx {

namespace {

constexpr int kGroupRows = 64;  // of a, in an instruction
constexpr int kWordsOfA = 4;    // the 32-bit registers of a for an instruction

class ProductLowering {
 public:
  ProductLowering(Emitter& e, OpId id)
      : e_(e),
        f_(e.f()),
        id_(id),
        instruction_(ir::matrix_instruction(f_, id)),
        acc_(e.layout(f_.operand(id, 2))),
        log2_group_(instruction_.log2_warps),
        begins_(f_.constant_bits(f_.operand(id, 2)) == std::uint64_t{0}) {
    const std::vector<std::int64_t>& warps = f_.attr_list(id, ir::AttrName::warps);
    const Type sums = f_.type(f_.result(id)), a = f_.type(f_.operand(id, 0));
    const auto part = [&](int axis, std::int64_t among) { return static_cast<int>(sums.extent(axis) / among); };
    row_groups_ = part(0, warps[0] >> log2_group_) / kGroupRows;
    columns_ = part(1, warps[1]);
    n_ = std::min(columns_, instruction_.n.most);
    steps_ = static_cast<int>(a.extent(1) >> instruction_.log2_k);
  }

  void run() {
    const Registers& acc = e_.registers(f_.operand(id_, 2));
    std::vector<Value*> inputs(acc.begin(), acc.end());
    // No thread writes the zeros.
    if (begins_)
      for (Value*& v : inputs) v = llvm::UndefValue::get(v->getType());
    const std::size_t tied = inputs.size();
    const Factor a = factor(0, inputs), b = factor(1, inputs);
    std::string text = "{ .reg .b64 a, b; wgmma.fence.sync.aligned;";
    for (int k = 0; k < steps_; ++k)
      for (int m = 0; m < row_groups_; ++m)
        for (int column = 0; column < columns_; column += n_) text += instruction(a, b, k, m, column);
    text += " wgmma.commit_group.sync.aligned; }";
    std::vector<llvm::Type*> types;
    for (Value* v : acc) types.push_back(v->getType());
    e_.set(f_.result(id_), inline_ptx(e_.b(), text, types, inputs, kCollective, tied));
  }

 private:
  /// A factor in shared memory or, without a descriptor, in registers; `first`: the number of its first operand of the assembly.
  struct Factor {
    std::optional<ir::MatrixDescriptor> descriptor;
    std::size_t first;
    bool is_across() const { return descriptor && !descriptor->along_k; }
  };

  Factor factor(int i, std::vector<Value*>& inputs) {
    const ValueId v = f_.operand(id_, i);
    // Outputs are numbered before inputs, and tied inputs are not counted.
    Factor result{std::nullopt, inputs.size()};
    if (!f_.type(v).is_buffer()) {
      const std::vector<Value*> words = pack(e_.b(), f_.type(v).scalar(), e_.registers(v));
      inputs.insert(inputs.end(), words.begin(), words.end());
      return result;
    }
    result.descriptor =
        std::get<ir::MatrixDescriptor>(ir::matrix_descriptor(e_.layout(v), i == 0 ? 1 : 0, f_.type(v).element_bytes(), false));
    inputs.push_back(descriptor_bits(*result.descriptor, e_.scalar(v), i));
    return result;
  }

  /// The descriptor of the first rows or columns that the thread's group of warps multiplies.
  Value* descriptor_bits(const ir::MatrixDescriptor& d, Value* address, int axis) {
    llvm::IRBuilder<>& b = e_.b();
    ir::F2Matrix group_offset;
    for (std::uint32_t basis : acc_.bases(HardwareDim::warp)) {
      const bool in_group = group_offset.width() < log2_group_;
      const auto at = acc_.coordinates(basis)[static_cast<std::size_t>(axis)];
      group_offset.columns.push_back(in_group ? 0 : static_cast<std::uint32_t>(d.across(static_cast<int>(at))));
    }
    const bool is_divided = std::ranges::any_of(group_offset.columns, [](std::uint32_t c) { return c != 0; });
    if (is_divided) address = b.CreateAdd(address, e_.apply(group_offset, e_.uniform_warp()));
    Value* field = b.CreateLShr(address, 4);
    const bool is_kept = is_fixed(f_.operand(id_, axis)) && ir::enclosing_loop(f_, f_.op(id_).parent);
    if (!is_kept) return b.CreateOr(b.CreateZExt(field, b.getInt64Ty()), b.getInt64(d.bits(0)));
    // ptxas computes the descriptors of all steps of a buffer that stays in its place before a loop, or takes those of a product before it. It
    // has no registers for them, and computes them again in the loop, each in three instructions of 32 bits if it knows the upper half. It
    // does not know that this is the same constant, and adds to 64 bits in one instruction.
    const std::uint64_t bits = d.bits(0);
    Value* low = b.CreateZExt(b.CreateOr(field, b.getInt32(static_cast<std::uint32_t>(bits))), b.getInt64Ty());
    Value* high = b.CreateZExt(e_.unknown_constant(static_cast<std::uint32_t>(bits >> 32)), b.getInt64Ty());
    return b.CreateOr(b.CreateShl(high, 32), low);
  }

  /// Whether the buffer is no slot of several.
  bool is_fixed(ValueId view) const {
    while (const OpId permute = f_.defined_by(view, OpKind::buffer_permute_)) view = f_.operand(permute, 0);
    return !f_.defined_by(view, OpKind::buffer_slot_);
  }

  /// Step k of K, for group m of 64 rows and for the columns from `column` on.
  std::string instruction(const Factor& a, const Factor& b, int k, int m, int column) const {
    std::string text(instruction_.ptx), of_a, sums;
    text.replace(text.find('N'), 1, std::to_string(n_));
    const int each = n_ / 2, first = (m * columns_ + column) / 2;
    for (int i = 0; i < each; ++i) sums += fmt::format("{}${}", i ? ", " : "", first + i);
    std::string set;
    if (a.descriptor) {
      set += fmt::format(" add.s64 a, ${}, {};", a.first, a.descriptor->offset(k, m) >> 4);
      of_a = "a";
    } else {
      const std::size_t word = a.first + static_cast<std::size_t>(kWordsOfA * (m * steps_ + k));
      of_a = fmt::format("{{${}, ${}, ${}, ${}}}", word, word + 1, word + 2, word + 3);
    }
    set += fmt::format(" add.s64 b, ${}, {};", b.first, (b.descriptor->offset(k, 0) + b.descriptor->across(column)) >> 4);
    // Whether the sums are added to; floats are not negated; 16-bit factors in shared memory may be transposed.
    std::string flags = begins_ && k == 0 ? "0" : "1";
    if (instruction_.sums == ir::Element::f32) flags += ", 1, 1";
    if (instruction_.major == ir::MatrixInstruction::Major::either) {
      if (a.descriptor) flags += a.is_across() ? ", 1" : ", 0";
      flags += b.is_across() ? ", 1" : ", 0";
    }
    return fmt::format("{} {} {{{}}}, {}, b, {};", set, text, sums, of_a, flags);
  }

  Emitter& e_;
  const Function& f_;
  const OpId id_;
  const ir::MatrixInstruction& instruction_;
  const LinearLayout& acc_;
  const int log2_group_;                                  // of warps that execute an instruction together
  const bool begins_;                                     // the accumulator is 0: the first step does not read it
  int row_groups_ = 0, columns_ = 0, n_ = 0, steps_ = 0;  // of one group of warps; n_: the columns of an instruction
};

}  // namespace

void emit_mma_async(Emitter& e, OpId id) {
  const ir::MatrixInstruction& i = ir::matrix_instruction(e.f(), id);
  if (!ir::has_instruction(e.target(), i))
    throw Error(e.f().where(id), fmt::format("mma_async: {} does not have {}", e.target().name, i.name));
  ProductLowering(e, id).run();
}

void emit_mma_wait(Emitter& e, OpId id) {
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  std::vector<Value*> words;
  std::vector<std::size_t> ends;
  for (ValueId v : operands) {
    const std::vector<Value*> of_v = pack(e.b(), f.type(v).scalar(), e.registers(v));
    words.insert(words.end(), of_v.begin(), of_v.end());
    ends.push_back(words.size());
  }
  std::vector<llvm::Type*> types;
  for (Value* w : words) types.push_back(w->getType());
  const std::string text = fmt::format("wgmma.wait_group.sync.aligned {};", f.attr(id, ir::AttrName::pending));
  const std::vector<Value*> out = inline_ptx(e.b(), text, types, words, kCollective, words.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type element = f.type(operands[i]).scalar();
    const std::span<Value* const> of_v(out.data() + begin, ends[i] - begin);
    Registers registers = unpack(e.b(), element, of_v, e.registers(operands[i]).size());
    for (std::size_t r = 0; r < registers.size(); ++r) {
      llvm::Type* type = e.registers(operands[i])[r]->getType();
      if (registers[r]->getType() != type) registers[r] = e.b().CreateBitCast(registers[r], type);
    }
    e.set(f.result(id, static_cast<int>(i)), std::move(registers));
    begin = ends[i];
  }
}

void emit_proxy_fence(Emitter& e, OpId id) {
  if (e.target().sm < 90)
    throw Error(e.f().where(id),
                fmt::format("proxy_fence: asynchronous products and bulk copies exist from sm_90 on; the target is {}", e.target().name));
  inline_ptx(e.b(), "fence.proxy.async.shared::cta;", {}, kMemory);
}

}  // namespace tilewright::backend::nvptx
