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
  /// What was reported, as the interpreter's texts. Throws if it did not fit.
  std::vector<std::string> texts(const std::vector<backend::ReportSite>&) const;

 private:
  std::vector<std::uint64_t> words_;  // of 8 bytes, which the header asks for
};

}  // namespace tilewright::fuzz
