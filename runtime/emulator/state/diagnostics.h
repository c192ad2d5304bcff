// Errors that the emulator's checks find in a running kernel.
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
  wrong_space,      // an address of a different space than the instruction's
  uninitialized,    // a read of memory that was never written
  race,             // two accesses, one of them a write, without an order between them
  divergent,        // an aligned operation that not all lanes of a warp execute
  absent_lanes,     // a collective with lanes that never arrive
  deadlock,         // no warp can make progress
  unfinished,       // the launch was given up: instruction limit, or interrupt
  trap,             // trap was executed
  bad_operand,      // a value for which the instruction is undefined
  missing_wait,     // asynchronous work that was never waited for
  bad_mbarrier,     // an mbarrier is used in a forbidden way
  exited_block,     // an access to the shared memory of a block that has ended
  non_coherent,     // ld.global.nc of memory that the same launch writes
  undefined_value,  // an undefined value reaches memory, an address or a branch
};
const char* name_of(DiagnosticKind);

struct Diagnostic {
  DiagnosticKind kind;
  std::string kernel;
  int ptx_line = 0;
  Location source;   // from .loc; line 0 if there is none
  Location inlined;  // if the instruction belongs to an inlined function of another file; line 0 otherwise
  std::string text;
  std::array<u32, 3> block{};
  int warp = 0, lane = 0;
  u64 count = 1;           // how often at this instruction; for a remark, in the kernel
  bool is_remark = false;  // the PTX ISA forbids it, but every known GPU executes it as intended
};

/// The text: "kernel.cu:12: race in 'softmax', block (0,0,0), warp 1, lane 0 (line 88 of the PTX): ..."; for a remark, "remark: " comes
/// before the description. If `inlined` is set, a line "shuffle.h:449: note: ..." follows.
std::string to_string(const Diagnostic&);

/// Thread-safe. Diagnostics of one kind at one instruction are counted; only the first one is kept.
class Diagnostics {
 public:
  /// Whether this is the first of its kind at this instruction of this kernel; if so, the caller must call `add`.
  bool is_first(const std::string& kernel, u32 instruction, DiagnosticKind);
  void add(u32 instruction, Diagnostic);
  /// As above for remarks, of which the first one of each kind is kept for each kernel.
  bool is_first_remark(const std::string& kernel, DiagnosticKind);
  void add_remark(Diagnostic);
  /// The diagnostics, without remarks, in the order in which they were found.
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
