// A decoded kernel: each instruction has a handler and the offsets of its operands in a warp's register file.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/program/flow_rule.h"
#include "runtime/emulator/program/payload.h"
#include "runtime/emulator/ptx/module.h"
#include "runtime/emulator/simd/object_pool.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {

struct Cluster;
struct PerKernelCache;
struct Warp;
struct Instruction;

/// Executes an instruction for the lanes of the mask, which is never empty.
using Handler = void (*)(Warp&, const Instruction&, Mask);

/// How the scheduler treats an instruction.
enum class Kind : u8 {
  plain,       // execute(), then the next instruction
  branch,      // to `target`
  indexed,     // brx.idx: to Kernel::extra[first + value of slot 0]
  exit,        // of the thread
  trap,        // the launch fails
  collective,  // all lanes in `members` execute it together
  waiting,     // execute() may park the SIMT-stack entry (barriers)
  call,        // calls the functions that enter_functions() names
  leave,       // return from a function: execute(), then go to `target`, its end
};

/// The category under which an instruction is counted.
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

// Fields of an instruction that name a register: the index in Instruction::slot, or one of these.
inline constexpr int kSlots = 6, kGuardField = 6, kMembersField = 7;
inline constexpr u32 kExtraField = 8;  // this value and above: index in Kernel::extra

/// A decoded instruction, with the data that the scheduler, the checks and most handlers need. Data for handlers of one family only is in
/// its options.
struct Instruction {
  // Its function:
  Handler execute = nullptr;
  Kind kind = Kind::plain;
  Category category = Category::control;
  bool guard_negated = false;
  u8 negated = 0;  // one bit for each slot whose predicate is negated
  // An access to memory:
  u8 width = 4;        // bytes of an element in memory
  u8 count = 1;        // elements of a vector access
  u8 value_bytes = 4;  // bytes of a register that holds an element
  bool extends_sign = false;
  Space space = Space::generic;
  bool is_strong = false;  // volatile, relaxed or atomic: does not race with other strong accesses
  bool releases = false, acquires = false;
  bool whole_gpu = false;      // scope .cluster, .gpu or .sys, not .cta
  bool short_address = false;  // the base register has 32 bits
  bool in_cluster = false;     // .shared::cluster: may access other blocks' memory
  // Execution by the warp:
  bool is_aligned = false;  // .aligned: all lanes of the warp execute it together
  bool is_visible = false;  // may change what other warps see: memory other than the thread's own, barriers
  // Operands:
  s32 guard = kNoSlot, members = kNoSlot;  // the predicate that guards it, the member mask of a collective
  std::array<s32, kSlots> slot{kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};  // byte offsets in the register file
  u64 immediate = 0;                                                                   // the constant part of the address in slot 0
  u32 first = 0, extras = 0;  // further operands: their start in Kernel::extra, and their number
  // Control flow:
  u32 target = 0, reconvergence = 0;  // branches: destination, and the reconvergence point of both paths
  u32 index = 0;                      // its index in Kernel::code
  u32 plain_end = 0;                  // the first instruction from this one on, in the same function, that is not plain
  Payload payload;                    // options of its instruction family

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

/// The opcode and the location of an instruction; it outlives the kernel.
struct InstructionInfo {
  Category category = Category::control;
  int ptx_line = 0;
  Location source;   // from .loc; line 0 if there is none
  u64 products = 0;  // multiply-adds, if it is a matrix instruction
};

// The alignment of frames, and the bytes of the stack that each call takes for itself.
inline constexpr u64 kFrameAlignment = 16, kReturnBytes = 16;

/// A value that a call passes or returns: a register of the caller, or an offset in its frame.
struct Passed {
  s32 extra = -1;  // Kernel::extra[extra] is the register's slot
  u64 offset = 0;
  u64 bytes = 0;
};

struct CallSite {
  int callee = -1;  // in Kernel::callees; -1: determined by a pointer
  std::vector<Passed> arguments, results;
};

/// A function that a kernel may call. Each call has a frame of local memory with its parameters, results and variables.
struct Callee {
  int number = 0;          // in Module::functions
  u32 begin = 0, end = 0;  // in Kernel::code
  u64 frame_bytes = 0;
  bool may_nest = false;  // it may be called again before it has returned
  std::vector<Parameter> parameters, results;
  struct Slot {
    s32 slot;
    u8 bytes;  // 0: a predicate
    u64 offset;
  };
  std::vector<Slot> registers;  // all registers of the function
  std::vector<Slot> addresses;  // those of them that hold addresses in the frame
};

/// The numbers of the wgmma registers that an instruction accesses; see matrix_registers.h.
struct MatrixTouches {
  struct Touch {
    u32 reg;
    bool is_write;
  };
  struct Run {
    u32 begin, end;  // consecutive numbers
    bool is_write;
  };
  Handler execute = nullptr;     // what the instruction does after the check; not used by wgmma
  std::vector<Touch> registers;  // first those that are read, then those that are written
  std::vector<Run> runs;         // the same registers as runs
  bool is_copy = false;
};

inline constexpr int kWidestGranule = 16;

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  u64 parameter_bytes = 0;
  std::vector<Instruction> code;  // the kernel's own code, then that of its functions
  u32 end = 0;                    // end of the kernel's own code
  std::vector<Callee> callees;
  std::vector<CallSite> calls;
  u32 matrix_registers = 0;
  std::vector<MatrixTouches> matrix_touches;
  std::vector<u32> matrix_touches_of;        // indexed by instruction: 1 + index of its touches; may be shorter
  std::vector<s32> extra;                    // slots of vector operands, targets of indexed branches
  std::vector<int> lines;                    // line of the PTX, for each instruction
  std::vector<SourceLine> sources, inlined;  // as in ParsedInstruction
  std::vector<std::string_view> opcodes;
  std::shared_ptr<const std::vector<InstructionInfo>> infos;  // for each instruction of the code; counters keep it alive
  // Caches of finished workers, and the memory in which blocks ran, which is large.
  mutable ObjectPool<std::shared_ptr<PerKernelCache>> kernel_caches{64};
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
  u32 register_bytes = 0;  // size of a warp's register file
  struct Unwritten {
    s32 slot;
    u32 bytes;       // in the register file
    u8 value_bytes;  // of the register; 0: a predicate
    std::string name;
  };
  std::vector<Unwritten> unwritten;  // registers that may be read before they are written
  std::vector<ValueFlow> flows;      // one for each instruction
  std::vector<FlowOperand> flow_operands;
  u64 static_shared_bytes = 0;                                           // followed by the launch's dynamic bytes
  u64 frame_bytes = 0;                                                   // of local memory, for the kernel's own variables
  u64 local_bytes = 0;                                                   // of a thread: its own frame and those of calls
  int shared_granule = kWidestGranule, global_granule = kWidestGranule;  // bytes of a shadow cell: a power of two
  bool has_engines = false;                                              // it uses bulk copies or wgmma, which access many granules at once
  std::array<u32, 3> required_threads{}, maximum_threads{}, required_cluster{};
  u32 registers_declared = 0;
  u32 entry_registers = 0;  // registers of a thread until setmaxnreg; 0: not specified
};

}  // namespace tilewright::rt::emulator
