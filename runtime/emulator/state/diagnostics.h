// What the emulator's checks found in a running kernel.
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {

enum class DiagnosticKind : u8 {
  out_of_bounds,  // an access outside of every allocation or of its space
  misaligned,
  wrong_space,      // an address of another space than the instruction's
  uninitialized,    // a read of memory that no thread wrote
  race,             // two accesses, one a write, with no order between them
  divergent,        // an aligned operation that not all lanes of a warp execute
  absent_lanes,     // a collective with lanes that never come
  deadlock,         // no warp can go on
  unfinished,       // the launch was given up: the limit of instructions, or an interrupt
  trap,             // trap was executed
  bad_operand,      // a value that the instruction does not define
  missing_wait,     // asynchronous work was never waited for
  bad_mbarrier,     // an mbarrier is used as its rules forbid
  exited_block,     // an access to the shared memory of a block that has ended
  non_coherent,     // ld.global.nc of memory that the same launch writes
  undefined_value,  // a value that nothing has defined reaches memory, an address or a branch
};
const char* name_of(DiagnosticKind);

struct Diagnostic {
  DiagnosticKind kind;
  std::string kernel;
  int ptx_line = 0;
  Location source;   // through .loc; line 0 where there is none
  Location inlined;  // of an inlined function of another file that the instruction is of; line 0 where there is none
  std::string text;
  std::array<u32, 3> block{};
  int warp = 0, lane = 0;
  u64 count = 1;           // how often at this instruction; of a remark, in the kernel
  bool is_remark = false;  // the PTX ISA forbids it, and no GPU is known to do anything wrong then
};

/// Of a remark, "remark: " precedes what is seen: "kernel.cu:12: race in 'softmax', block (0,0,0), warp 1, lane 0 (line 88 of the PTX):
/// ...". A line for `inlined` follows: "shuffle.h:449: note: ..."
std::string to_string(const Diagnostic&);

/// Thread-safe. Diagnostics of one kind at one instruction are counted, and the first one is kept.
class Diagnostics {
 public:
  /// True for the first of its kind at this instruction of this kernel; then `add` is called with it.
  bool is_first(const std::string& kernel, u32 instruction, DiagnosticKind);
  void add(u32 instruction, Diagnostic);
  /// The same of remarks, of which the first one of each kind is kept for a kernel.
  bool is_first_remark(const std::string& kernel, DiagnosticKind);
  void add_remark(Diagnostic);
  /// In the order in which they were found, without remarks.
  std::vector<Diagnostic> list() const;
  std::vector<Diagnostic> remarks() const;
  /// Whether there are no diagnostics; there may be remarks.
  bool empty() const;

 private:
  using Key = std::pair<std::pair<std::string, u32>, DiagnosticKind>;
  mutable std::mutex mutex_;
  std::map<Key, u64> counts_;
  std::vector<std::pair<u32, Diagnostic>> found_;
  std::map<std::pair<std::string, DiagnosticKind>, u64> remark_counts_;
  std::vector<Diagnostic> remarks_;
};

}  // namespace tilewright::rt::emulator
