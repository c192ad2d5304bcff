// The kernel's frame, its blocks, loops and branches. Conditions and bounds are scalars, which every thread holds alike, so no branch
// made here divides a warp.
#include <fmt/format.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <filesystem>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

NvptxLowering::NvptxLowering(llvm::Module& m, const Function& f, const ir::TargetDesc& target, int num_warps, bool check)
    : m_(m),
      c_(m.getContext()),
      b_(c_),
      f_(f),
      target_(target),
      num_warps_(num_warps),
      check_(check),
      axes_(f),
      registers_(f.value_capacity()) {}

namespace {

bool has_reports(const Function& f) {
  bool found = false;
  f.walk([&](OpId id) { found = found || ir::info(f.kind(id)).family == ir::Family::debug; });
  return found;
}

bool has_accesses(const Function& f) {
  bool found = false;
  f.walk([&](OpId id) {
    const ir::Family family = ir::info(f.kind(id)).family;
    found = found || family == ir::Family::memory || family == ir::Family::atomic;
  });
  return found;
}

/// Both forms, since LLVM reads the metadata up to 19 and the calling convention from 18 on.
void mark_kernel(llvm::Module& m, llvm::Function& function, int threads, int programs_per_sm) {
  llvm::LLVMContext& c = m.getContext();
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  auto* annotations = m.getOrInsertNamedMetadata("nvvm.annotations");
  const auto annotate = [&](const char* name, int value) {
    annotations->addOperand(
        llvm::MDNode::get(c, {llvm::ValueAsMetadata::get(&function), llvm::MDString::get(c, name),
                              llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(c), value))}));
  };
  annotate("kernel", 1);
  annotate("reqntidx", threads);
  if (programs_per_sm > 0) annotate("minctasm", programs_per_sm);
}

}  // namespace

void NvptxLowering::run(const std::string& entry, int programs_per_sm) {
  std::vector<llvm::Type*> types;
  for (ValueId v : f_.block(f_.body()).args) types.push_back(memory_type(c_, f_.type(v)));
  const bool reports = has_reports(f_), checks = check_ && has_accesses(f_);
  types.resize(types.size() + reports + checks, b_.getInt64Ty());
  function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false), llvm::GlobalValue::ExternalLinkage, entry, m_);
  mark_kernel(m_, *function_, 32 * num_warps_, programs_per_sm);

  llvm::DIBuilder debug(m_);
  m_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  for (const std::string& file : f_.files) {
    const std::filesystem::path path(file);
    debug_files_.push_back(debug.createFile(path.filename().string(), path.parent_path().string()));
  }
  if (debug_files_.empty()) debug_files_.push_back(debug.createFile(f_.name, ""));
  // Only .file and .loc: what profilers need, and no DWARF sections.
  debug.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, debug_files_[0], "tilewright", true, "", 0, "",
                          llvm::DICompileUnit::DebugEmissionKind::DebugDirectivesOnly);
  debug_scope_ =
      debug.createFunction(debug_files_[0], entry, entry, debug_files_[0], 1, debug.createSubroutineType(debug.getOrCreateTypeArray({})), 1,
                           llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(debug_scope_);

  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", function_));
  b_.SetCurrentDebugLocation(llvm::DILocation::get(c_, 1, 0, debug_scope_));
  const auto& params = f_.block(f_.body()).args;
  for (std::size_t i = 0; i < params.size(); ++i) {
    Value* v = function_->getArg(static_cast<unsigned>(i));
    if (f_.type(params[i]).is_bool()) v = b_.CreateICmpNE(v, b_.getInt8(0));
    set(params[i], {v});
  }
  if (reports) report_buffer_ = function_->getArg(static_cast<unsigned>(params.size()));
  if (checks) bounds_ = function_->getArg(static_cast<unsigned>(params.size() + reports));
  // Made first, so that they dominate everything.
  thread();
  read_bounds();
  count_divisions();
  emit_block(f_.body());
  b_.CreateRetVoid();
  debug.finalize();
}

