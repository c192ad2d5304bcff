// The reports of one launch: the lines that its programs print, and the first failed assertion, which the launch throws.
#pragma once
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "backend/compiled_kernel.h"
#include "tilewright/here.h"

namespace tilewright::rt {

class Reports {
 public:
  /// `sites` must outlive this object.
  explicit Reports(std::span<const backend::ReportSite> sites) : sites_(sites) {}

  /// A backend::HostReport whose context is a Reports. Thread-safe.
  static void report(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site) noexcept;

  /// Throws the exception of a print handler, if there was one; else, if an assertion failed, Error at the kernel's line: of the program
  /// with the lowest ids (axis 2 is most significant), the kernel's first failed assertion.
  void finish(const Here& launched) const;

 private:
  struct Program {
    std::int32_t z, y, x;  // most significant first
    auto operator<=>(const Program&) const = default;
  };
  struct Failure {
    Program program;
    std::int32_t site;
    std::int64_t elements;  // number of failing elements in this assertion
    std::string message;
  };
  void fail(const Program&, const void* const* operands, std::int32_t site);

  std::span<const backend::ReportSite> sites_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
  std::optional<Failure> first_;  // the lowest, so that the error does not depend on the order of threads
  std::int64_t failures_ = 0;     // failing elements of all failures
};

}  // namespace tilewright::rt
