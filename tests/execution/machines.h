// Machines that the tests of this folder run programs on, and the comparison of results.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/fuzz/program.h"
#include "tileir/builder.h"

namespace tilewright::test {

/// "cpu", the levels of x86-64 that this machine can run, emulators of GPUs, and "cuda:0" where there is one; or those that the environment
/// names: EXECUTION_DEVICES=cuda:0,cpu.
const std::vector<std::string>& machines();

/// Fails the current test for each machine whose memory differs from the interpreter's after the machine's own passes. Where the result
/// depends on the order of lanes, only on processors.
void check_on_machines(const fuzz::Program&);

/// reduce or scan by `body`, which gets the earlier elements of all tiles, then the later ones.
std::vector<ir::ValueId> combine(ir::Builder&, ir::OpKind, const std::vector<ir::ValueId>& x, std::vector<ir::Attr>,
                                 const std::function<std::vector<ir::ValueId>(ir::Builder&, const std::vector<ir::ValueId>&)>& body);

/// Builds a program whose kernel reads and writes whole buffers of one shape.
class SequenceBuilder {
 public:
  explicit SequenceBuilder(const std::string& name);
  ir::Builder& ir() { return builder_; }
  /// A tile of this type, loaded from a new buffer of random elements; infinities, NaNs, zeros and extremes among them.
  ir::ValueId input(ir::Type);
  /// An input of small whole numbers: sums and products of a few of them are exact.
  ir::ValueId small_input(ir::Type);
  /// A scalar parameter.
  ir::ValueId scalar(ir::Type, std::uint64_t bits);
  /// Stores a tile (or scalar) to a new buffer of its own, where the mask holds if there is one.
  void output(ir::ValueId, ir::ValueId mask = {});
  fuzz::Program take();

 private:
  ir::ValueId pointers(ir::Type shape, bool is_const, std::vector<std::byte> contents);
  fuzz::Program program_;
  ir::Builder builder_;
  std::uint64_t seed_ = 1;
};

}  // namespace tilewright::test