llvm::BasicBlock* NvptxLowering::new_block(const char* name) { return llvm::BasicBlock::Create(c_, name, function_); }

void NvptxLowering::set_location(OpId id) {
  const ir::Loc& loc = f_.op(id).loc;
  if (loc.line == 0 || loc.file >= debug_files_.size()) return;
  llvm::DILocalScope* scope = debug_scope_;
  if (loc.file != 0) scope = llvm::DILexicalBlockFile::get(c_, debug_scope_, debug_files_[loc.file], 0);
  b_.SetCurrentDebugLocation(llvm::DILocation::get(c_, loc.line, loc.column, scope));
}

void NvptxLowering::set(ValueId v, Registers values) {
  const std::size_t expected = f_.type(v).is_scalar() ? 1 : layout(v).size(HardwareDim::reg);
  TW_CHECK(values.size() == expected, "a tile has another number of registers than its layout says");
  registers_[v.index] = std::move(values);
}

llvm::Type* NvptxLowering::type_of(ValueId v) { return register_type(c_, f_.type(v)); }
Value* NvptxLowering::poison_of(Type element) { return llvm::PoisonValue::get(register_type(c_, element.scalar())); }

void NvptxLowering::emit_block(BlockId b) {
  for (OpId id : f_.ops(b)) {
    if (ir::info(f_.kind(id)).has(ir::kTerminator)) break;
    set_location(id);
    emit_op(id);
  }
}

void NvptxLowering::emit_op(OpId id) {
  switch (f_.kind(id)) {
#define TW_EMIT(name) \
  case OpKind::name##_: return emit_##name(id);
#define TW_EMIT_LANES(name) \
  case OpKind::name##_: return emit_elementwise(id);
#define TW_FAMILY_program TW_EMIT
#define TW_FAMILY_create TW_EMIT
#define TW_FAMILY_shape TW_EMIT
#define TW_FAMILY_unary TW_EMIT_LANES
#define TW_FAMILY_binary TW_EMIT_LANES
#define TW_FAMILY_ternary TW_EMIT_LANES
#define TW_FAMILY_convert TW_EMIT_LANES
#define TW_FAMILY_memory TW_EMIT
#define TW_FAMILY_atomic TW_EMIT
#define TW_FAMILY_reduce TW_EMIT
#define TW_FAMILY_index TW_EMIT
#define TW_FAMILY_linalg TW_EMIT
#define TW_FAMILY_control(name)
#define TW_FAMILY_debug TW_EMIT
#define TW_FAMILY_hint(name)
#define TW_FAMILY_escape TW_EMIT
#define TW_FAMILY_layout(name)
#define TW_OP(name, family) TW_FAMILY_##family(name)
#include "tileir/op_names.def"
#undef TW_OP
    case OpKind::for_: return emit_for(id);
    case OpKind::if_: return emit_if(id);
    case OpKind::while_: return emit_while(id);
    case OpKind::convert_layout_: return emit_convert_layout(id);
    case OpKind::barrier_: return emit_barrier();
    case OpKind::assume_: return;
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return set(f_.result(id), registers(f_.operand(id, 0)));
    case OpKind::yield_:
    case OpKind::condition_: break;
  }
  TW_UNREACHABLE("a terminator is no op of its own");
}

std::vector<Registers> NvptxLowering::yielded(BlockId b, int skip) const {
  std::vector<Registers> out;
  const auto& values = f_.op(f_.terminator(b)).operands;
  for (std::size_t i = static_cast<std::size_t>(skip); i < values.size(); ++i) out.push_back(registers(values[i]));
  return out;
}

std::vector<Registers> NvptxLowering::phis(std::span<const Registers> like, unsigned incoming) {
  std::vector<Registers> out;
  for (const Registers& r : like) {
    Registers& p = out.emplace_back();
    for (Value* v : r) p.push_back(b_.CreatePHI(v->getType(), incoming));
  }
  return out;
}

