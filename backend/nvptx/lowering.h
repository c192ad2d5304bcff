// Distributed tile IR to LLVM IR for NVPTX: one kernel, as one thread of it sees the program. Split by meaning: control_flow, tiles
// (create, shape and element-wise ops), index_arithmetic, division, math, memory, shared, convert_layout, reduce, scan, sort, index, dot,
// atomics, bounds, report.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/nvptx/ptx_asm.h"
#include "passes/analysis/axis_info.h"
#include "passes/plans/conversion_plan.h"
#include "tileir/ir.h"
#include "tileir/layout/swizzle.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend::nvptx {

using ir::BlockId;
using ir::Function;
using ir::HardwareDim;
using ir::LinearLayout;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

/// What a thread holds of a tile: element i is that of register i of the layout. Of a scalar the one value, the same in every thread.
/// Held as lower_elementwise holds them: iN for integers, i16 and i8 for the bits of small floats, i1 for bool, i64 for pointers.
using Registers = std::vector<Value*>;

/// A part of a tile in shared memory, of 2^log2_bytes bytes, counted from the tile's first byte.
struct Piece {
  int log2_bytes = 31;
  std::uint32_t number = 0;
};

class NvptxLowering {
 public:
  NvptxLowering(llvm::Module&, const Function&, const ir::TargetDesc&, int num_warps, bool check);

  /// Emits `entry`, a kernel whose parameters are the function's; after them, if it has reports, the address of the report buffer, and in
  /// checked mode, if it accesses memory, that of what says where it may (backend/nvptx_abi.h).
  /// `programs_per_sm`: how many an SM is to hold at once, which bounds a thread's registers; 0: left to ptxas.
  void run(const std::string& entry, int programs_per_sm);
  const std::vector<ReportSite>& reports() const { return reports_; }
  const std::vector<AccessSite>& sites() const { return sites_; }

 private:
  friend class Reducer;
  friend class Scanner;
  friend class RowSorter;
  friend class RecordOps;
  friend class RegisterNetwork;
  friend class LoopNetwork;
  friend class MemoryNetwork;
  // ---- control_flow.cpp ----
  void emit_block(BlockId);
  void emit_op(OpId);
  Value* passes_of_wrapping_range(Value* lo, Value* hi, Value* step, bool is_signed);
  void emit_for(OpId);
  void emit_if(OpId);
  void emit_while(OpId);
  /// What the block ends with.
  std::vector<Registers> yielded(BlockId, int skip = 0) const;
  void set(ValueId, Registers);
  const Registers& registers(ValueId v) const { return registers_[v.index]; }
  Value* scalar(ValueId v) const { return registers_[v.index][0]; }
  /// Phis for the registers of values, at the builder's position, which is the start of a block.
  std::vector<Registers> phis(std::span<const Registers> like, unsigned incoming);
  static void add_incoming(std::span<const Registers> phis, std::span<const Registers> values, llvm::BasicBlock* from);
  llvm::BasicBlock* new_block(const char* name);
  /// Has ptxas leave a loop whose length it knows as it is. `back`: the branch to its start.
  static void keep_loop(llvm::Instruction* back);
  void set_location(OpId);

  // ---- tiles.cpp ----
  Value* thread();  // %tid.x, below 32 * num_warps
  Value* lane();
  Value* warp();
  /// What the thread contributes to a flat index: the layout's lane and warp bases applied to its number; i32. `mask`: only these bits.
  Value* thread_part(const LinearLayout&, std::uint32_t mask = UINT32_MAX);
  /// The XOR of the columns that the bits of x select; i32.
  Value* apply(const ir::F2Matrix&, Value* x);
  /// Whether no thread contributes to these bits of a flat index.
  static bool is_thread_apart(const LinearLayout&, std::uint32_t part);
  /// The flat index of what register r holds; i32.
  Value* flat_index(const LinearLayout&, std::uint32_t reg);
  /// Whether this thread is the one that acts for copies: the free lane and warp bits of the layout are 0. Null: always.
  Value* is_canonical(const LinearLayout&);
  /// Whether this is thread 0.
  Value* is_first_thread();
  /// Which register of `from` holds what register r of `to` holds: map(flat of r in `to`) is its flat index in `from`. Requires: lanes and
  /// warps of both agree under the map.
  static std::vector<std::uint32_t> match_registers(const LinearLayout& from, const LinearLayout& to,
                                                    const std::function<std::uint32_t(std::uint32_t)>& map);
  void emit_constant(OpId);
  void emit_arange(OpId);
  void emit_program_id(OpId);
  void emit_num_programs(OpId);
  void emit_reshape(OpId);
  void emit_broadcast(OpId);
  void emit_permute(OpId);
  void emit_join(OpId);
  void emit_split(OpId);
  void emit_cat(OpId);
  void emit_elementwise(OpId);

