// Leaves the stages of a compilation as files, for TILEWRIGHT_DUMP.
#pragma once
#include <cstdint>
#include <string>

namespace tilewright::detail {

/// A folder of one compiled kernel: DIR/NAME-HASH. What cannot be written is logged, since a dump must not change what a program does.
class DumpFolder {
 public:
  DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash);
  /// The file of a stage: "03_cse" becomes 03_cse.tile, "llvm" llvm.ll, "assembly" assembly.s, "ptx" ptx.ptx.
  void write(const std::string& stage, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace tilewright::detail
