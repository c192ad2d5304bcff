// The reports of one launch: the lines that its programs print, and the first assertion that fails, which the launch throws.
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

  /// Throws what a print handler threw, else Error at the kernel's line if an assertion failed: that of the program with the lowest ids
  /// (axis 2 counts most), in it the first of the kernel.
  void finish(const Here& launched) const;

 private:
  struct Program {
    std::int32_t z, y, x;  // in this order of weight
    auto operator<=>(const Program&) const = default;
  };
  struct Failure {
    Program program;
    std::int32_t site;
    std::int64_t elements;  // of this one that fail
    std::string message;
  };
  void fail(const Program&, const void* const* operands, std::int32_t site);

  std::span<const backend::ReportSite> sites_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
  std::optional<Failure> first_;  // the lowest, so that the error does not depend on the order of threads
  std::int64_t failures_ = 0;     // elements of all failures
};

}  // namespace tilewright::rt
