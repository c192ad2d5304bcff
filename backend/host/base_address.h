// The common base of addresses that are constant distances apart.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace tilewright::backend::host {

/// The same address, as a value that LLVM does not look behind. For each access, CodeGenPrepare would weigh whether to compute the base again
/// beside it, and look at all other accesses for that, which takes a time that grows with the square of their number.
inline llvm::Value* as_base(llvm::IRBuilder<>& b, llvm::Value* address) { return b.CreateFreeze(address); }

}  // namespace tilewright::backend::host