void NvptxLowering::add_incoming(std::span<const Registers> phis, std::span<const Registers> values, llvm::BasicBlock* from) {
  for (std::size_t i = 0; i < phis.size(); ++i)
    for (std::size_t r = 0; r < phis[i].size(); ++r) llvm::cast<llvm::PHINode>(phis[i][r])->addIncoming(values[i][r], from);
}

void NvptxLowering::keep_loop(llvm::Instruction* back) {
  llvm::LLVMContext& context = back->getContext();
  llvm::MDNode* no_unroll = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, no_unroll});
  loop->replaceOperandWith(0, loop);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

/// How often a loop runs over a constant range whose length and step together exceed the numbers of its type; else null. LLVM's strength
/// reduction turns the exit of such a loop into a comparison of a counter that wraps around, and ptxas, taking it not to, unrolls it with
/// too few passes (seen in 12.9, 13.0 and 13.4). So it gets a counter of passes that neither knows to be anything else.
Value* NvptxLowering::passes_of_wrapping_range(Value* lo, Value* hi, Value* step, bool is_signed) {
  const auto *from = llvm::dyn_cast<llvm::ConstantInt>(lo), *to = llvm::dyn_cast<llvm::ConstantInt>(hi),
             *by = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (!from || !to || !by || by->isZero()) return nullptr;
  const bool down = is_signed && by->isNegative();
  const llvm::APInt distance = down ? from->getValue() - to->getValue() : to->getValue() - from->getValue();
  const llvm::APInt stride = down ? -by->getValue() : by->getValue();
  bool wraps = false;
  (void)distance.uadd_ov(stride, wraps);
  if (!wraps) return nullptr;
  const llvm::APInt passes = llvm::APIntOps::RoundingUDiv(distance, stride, llvm::APInt::Rounding::UP);
  const bool is_long = passes.getBitWidth() > 32;
  return inline_ptx(b_, fmt::format("mov.b{} $0, {};", is_long ? 64 : 32, passes.getZExtValue()), is_long ? b_.getInt64Ty() : b_.getInt32Ty(),
                    {});
}

void NvptxLowering::emit_for(OpId id) {
  const auto& operands = f_.op(id).operands;
  const bool is_signed = ir::is_signed(f_.type(operands[0]).element());
  Value *lo = scalar(operands[0]), *hi = scalar(operands[1]), *step = scalar(operands[2]);
  Value* zero = llvm::ConstantInt::get(step->getType(), 0);
  // Of a step whose sign is known only when it runs, both tests are made.
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool up = known && known->getSExtValue() > 0, down = known && known->isNegative();
  Value* forward = is_signed ? b_.CreateICmpSGT(step, zero) : b_.CreateICmpNE(step, zero);
  const auto less = [&](Value* a, Value* b) { return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b); };
  Value* enters = nullptr;
  if (up || !is_signed) {
    enters = b_.CreateAnd(forward, less(lo, hi));
  } else {
    Value* backward = less(step, zero);
    enters = b_.CreateOr(b_.CreateAnd(forward, less(lo, hi)), b_.CreateAnd(backward, less(hi, lo)));
  }
  std::vector<Registers> init;
  for (std::size_t i = 3; i < operands.size(); ++i) init.push_back(registers(operands[i]));

  Value* passes = passes_of_wrapping_range(lo, hi, step, is_signed);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *body = new_block("loop"), *after = new_block("done");
  b_.CreateCondBr(enters, body, after);

  b_.SetInsertPoint(body);
  llvm::PHINode* left = nullptr;
  if (passes) {
    left = b_.CreatePHI(passes->getType(), 2);
    left->addIncoming(passes, before);
  }
  auto* index = b_.CreatePHI(lo->getType(), 2);
  index->addIncoming(lo, before);
  const std::vector<Registers> carried = phis(init, 2);
  add_incoming(carried, init, before);
  const BlockId region = f_.region(id);
  set(f_.arg(region, 0), {index});
  for (std::size_t i = 0; i < carried.size(); ++i) set(f_.arg(region, static_cast<int>(i) + 1), carried[i]);
  emit_block(region);
  const std::vector<Registers> next = yielded(region);
  // The distance to the end is exact as an unsigned number, while index + step may wrap.
  Value* next_index = b_.CreateAdd(index, step);
  const auto goes_on_up = [&] { return b_.CreateICmpUGT(b_.CreateSub(hi, index), step); };
  const auto goes_on_down = [&] { return b_.CreateICmpUGT(b_.CreateSub(index, hi), b_.CreateNeg(step)); };
  Value* goes_on = nullptr;
  if (left) {
    Value* fewer = b_.CreateSub(left, llvm::ConstantInt::get(left->getType(), 1));
    left->addIncoming(fewer, b_.GetInsertBlock());
    goes_on = b_.CreateIsNotNull(fewer);
  } else {
    goes_on = up || !is_signed ? goes_on_up() : down ? goes_on_down() : b_.CreateSelect(forward, goes_on_up(), goes_on_down());
  }
  llvm::BasicBlock* last = b_.GetInsertBlock();
  index->addIncoming(next_index, last);
  add_incoming(carried, next, last);
  b_.CreateCondBr(goes_on, body, after);

  b_.SetInsertPoint(after);
  const std::vector<Registers> results = phis(init, 2);
  add_incoming(results, init, before);
  add_incoming(results, next, last);
  for (std::size_t i = 0; i < results.size(); ++i) set(f_.result(id, static_cast<int>(i)), results[i]);
}

