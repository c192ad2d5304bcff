// Writes the stages of a compilation as files, for TILEWRIGHT_DUMP.
#pragma once
#include <cstdint>
#include <string>

#include "tilewright/error.h"

namespace tilewright::detail {

/// The folder of one compiled kernel or plan: DIR/NAME-HASH. Throws Error at `where` if a file cannot be written, so that no dump is
/// silently missing. If TILEWRIGHT_DUMP_STAGE is in the name of no stage, the folder gets stages.txt, which lists the stages that there are.
class DumpFolder {
 public:
  DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash, const Location& where);
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;
  ~DumpFolder();
  /// Writes the file of a stage: "03_cse" gives 03_cse.tile, "llvm" llvm.ll, "assembly" assembly.s, "ptx" ptx.ptx; for a plan, "formulas"
  /// gives formulas.graph, "explain" explain.txt, "picture" picture.svg.
  void write(const std::string& stage, const std::string& text);

 private:
  void write_file(const std::string& name, const std::string& text) const;

  Location where_;
  std::string path_;
  std::string left_out_;  // the names of stages that TILEWRIGHT_DUMP_STAGE leaves out, one a line
  bool has_files_ = false;
};

}  // namespace tilewright::detail