  // ---- index_arithmetic.cpp ----
  /// leader + number * scale; no leader: 0; no scale: 1.
  struct Linear {
    Value *leader = nullptr, *scale = nullptr;
    std::int64_t number = 0;
  };
  using Leaders = std::map<std::pair<Value*, Value*>, Value*>;  // one op's, by those of its operands
  Linear linear(Value*) const;
  Value* value_of(const Linear&, llvm::Type*);
  std::optional<Linear> combined(OpKind, Linear, Linear, Leaders&);
  /// add, sub and mul of integers and add_ptr, where registers lie apart by constants; false: nothing is known of them.
  bool emit_index_arithmetic(OpId);
  bool emit_sum(OpId);
  bool emit_address(OpId);

  // ---- division.cpp ----
  /// What divides by a scalar without a division.
  struct Divisor {
    Value *size = nullptr, *inverse = nullptr, *is_zero = nullptr;
    Value* is_negative = nullptr;  // null: never
  };
  void count_divisions();
  const Divisor& divisor(ValueId scalar);
  /// Quotients and rests of integers by one scalar, if there are enough of them; false: there are not.
  bool emit_division(OpId);

  // ---- math.cpp ----
  /// Ops for which the target has an instruction that keeps the documented accuracy; null: none.
  Value* target_instruction(OpId, std::span<Value* const> operands);

  // ---- packed.cpp ----
  /// Lowers an element-wise op on two 16-bit elements at a time, if there is an instruction for that.
  bool emit_pairs(OpId);
  Value* pair_instruction(OpId, std::span<Value* const> low, std::span<Value* const> high);

  // ---- memory.cpp: global memory ----
  void emit_load(OpId);
  void emit_store(OpId);
  void emit_scalar_load(OpId);
  void emit_scalar_store(OpId);
  struct Access;
  Access access(OpId);
  Value* predicate_of(const Registers& active, std::span<const std::uint32_t> neighbours);
  /// `count` neighbours as words, under a predicate (null: always), which leaves `fill` (words) where it does not hold.
  /// `modifiers`: ".global", ".volatile.global", ...
  std::vector<Value*> load_global(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate,
                                  std::span<Value* const> fill, const std::string& modifiers);
  void store_global(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate,
                    const std::string& modifiers);

  // ---- bounds.cpp ----
  /// At the entry.
  void read_bounds();
  /// The mask of a load, store or atomic, null where it has none. In checked mode it is false for elements outside of the device's buffers
  /// too, which the launch is told of; copies then have the mask as it was.
  Registers active_elements(OpId);
  void check_some(const AccessSite&, std::int64_t slot, std::span<Value* const> addresses, std::span<Value*> active, Value* tells);

  // ---- words.cpp: elements as they travel, in words of 1, 2, 4 or 8 bytes ----
  /// The words of neighbouring elements, lowest address first.
  std::vector<Value*> pack(Type element, std::span<Value* const> elements);
  std::vector<Value*> unpack(Type element, std::span<Value* const> words, std::size_t count);
  /// Types of the words that hold `count` elements, as pack makes them.
  std::vector<llvm::Type*> word_types(Type element, std::size_t count);
  /// ".v4.b32", ".b16", ".b8": of such words.
  static std::string word_suffix(std::span<llvm::Type* const> words, Type element, std::size_t count);

  // ---- shared.cpp: shared memory by 32-bit addresses, barriers, shuffles ----
  /// The address of byte `offset` of the program's shared memory; i32.
  Value* shared_address(std::int64_t offset);
  void store_shared(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate = nullptr);
  std::vector<Value*> load_shared(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate = nullptr);
  /// Every thread waits for all others and sees their shared and global writes.
  void emit_barrier();
  /// Every lane of the warp waits for the others and sees their writes.
  void emit_warp_barrier();
  enum class Shuffle { bfly, idx, up, down };
  /// The value of lane ^ x, x, lane - x or lane + x; v: any element as it is held. Lanes without a partner keep theirs.
  Value* shuffle(Shuffle, Value* v, Value* x);
  Value* shuffle_xor(Value* v, std::uint32_t mask);

