// device_print and device_assert: records in a buffer that the launch passes (backend/nvptx_abi.h).
#pragma once
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

class Reports {
 public:
  /// `buffer`: the address of the buffer, an i64 that is 0 if the launch has none. Called at the kernel's entry if the function has
  /// reports.
  void begin(Value* buffer) { buffer_ = buffer; }
  /// Appends a record of the op's operands to the buffer if `condition` (null: always), which is equal in all threads, holds.
  void emit(Emitter&, OpId, Value* condition);
  /// The ops that report, indexed by the numbers in their records.
  const std::vector<ReportSite>& sites() const { return sites_; }

 private:
  Value* buffer_ = nullptr;
  std::vector<ReportSite> sites_;
};

void emit_device_print(Emitter&, Reports&, OpId);
void emit_device_assert(Emitter&, Reports&, OpId);

}  // namespace tilewright::backend::nvptx
