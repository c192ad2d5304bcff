// PTX as the emulator executes it: each instruction a handler and the offsets of its operands in a warp's register file.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/program/payload.h"
#include "runtime/emulator/program/value_flow.h"
#include "runtime/emulator/ptx/module.h"
#include "runtime/emulator/simd/object_pool.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {

struct Cluster;
struct KernelCache;
struct Warp;
struct Instruction;

/// Executes an instruction for the lanes of the mask, which is not empty.
using Handler = void (*)(Warp&, const Instruction&, Mask);

/// What the scheduler has to know of an instruction.
enum class Kind : u8 {
  plain,       // execute() and go on
  branch,      // to `target`
  indexed,     // brx.idx: to Kernel::extra[first + value of slot 0]
  exit,        // of the thread
  trap,        // the launch fails
  collective,  // all lanes that `members` names execute it together
  waiting,     // execute() may park the SIMT-stack entry (barriers)
  call,        // of the functions that enter_functions() names
  leave,       // a function: execute(), then go to `target`, its end
};

/// What an instruction counts as.
enum class Category : u8 {
  integer,
  logic,
  float32,
  float64,
  half,
  special,
  conversion,
  move,
  compare,
  control,
  warp,
  barrier,
  fence,
  atomic,
  matrix,
  load_global,
  store_global,
  load_shared,
  store_shared,
  load_local,
  store_local,
  load_param,
  load_const,
  load_generic,
  store_generic,
  async_copy,
  bulk_copy,
};
inline constexpr int kCategories = static_cast<int>(Category::bulk_copy) + 1;
const char* name_of(Category);

inline constexpr s32 kNoSlot = -1;

// Fields of an instruction that name a register: Instruction::slot by number, then these.
inline constexpr int kSlots = 6, kGuardField = 6, kMembersField = 7;
inline constexpr u32 kExtraField = 8;  // and above: of Kernel::extra

/// A decoded instruction: what the scheduler, the checks and most handlers have to know. What only a family's own handlers know is in its
/// options.
struct Instruction {
  // What it does.
  Handler execute = nullptr;
  Kind kind = Kind::plain;
  Category category = Category::control;
  bool guard_negated = false;
  u8 negated = 0;  // a bit for each slot whose predicate is negated
  // An access to memory.
  u8 width = 4;        // bytes of an element in memory
  u8 count = 1;        // elements of a vector access
  u8 value_bytes = 4;  // bytes of a register that takes or gives an element
  bool extends_sign = false;
  Space space = Space::generic;
  bool is_strong = false;  // volatile, relaxed or an atomic: no race with its like
  bool releases = false, acquires = false;
  bool whole_gpu = false;      // scope .cluster, .gpu or .sys, not .cta
  bool short_address = false;  // the base register has 32 bits
  bool in_cluster = false;     // .shared::cluster: also of other blocks
  // Execution by the warp.
  bool is_aligned = false;  // .aligned: all lanes of the warp execute it together
  bool is_visible = false;  // may change what other warps see: memory that is not the thread's own, barriers
  // Operands.
  s32 guard = kNoSlot, members = kNoSlot;  // the predicate that guards it, the member mask of a collective
  std::array<s32, kSlots> slot{kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};  // byte offsets in the register file
  u64 immediate = 0;                                                                   // the constant part of the address in slot 0
  u32 first = 0, extras = 0;  // further operands: where they begin in Kernel::extra, and how many there are
  // Control flow.
  u32 target = 0, reconvergence = 0;  // branches: where to, and the reconvergence point of both ways
  u32 index = 0;                      // of this instruction in Kernel::code
  u32 plain_end = 0;                  // the first one from this one on that is not plain, of the same function
  Payload payload;                    // options of its family

  template <class T>
  const T& options() const {
    return payload.get<T>();
  }
};

enum class Special : u8 {
#define TW_SPECIAL(text, name, of, value) name,
#include "runtime/emulator/program/special_registers.def"
#undef TW_SPECIAL
};

/// What an instruction is and where it stands, which outlives its kernel.
struct Place {
  Category category = Category::control;
  int ptx_line = 0;
  Location source;   // through .loc; line 0 where there is none
  u64 products = 0;  // multiply-adds of a matrix instruction
};

// Frames are so aligned, and a call takes so much more of the stack for itself.
inline constexpr u64 kFrameAlignment = 16, kReturnBytes = 16;

/// Bytes that a call passes or returns: a register of the caller, or an offset in its frame.
struct Passed {
  s32 extra = -1;  // Kernel::extra[extra] is the register's slot
  u64 offset = 0;
  u64 bytes = 0;
};