  // ---- convert_layout.cpp ----
  void emit_convert_layout(OpId);
  void emit_flip(OpId);
  /// The registers of a tile under another layout: by renaming, shuffles or shared memory from byte `shared` on.
  Registers converted(Type, const Registers&, const LinearLayout& from, const LinearLayout& to, std::int64_t shared);
  /// The same of the tile in which element i is element i ^ flip of this one, by flat index.
  Registers moved(Type, const Registers&, const LinearLayout& from, const LinearLayout& to, std::uint32_t flip, std::int64_t shared);
  Registers along_route(Type, Registers, const passes::WarpRoute&);
  /// Register r of the result is v[r ^ by_thread(thread)].
  Registers xor_registers(Registers v, const ir::F2Matrix& by_thread);
  /// Whether an odd number of the bits of `mask` is set in the thread's number; i1.
  Value* parity_of_thread(std::uint32_t mask);
  static Piece piece_of(Type, int log2_elements, std::uint32_t number);
  static std::uint32_t pieces_of(Type, int log2_elements);
  /// The two halves of a way through shared memory from byte `shared` on; a barrier belongs between them. What is not of the piece is
  /// neither stored nor loaded: it stays as it was `before`.
  void put_shared(Type, const Registers&, const LinearLayout& from, const ir::SharedPlan&, std::int64_t shared, Value* predicate,
                  Piece = {});
  Registers take_shared(Type, const LinearLayout& to, const ir::SharedPlan&, std::int64_t shared, std::uint32_t flip = 0, Piece = {},
                        const Registers* before = nullptr);
  /// Addresses that differ by XOR: those of one tile by one layout, each made once.
  struct SharedAddresses {
    Value* of_thread = nullptr;
    std::uint32_t touched = 0, constant = 0;  // in bytes: bits that differ between threads; XORed to every offset
    int log2_bytes = 0;
    std::int64_t shared = 0;
    Piece piece;
    std::map<std::uint32_t, Value*> bases;
  };
  SharedAddresses shared_addresses(Type, const ir::F2Matrix& thread_offset, std::uint32_t constant, std::int64_t shared, Piece = {});
  /// Of an offset in elements, of a tile in one piece: an address, and what to add to it.
  std::pair<Value*, std::int64_t> shared_place(SharedAddresses&, std::uint32_t offset);
  struct PlaceInPiece {
    bool never = false;          // of the piece, in no thread
    Value* predicate = nullptr;  // whether it is of the piece; null: in every thread
    Value* base = nullptr;
    std::int64_t displacement = 0;
  };
  PlaceInPiece place_in_piece(SharedAddresses&, std::uint32_t offset);

  // ---- reduce.cpp, scan.cpp, sort.cpp, index.cpp, dot.cpp ----
  /// The region of a reduce, scan or atomic_update on one pair; one value a result.
  std::vector<Value*> combine(OpId, std::span<Value* const> earlier, std::span<Value* const> later);
  void emit_reduce(OpId);
  void emit_scan(OpId);
  void emit_sort(OpId);
  void emit_gather(OpId);
  /// Elements of a tile by flat index, through shared memory from byte `shared` on.
  Registers picked_from(Type, const Registers&, const LinearLayout& from, std::span<Value* const> flat, std::int64_t shared);
  void emit_histogram(OpId);
  void emit_dot(OpId);
  void emit_dot_scaled(OpId);

  // ---- atomics.cpp ----
  void emit_atomic(OpId);
  Value* update_global(OpId, std::span<Value* const> x, Value* predicate, bool used);
  Value* update_by_loop(OpId, std::span<Value* const> x, Value* predicate);
#define TW_ATOMIC(name) \
  void emit_##name(OpId id) { emit_atomic(id); }
  TW_ATOMIC(atomic_add)
  TW_ATOMIC(atomic_max) TW_ATOMIC(atomic_min) TW_ATOMIC(atomic_and) TW_ATOMIC(atomic_or) TW_ATOMIC(atomic_xor) TW_ATOMIC(atomic_exchange)
      TW_ATOMIC(atomic_cas) TW_ATOMIC(atomic_update)
#undef TW_ATOMIC

      // ---- report.cpp, inline_ptx.cpp ----
      void emit_device_print(OpId id) {
    emit_report(id, nullptr);
  }
  void emit_device_assert(OpId);
  /// Appends a record of the op's operands to the report buffer where `speaks` (null: always), which all threads hold alike.
  void emit_report(OpId, Value* speaks);
  void emit_inline_ptx(OpId);

  llvm::Type* type_of(ValueId v);  // of one register
  llvm::ConstantInt* i32(std::int64_t v) { return b_.getInt32(static_cast<std::uint32_t>(v)); }
  Value* poison_of(Type element);
  const LinearLayout& layout(ValueId v) const { return f_.layout(v); }
  std::int64_t shared_offset(OpId id) const { return f_.attr(id, ir::AttrName::shared); }

  llvm::Module& m_;
  llvm::LLVMContext& c_;
  llvm::IRBuilder<> b_;
  const Function& f_;
  const ir::TargetDesc target_;
  const int num_warps_;
  const bool check_;
  passes::AxisInfoAnalysis axes_;
  std::vector<Registers> registers_;  // by value
  std::vector<ReportSite> reports_;
  std::vector<AccessSite> sites_;
  llvm::Function* function_ = nullptr;
  Value *thread_ = nullptr, *lane_ = nullptr, *warp_ = nullptr, *shared_ = nullptr, *report_buffer_ = nullptr;
  Value *bounds_ = nullptr, *intervals_ = nullptr, *interval_count_ = nullptr;  // in checked mode
  std::map<std::vector<std::uint32_t>, Value*> thread_parts_;  // by columns: made at the entry, so they are there everywhere
  std::unordered_map<const Value*, Linear> linear_;            // what registers of indices are
  struct Sum {
    Value *common, *rest;
  };
  std::unordered_map<const Value*, Sum> sums_;  // sums of indices and addresses, of which one part is that of all registers
  std::unordered_map<std::uint32_t, int> divisions_;     // by divisors that are scalars
  std::unordered_map<const Value*, Divisor> divisors_;
  std::vector<llvm::DIFile*> debug_files_;
  llvm::DISubprogram* debug_scope_ = nullptr;
};

}  // namespace tilewright::backend::nvptx
