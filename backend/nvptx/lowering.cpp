// Emits the kernel's frame, and dispatches ops to the lowerings of their families.
#include "backend/nvptx/lowering.h"

#include <llvm/IR/DIBuilder.h>

#include <filesystem>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/atomics.h"
#include "backend/nvptx/bulk_copy.h"
#include "backend/nvptx/control_flow.h"
#include "backend/nvptx/convert_layout.h"
#include "backend/nvptx/create.h"
#include "backend/nvptx/dot.h"
#include "backend/nvptx/elementwise.h"
#include "backend/nvptx/index.h"
#include "backend/nvptx/inline_ptx.h"
#include "backend/nvptx/launch_plan.h"
#include "backend/nvptx/memory.h"
#include "backend/nvptx/mma.h"
#include "backend/nvptx/mma_async.h"
#include "backend/nvptx/reduce.h"
#include "backend/nvptx/report.h"
#include "backend/nvptx/roles.h"
#include "backend/nvptx/scan.h"
#include "backend/nvptx/shape.h"
#include "backend/nvptx/shared_buffer.h"
#include "backend/nvptx/sort.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

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
    found = found || family == ir::Family::memory || family == ir::Family::atomic || f.kind(id) == OpKind::copy_async_;
  });
  return found;
}

/// Marks a function as a kernel in both ways, since LLVM reads the metadata up to 19 and the calling convention from 18 on.
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

/// Makes parameters by-value structs that the kernel reads where the launch has put them: without grid_constant each thread would copy them
/// (PTX ISA 9.0, section 5.1.6.1).
void mark_tensor_maps(llvm::Function& kernel, unsigned first, unsigned count) {
  if (count == 0) return;
  llvm::LLVMContext& c = kernel.getContext();
  auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(c), kTensorMapBytes);
  std::vector<llvm::Metadata*> numbers;  // from 1
  for (unsigned i = first; i < first + count; ++i) {
    kernel.addParamAttr(i, llvm::Attribute::getWithByValType(c, bytes));
    kernel.addParamAttr(i, llvm::Attribute::getWithAlignment(c, llvm::Align(64)));
    kernel.addParamAttr(i, llvm::Attribute::ReadOnly);
    numbers.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(c), i + 1)));
  }
  kernel.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(
          c, {llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(c, "grid_constant"), llvm::MDNode::get(c, numbers)}));
}

/// Makes a kernel with an empty entry block. After the function's parameters it has its tensor maps, and then `extra` parameters of type i64.
llvm::Function& make_kernel(llvm::Module& m, const Function& f, const KernelOptions& options, int extra) {
  llvm::LLVMContext& c = m.getContext();
  std::vector<llvm::Type*> types;
  for (ValueId v : f.block(f.body()).args) types.push_back(memory_type(c, f.type(v)));
  const std::size_t params = types.size(), maps = tensor_maps(f).size();
  types.resize(params + maps, llvm::PointerType::get(c, 0));
  types.resize(types.size() + static_cast<std::size_t>(extra), llvm::Type::getInt64Ty(c));
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(c), types, false), llvm::GlobalValue::ExternalLinkage,
                                        options.entry, m);
  mark_kernel(m, *kernel, 32 * options.num_warps, options.programs_per_sm);
  mark_tensor_maps(*kernel, static_cast<unsigned>(params), static_cast<unsigned>(maps));
  llvm::BasicBlock::Create(c, "entry", kernel);
  return *kernel;
}

/// The source lines of the user's code, for profilers: only .file and .loc, and no DWARF sections.
class DebugLocations {
 public:
  DebugLocations(llvm::Module& m, const Function& f, llvm::Function& kernel) : f_(f), builder_(m) {
    m.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    for (const std::string& file : f.files) {
      const std::filesystem::path path(file);
      files_.push_back(builder_.createFile(path.filename().string(), path.parent_path().string()));
    }
    if (files_.empty()) files_.push_back(builder_.createFile(f.name, ""));
    builder_.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, files_[0], "tilewright", true, "", 0, "",
                               llvm::DICompileUnit::DebugEmissionKind::DebugDirectivesOnly);
    scope_ = builder_.createFunction(files_[0], kernel.getName(), kernel.getName(), files_[0], 1,
                                     builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), 1, llvm::DINode::FlagZero,
                                     llvm::DISubprogram::SPFlagDefinition);
    kernel.setSubprogram(scope_);
  }

  void set_to_entry(llvm::IRBuilder<>& b) { b.SetCurrentDebugLocation(llvm::DILocation::get(b.getContext(), 1, 0, scope_)); }
  /// An op without a location keeps the location of the op before it.
  void set(llvm::IRBuilder<>& b, OpId id) {
    const ir::Loc& loc = f_.op(id).loc;
    if (loc.line == 0 || loc.file >= files_.size()) return;
    llvm::DILocalScope* scope = scope_;
    if (loc.file != 0) scope = llvm::DILexicalBlockFile::get(b.getContext(), scope_, files_[loc.file], 0);
    b.SetCurrentDebugLocation(llvm::DILocation::get(b.getContext(), loc.line, loc.column, scope));
  }
  void finish() { builder_.finalize(); }

 private:
  const Function& f_;
  llvm::DIBuilder builder_;
  std::vector<llvm::DIFile*> files_;
  llvm::DISubprogram* scope_ = nullptr;
};

