// Emits the call of HostLaunch::check.
#include "backend/host/bounds.h"

#include "backend/host_abi.h"
#include "backend/lowering/pointer_origin.h"

namespace tilewright::backend::host {

Value* check_addresses(Emitter& e, Value* addresses, Value* mask, unsigned lanes, OpId id, bool is_store, int element_bytes) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const bool is_vector = addresses->getType()->isVectorTy();
  Value* array = e.alloca_in_entry(b.getInt64Ty(), lanes, 64);
  Value* active = e.alloca_in_entry(b.getInt8Ty(), lanes, 64);
  llvm::Type* flags = is_vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(b.getInt8Ty(), lanes)) : b.getInt8Ty();
  b.CreateAlignedStore(addresses, array, llvm::Align(8));
  b.CreateAlignedStore(mask ? b.CreateZExt(mask, flags) : llvm::ConstantInt::get(flags, 1), active, llvm::Align(1));
  const bool is_atomic = ir::info(f.kind(id)).family == ir::Family::atomic;
  const std::uint32_t site = e.add_site({f.where(id), is_store, element_bytes, pointer_origin(f, f.operand(id, 0)), is_atomic});
  Value* function = e.launch_field(b.getPtrTy(), offsetof(HostLaunch, check));
  Value* context = e.launch_field(b.getPtrTy(), offsetof(HostLaunch, check_context));
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getInt32Ty(), b.getInt32Ty()}, false);
  b.CreateCall(type, function, {context, array, active, b.getInt32(lanes), b.getInt32(site)});
  Value* after = b.CreateAlignedLoad(flags, active, llvm::Align(1));
  return b.CreateICmpNE(after, llvm::Constant::getNullValue(flags));
}

}  // namespace tilewright::backend::host