struct CallSite {
  int callee = -1;  // in Kernel::callees; -1: the one that a pointer names
  std::vector<Passed> arguments, results;
};

/// A function that a kernel may call. Each call has a frame of local memory with its parameters, results and variables.
struct Callee {
  int number = 0;          // in Module::functions
  u32 begin = 0, end = 0;  // of Kernel::code
  u64 frame_bytes = 0;
  bool may_nest = false;  // it may be called again before it has returned
  std::vector<Parameter> parameters, results;
  struct Slot {
    s32 slot;
    u8 bytes;  // 0: a predicate
    u64 offset;
  };
  std::vector<Slot> registers;  // all of its own
  std::vector<Slot> addresses;  // of them: what holds addresses in the frame
};

/// Which registers of wgmma an instruction touches, by their numbers; see matrix_registers.h.
struct MatrixTouches {
  struct Touch {
    u32 reg;
    bool is_write;
  };
  struct Run {
    u32 begin, end;  // numbers that follow each other
    bool is_write;
  };
  Handler execute = nullptr;     // of an instruction that is no wgmma: what it does after the check
  std::vector<Touch> registers;  // those that are read, then those that are written
  std::vector<Run> runs;         // the same
  bool is_copy = false;
};

inline constexpr int kWidestGranule = 16;

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  u64 parameter_bytes = 0;
  std::vector<Instruction> code;  // the kernel's own, then its functions'
  u32 end = 0;                    // of the kernel's own
  std::vector<Callee> callees;
  std::vector<CallSite> calls;
  u32 matrix_registers = 0;
  std::vector<MatrixTouches> matrix_touches;
  std::vector<u32> matrix_touches_of;        // by instruction, 1 + which of them; may end earlier
  std::vector<s32> extra;                    // slots of vector operands, targets of indexed branches
  std::vector<int> lines;                    // of the PTX, one an instruction
  std::vector<SourceLine> sources, inlined;  // as ParsedInstruction has them
  std::vector<std::string_view> opcodes;
  std::shared_ptr<const std::vector<Place>> places;  // of the code; counters keep it
  // Of workers that have finished, and the memory that blocks ran in, which is large.
  mutable ObjectPool<std::shared_ptr<KernelCache>> kernel_caches{64};
  mutable ObjectPool<std::shared_ptr<Cluster>> cluster_pool{1};

  struct Constant {
    s32 slot;
    u8 bytes;
    u64 bits;
  };
  std::vector<Constant> constants;
  struct SpecialSlot {
    s32 slot;
    Special which;
  };
  std::vector<SpecialSlot> specials;
  u32 register_bytes = 0;  // of a warp's register file
  struct Unwritten {
    s32 slot;
    u32 bytes;       // of the register file
    u8 value_bytes;  // of the register; 0: a predicate
    std::string name;
  };
  std::vector<Unwritten> unwritten;  // registers that may be read before they are written
  std::vector<ValueFlow> flows;      // one an instruction
  std::vector<FlowOperand> flow_operands;
  u64 static_shared_bytes = 0;                                           // the launch's dynamic bytes follow
  u64 frame_bytes = 0;                                                   // of local memory: the kernel's own variables
  u64 local_bytes = 0;                                                   // a thread: the frame and those of calls
  int shared_granule = kWidestGranule, global_granule = kWidestGranule;  // bytes of a shadow cell: a power of two
  bool has_engines = false;                                              // bulk copies or wgmma, which access many granules at once
  std::array<u32, 3> required_threads{}, maximum_threads{}, required_cluster{};
  u32 registers_declared = 0;
  u32 entry_registers = 0;  // that a thread owns until setmaxnreg; 0: the text does not say
};

/// A module of PTX that is ready to run, with the memory of its variables.
class LoadedModule {
 public:
  /// Parses and decodes. Throws Error at `name`:line for bad syntax, unknown instructions and undefined functions.
  static std::shared_ptr<LoadedModule> load(std::string_view text, const std::string& name = "<ptx>");

  const Module& module() const { return module_; }
  /// Null if there is none.
  const Kernel* kernel(std::string_view name) const;
  const std::vector<std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  struct Placed {
    u64 address = 0, bytes = 0;
  };
  /// A variable of the space global or const; address 0 if there is none.
  Placed variable(std::string_view name) const;
  const std::map<std::string, Placed, std::less<>>& variables() const { return placed_; }

 private:
  void place_variables();

  Module module_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, Placed, std::less<>> placed_;
  struct Deleter {
    void operator()(std::byte* bytes) const;
  };
  std::vector<std::unique_ptr<std::byte[], Deleter>> storage_;
};

}  // namespace tilewright::rt::emulator
