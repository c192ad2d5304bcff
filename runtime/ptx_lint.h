// Lint of PTX: counts what a text contains, and finds code that the compiler must not generate, so that tests can check code generation
// without an assembler. The emulator's parser reads the text.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::rt {

struct PtxFacts {
  /// Accesses to a memory by the bytes that one access moves for a thread: {16: 4} means four accesses such as ld.global.v4.b32.
  using Widths = std::map<int, int>;

  std::string version, target;       // the values of .version and .target
  std::vector<std::string> entries;  // kernels, in order
  int instructions = 0;
  int barriers = 0;  // of the whole program: bar.sync, barrier.sync, bar.red
  int shuffles = 0, branches = 0, calls = 0;
  int atomics = 0;          // atom and red, on any memory
  int ordered_atomics = 0;  // those of them that acquire or release
  int fences = 0;
  Widths global_loads, global_stores, shared_loads, shared_stores, local_loads, local_stores;
  /// "line 12: <problem>". Problems are: a function or variable without a definition (except shared memory), a call, local memory, an
  /// unknown target, an atomic on global memory without an order or a scope, float arithmetic without a rounding mode (which the assembler
  /// may contract), a barrier or a shuffle under a predicate, a bfe.s32 of whole bytes (nvptx/assembler_bugs.h), a register that is not
  /// declared, and the first error of the parser: syntax, or an undeclared label or name. After a parser error nothing is counted.
  std::vector<std::string> problems;
};

PtxFacts read_ptx(std::string_view text);

/// "4 x 16, 1 x 4 bytes", or "none".
std::string text(const PtxFacts::Widths&);

}  // namespace tilewright::rt