/// Lowers one kernel: owns the emitter, and the state of those op families that have state.
class KernelLowering {
 public:
  KernelLowering(llvm::Module& m, const Function& f, const passes::LoweringPlans& plans, const ir::TargetDesc& target,
                 const KernelOptions& options)
      : f_(f),
        has_reports_(has_reports(f)),
        has_bounds_(options.check && has_accesses(f)),
        kernel_(make_kernel(m, f, options, has_reports_ + has_bounds_)),
        locations_(m, f, kernel_),
        e_(kernel_, f, plans, target, {options.num_warps, options.check}, [this](OpId id) { lower_op(id); }),
        index_(e_),
        division_(e_),
        bounds_(e_) {}

  KernelSites run() {
    llvm::IRBuilder<>& b = e_.b();
    locations_.set_to_entry(b);
    const auto& params = f_.block(f_.body()).args;
    unsigned next = 0;
    for (ValueId v : params) {
      Value* x = kernel_.getArg(next++);
      if (f_.type(v).is_bool()) x = b.CreateICmpNE(x, b.getInt8(0));
      e_.set(v, {x});
    }
    for (OpId id : tensor_maps(f_)) e_.set_tensor_map(id, kernel_.getArg(next++));
    // The thread's number is emitted first, so that it dominates every use.
    e_.thread();
    if (has_reports_) reports_.begin(kernel_.getArg(next++));
    if (has_bounds_) bounds_.begin(kernel_.getArg(next++));
    e_.emit_block(f_.body());
    b.CreateRetVoid();
    locations_.finish();
    return {reports_.sites(), bounds_.sites()};
  }

 private:
  void lower_op(OpId id) {
    locations_.set(e_.b(), id);
    switch (f_.kind(id)) {
      // The lowerings of a family take the emitter and the family's state. An op without a lowering does not compile.
#define TW_CASE(name, ...) \
  case OpKind::name##_: return __VA_ARGS__;
#define TW_NOTHING(name)
#define TW_ELEMENTWISE_OP(name) TW_CASE(name, emit_elementwise(e_, index_, division_, id))
#define TW_OTHER_OP(name) TW_CASE(name, emit_##name(e_, id))
#define TW_OP_create(name) TW_CASE(name, emit_##name(e_, index_, id))
#define TW_OP_memory(name) TW_CASE(name, emit_##name(e_, bounds_, id))
#define TW_OP_atomic(name) TW_CASE(name, emit_atomic(e_, bounds_, id))
#define TW_OP_shared TW_NOTHING
#define TW_OP_async(name) TW_CASE(name, emit_##name(e_, id))
#define TW_OP_debug(name) TW_CASE(name, emit_##name(e_, reports_, id))
#define TW_OP_control TW_NOTHING
#define TW_OP_hint TW_NOTHING
#define TW_OP_layout TW_NOTHING
#include "tileir/dispatch.def"
#undef TW_NOTHING
#undef TW_CASE
      case OpKind::for_: return emit_for(e_, id);
      case OpKind::if_: return emit_if(e_, id);
      case OpKind::while_: return emit_while(e_, id);
      case OpKind::convert_layout_: return emit_convert_layout(e_, id);
      case OpKind::barrier_: return e_.barrier();
      case OpKind::extract_slice_: return emit_extract_slice(e_, id);
      case OpKind::alloc_buffer_: return emit_alloc_buffer(e_, id);
      case OpKind::buffer_slot_: return emit_buffer_slot(e_, id);
      case OpKind::buffer_permute_: return emit_buffer_permute(e_, id);
      case OpKind::buffer_store_: return emit_buffer_store(e_, id);
      case OpKind::buffer_load_: return emit_buffer_load(e_, id);
      case OpKind::copy_async_: return emit_copy_async(e_, bounds_, id);
      case OpKind::async_commit_: return emit_async_commit(e_, id);
      case OpKind::async_wait_: return emit_async_wait(e_, id);
      case OpKind::proxy_fence_: return emit_proxy_fence(e_, id);
      case OpKind::assume_: return;
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: return e_.set(f_.result(id), e_.registers(f_.operand(id, 0)));
      case OpKind::yield_:
      case OpKind::condition_: break;
    }
    TW_UNREACHABLE("a terminator is not an op of its own");
  }

  const Function& f_;
  const bool has_reports_, has_bounds_;
  llvm::Function& kernel_;
  DebugLocations locations_;
  Emitter e_;
  IndexArithmetic index_;
  UniformDivision division_;
  BoundsCheck bounds_;
  Reports reports_;
};

}  // namespace

KernelSites lower(llvm::Module& m, const Function& f, const passes::LoweringPlans& plans, const ir::TargetDesc& target,
                  const KernelOptions& options) {
  return KernelLowering(m, f, plans, target, options).run();
}

}  // namespace tilewright::backend::nvptx