void NvptxLowering::emit_if(OpId id) {
  llvm::BasicBlock *then = new_block("then"), *otherwise = new_block("else"), *after = new_block("endif");
  constexpr std::uint32_t kLikely = 2000;
  const bool is_likely = f_.attr(id, ir::AttrName::likely) != 0;
  b_.CreateCondBr(scalar(f_.operand(id, 0)), then, otherwise, is_likely ? llvm::MDBuilder(c_).createBranchWeights(kLikely, 1) : nullptr);
  std::vector<Registers> values[2];
  llvm::BasicBlock* ends[2];
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(i == 0 ? then : otherwise);
    emit_block(f_.region(id, i));
    values[i] = yielded(f_.region(id, i));
    ends[i] = b_.GetInsertBlock();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  const std::vector<Registers> results = phis(values[0], 2);
  for (int i = 0; i < 2; ++i) add_incoming(results, values[i], ends[i]);
  for (std::size_t i = 0; i < results.size(); ++i) set(f_.result(id, static_cast<int>(i)), results[i]);
}

void NvptxLowering::emit_while(OpId id) {
  std::vector<Registers> init;
  for (ValueId v : f_.op(id).operands) init.push_back(registers(v));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *head = new_block("while"), *body = new_block("do"), *after = new_block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  const std::vector<Registers> carried = phis(init, 2);
  add_incoming(carried, init, before);
  for (std::size_t i = 0; i < carried.size(); ++i) set(f_.arg(f_.region(id, 0), static_cast<int>(i)), carried[i]);
  emit_block(f_.region(id, 0));
  const std::vector<Registers> forwarded = yielded(f_.region(id, 0), 1);
  b_.CreateCondBr(scalar(f_.operand(f_.terminator(f_.region(id, 0)), 0)), body, after);
  b_.SetInsertPoint(body);
  for (std::size_t i = 0; i < forwarded.size(); ++i) set(f_.arg(f_.region(id, 1), static_cast<int>(i)), forwarded[i]);
  emit_block(f_.region(id, 1));
  add_incoming(carried, yielded(f_.region(id, 1)), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  for (std::size_t i = 0; i < forwarded.size(); ++i) set(f_.result(id, static_cast<int>(i)), forwarded[i]);
}

}  // namespace tilewright::backend::nvptx
