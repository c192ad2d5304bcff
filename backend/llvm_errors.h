// Turns LLVM's own errors into reports of compiler bugs.
#pragma once
#include <string>

namespace llvm {
class LLVMContext;
}

namespace tilewright::backend {

/// Makes fatal errors of LLVM end the process with the report of a compiler bug: LLVM is built without exceptions, so its frames cannot be
/// unwound. May be called more than once.
void install_fatal_error_handler();

/// Collects the errors that LLVM diagnoses in a context, instead of printing them and exiting. Warnings and remarks are dropped.
class LlvmErrors {
 public:
  /// The context must not be used after this object is destroyed.
  explicit LlvmErrors(llvm::LLVMContext&);
  LlvmErrors(const LlvmErrors&) = delete;
  LlvmErrors& operator=(const LlvmErrors&) = delete;
  /// Throws CompilerBug if there are any.
  void expect_none() const;

 private:
  std::string text_;
};

}  // namespace tilewright::backend
