// Compiles kernels to PTX for each GPU and checks it with the lint and, if installed, with ptxas.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "tileir/ir.h"

namespace tilewright::test {

/// Numbers of kernels, texts and results; sums over several checkers.
struct PtxCounts {
  int kernels = 0, texts = 0, assembled = 0, with_spills = 0, refused = 0, too_long = 0;
};

class PtxChecker {
 public:
  /// `ptxas`: none: only the lint. `no_spills`: local memory is a problem, of the PTX or where ptxas spills more than four registers.
  PtxChecker(std::optional<std::string> ptxas, bool no_spills) : ptxas_(std::move(ptxas)), no_spills_(no_spills) {}

  /// Compiles for each of the targets, of ir::gpu_chips(), with the other options; `name` is for messages. What needs more shared memory
  /// than a target has may be refused.
  void add(const std::string& name, ir::Function, std::span<const std::string> targets, backend::CompileOptions);
  /// Assembles all that was added, many kernels at once.
  void finish();

  /// The problems found, one per line: "softmax for sm_80: line 12: local memory: ...".
  const std::vector<std::string>& problems() const { return problems_; }
  const PtxCounts& counts() const { return counts_; }
  /// The generated code, one per line: "softmax for sm_80, 4 warps: ", the hash of the PTX and that of the tile IR after the passes.
  const std::vector<std::string>& hashes() const { return hashes_; }

 private:
  struct Body {
    std::string name, entry, ptx;  // entry: its kernel
  };
  void check_orders(const std::string& where, const std::string& tile_ir, int ordered_atomics, int fences);
  void assemble(const std::string& target, std::span<const Body>);

  std::optional<std::string> ptxas_;
  bool no_spills_;
  std::map<std::string, std::vector<Body>> bodies_;  // by target
  std::vector<std::string> problems_, hashes_;
  PtxCounts counts_;
};

}  // namespace tilewright::test
