// Writes the stages of a compilation as files, for TILEWRIGHT_DUMP.
#pragma once
#include <cstdint>
#include <string>

#include "tilewright/error.h"

namespace tilewright::detail {

/// The folder of one compiled kernel or plan: DIR/NAME-HASH. Throws Error at `where` if a file cannot be written, so that no dump is
/// silently missing.
class DumpFolder {
 public:
  DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash, const Location& where);
  /// Writes the file of a stage: "03_cse" gives 03_cse.tile, "llvm" llvm.ll, "assembly" assembly.s, "ptx" ptx.ptx; for a plan, "formulas"
  /// gives formulas.graph, "explain" explain.txt, "picture" picture.svg.
  void write(const std::string& stage, const std::string& text) const;

 private:
  Location where_;
  std::string path_;
};

}  // namespace tilewright::detail
