// Checked mode: before an access each thread finds the buffer that contains each of its elements, and masks out elements in no buffer.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

class BoundsCheck {
 public:
  explicit BoundsCheck(Emitter& e) : e_(e), b_(e.b()) {}

  /// Emits loads of the list of buffers. `bounds`: the address of a NvptxBounds (backend/nvptx_abi.h). Called at the kernel's entry, in
  /// checked mode only.
  void begin(Value* bounds);

  /// The mask of a load, store, atomic or asynchronous copy, by register; null where it has none. In checked mode also false for elements
  /// outside of the device's buffers, which are counted in the launch's bounds; copies of an element keep their mask.
  Registers active_elements(OpId);

  /// The accesses that were checked, in the order of their records in the launch's bounds.
  const std::vector<AccessSite>& sites() const { return sites_; }

 private:
  void check_some(const AccessSite&, std::int64_t slot, std::span<Value* const> addresses, std::span<Value*> active, Value* reports);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  Value *bounds_ = nullptr, *intervals_ = nullptr, *interval_count_ = nullptr;
  std::vector<AccessSite> sites_;
};

}  // namespace tilewright::backend::nvptx
