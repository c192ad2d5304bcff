// Reports LLVM's errors as compiler bugs.
#include "backend/llvm_errors.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

#include "tileir/diagnostics.h"

namespace tilewright::backend {

namespace {

void on_fatal_error(void*, const char* reason, bool) { fatal_compiler_bug(__FILE__, __LINE__, "LLVM", reason); }

void collect(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  auto& all = *static_cast<std::string*>(text);
  if (!all.empty()) all += "; ";
  llvm::raw_string_ostream stream(all);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

}  // namespace

void install_fatal_error_handler() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
}

LlvmErrors::LlvmErrors(llvm::LLVMContext& context) { context.setDiagnosticHandlerCallBack(collect, &text_); }

void LlvmErrors::expect_none() const { TW_CHECK(text_.empty(), "LLVM reports: " + text_); }

}  // namespace tilewright::backend
