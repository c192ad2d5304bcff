// The memory that a kernel for GPUs reports into, for executors that pass it themselves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"

namespace tilewright::fuzz {

class ReportBuffer {
 public:
  ReportBuffer();
  void* data() { return words_.data(); }
  std::size_t bytes() const { return words_.size() * 8; }
  /// The reports, in the interpreter's wording. Throws if they did not fit.
  std::vector<std::string> texts(const std::vector<backend::ReportSite>&) const;

 private:
  std::vector<std::uint64_t> words_;  // 8-byte words, as the header requires
};

}  // namespace tilewright::fuzz
