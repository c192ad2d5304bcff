// The state of one program in the reference interpreter, with a method for every op. Private to the interpreter.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tileir/interpreter/interpret_options.h"

namespace tilewright::ir {

struct ScanOrder;

/// The body of a program, or an instance of a role: it executes one op after the other. Epochs and clocks are those of happens-before: an
/// access of agent a in its epoch e is visible to agents whose clock[a] is at least e.
/// The copies that an agent has started form an agent of their own, numbered kMostAgents higher; each group of copies is an epoch of it. So
/// do its products, numbered kProducts higher: an epoch of these ends with each arrival.
inline constexpr std::size_t kMostAgents = 16;  // the body, and one agent for each named barrier
inline constexpr std::size_t kProducts = 2 * kMostAgents;
using AgentClock = std::array<std::uint32_t, 3 * kMostAgents>;

class Interpreter {
 public:
  Interpreter(const Function&, const InterpretOptions&);
  void run_program(std::span<const std::uint64_t> arguments, std::array<std::int32_t, 3> id);

 private:
  using Words = std::vector<std::uint64_t>;

  const Type& type(ValueId v) const { return now_->values[v.index].type; }
  Words& words(ValueId v) { return now_->values[v.index].bits; }
  /// The words of an op's result, one for each element.
  Words& result(OpId, int i = 0);
  std::uint64_t scalar(ValueId v) { return words(v)[0]; }
  std::int64_t scalar_integer(ValueId);

  /// Runs a region without control flow: that of a reduce, scan or atomic_update.
  void run(BlockId);
  void execute(OpId);
  void count_op(OpId);

  // Declares void run_flip(OpId) and so on for ops that are not element-wise. An op of the table without its function does not link.
#define TW_ELEMENTWISE_OP(name)
#define TW_OTHER_OP(name) void run_##name(OpId);
#include "tileir/dispatch.def"
  void run_lanes(OpId);

  // interpreter_shape.cpp
  void interleave(OpId, std::int64_t block);
  void read_strided(OpId, const std::vector<std::int64_t>& step);

  // interpreter_memory.cpp
  bool may_access(std::uint64_t address, int size, bool is_store, OpId) const;
  /// Atomics: update(old, value, lane) returns the new value.
  template <class F>
  void run_atomic(OpId, F&& update);
  std::uint64_t combined(OpId, std::uint64_t old, std::uint64_t value, OpKind);

  // interpreter_tiles.cpp
  /// Combines the words of `earlier` and `later`, one for each tile of the op, into `earlier`, by the op's region.
  void combine(OpId, std::uint64_t* earlier, const std::uint64_t* later);
  /// Scans the elements of a row, for each tile of the op in turn.
  void scan_row(OpId, Words& elements, const ScanOrder&);

  // shared.cpp
  /// An element of a buffer in shared memory.
  struct Cell {
    std::uint64_t word = 0;
    bool defined = false, in_flight = false;             // in_flight: a copy was started that is not known to be complete
    bool is_ordered = false;                             // in an ordered buffer: a wait is between reads and writes
    bool is_unfenced = false;                            // no proxy_fence has ordered the last write before products and bulk copies
    std::uint16_t products = 0;                          // how many products that are in flight read it
    std::uint16_t stores = 0;                            // how many bulk stores may still read it
    std::int32_t mbarrier = -1;                          // of the bulk copy that wrote it last; -1: another op did
    std::int64_t phase = 0;                              // of this mbarrier: the copy is complete when it is over
    std::uint8_t writer = 0;                             // the agent of the last store
    std::uint32_t last_store = 0;                        // the epoch of that store
    std::array<std::uint32_t, kMostAgents> last_read{};  // indexed by agent: the epoch of its last read
    /// Indexed by agent: the epochs of the agent and of its products in which its last product that read the element was awaited.
    std::array<std::uint32_t, kMostAgents> awaited{}, product_epoch{};
  };
  std::uint64_t read_cell(OpId, std::uint64_t cell);
  void check_read(OpId, std::uint64_t cell) const;
  /// Called after each write of a cell, which products and bulk copies must not access before a proxy_fence.
  void mark_unfenced(std::uint64_t cell);
  void check_overwrite(OpId, std::uint64_t cell) const;
  /// Whether threads of this agent have read the cell, by a product or without one, since they met at a barrier.
  bool is_read_in_epoch(const Cell& c) const { return c.last_read[now_->number] == epoch() || c.awaited[now_->number] == epoch(); }
  /// Whether a bulk copy has written the cell, and this agent does not know that its phase is over.
  bool may_be_arriving(const Cell&) const;
  void complete(std::span<const std::uint64_t> cells);
  std::uint32_t epoch() const { return now_->clock[now_->number]; }
  /// Called where all threads of the agent have met at a barrier.
  void begin_epoch() { ++now_->clock[now_->number]; }

  // products.cpp
  /// out = acc + a b, for a dot or a product by matrix instructions of these factors.
  void multiply(OpId, const Words& a, const Words& b);
  /// The elements of a factor of an mma_async.
  Words factor(OpId, ValueId);
  /// Reports an op that uses an accumulator in flight.
  void check_in_flight(OpId) const;
  bool is_in_flight(ValueId v) const { return now_->product_of[v.index] > now_->started_products - now_->products.size(); }

  // bulk_copies.cpp
  /// A bulk store that may not be complete. Its buffer is read at the last moment, the wait for its group.
  struct BulkStore {
    OpId op;
    std::vector<std::uint64_t> cells, addresses;  // of the elements inside of the tensor
    std::vector<std::uint64_t> values;            // of these elements, once they are read
    bool is_read = false;
  };
  /// The address of element i of the tile of a bulk copy or store in the tensor; none if it is outside of the tensor.
  std::optional<std::uint64_t> element_address(OpId, std::span<const ValueId> coordinates, std::size_t i);
  void read_buffer(BulkStore&);
  void finish(BulkStore&);
  /// Reports an access to an element that a bulk store may not have written yet.
  void check_stored(OpId, std::uint64_t address) const;
  /// Called when the agent has executed its last op.
  void end_agent();

  // control.cpp
  /// A region that is being executed, and the position in it.
  struct Frame {
    OpId owner;  // none: the body of the function
    BlockId block;
    OpId next;
    __extension__ __int128 counter = 0, hi = 0,
                           step = 0;  // the step of a for; 128 bits, since the last step past a bound may leave its type's range
  };
  void enter(OpId owner, BlockId);
  void begin_iteration(Frame&, std::span<const ValueId> carried);
  /// Called after the last op of a region.
  void leave_region();

  // agents.cpp
  using KnownPhases = std::vector<std::int64_t>;  // indexed by mbarrier: how many phases are known to be complete; 0 beyond the end
  struct Agent {
    std::size_t number = 0;
    OpId roles;  // none: the agent is the body
    int role = 0, instance = 0, warps = 0;
    std::vector<TileValue> values;
    std::vector<Frame> frames;
    AgentClock clock{};
    std::vector<std::uint64_t> started;               // the cells of copies that no async_commit has ended yet
    std::deque<std::vector<std::uint64_t>> groups;    // the cells of groups that may not be complete, oldest first
    std::uint32_t complete_copies = 0;                // the last epoch of its copies that an async_wait has seen
    OpId waits_at;                                    // the mbarrier_wait at which it is blocked
    std::deque<std::vector<std::uint64_t>> products;  // the cells that products in flight read, oldest product first
    std::uint64_t started_products = 0;
    std::vector<std::uint64_t>
        product_of;  // indexed by value: the number, from 1, of the last product of an accumulator; empty: no products
    KnownPhases known;
    std::vector<BulkStore> started_stores;             // that no bulk_commit has ended yet
    std::deque<std::vector<BulkStore>> stored_groups;  // groups of bulk stores that may not be complete, oldest first
  };
  /// A phase of an mbarrier is complete when no arrival is missing and no bytes are expected.
  struct Mbarrier {
    std::int64_t arrivals = 0, missing = 0;
    std::int64_t expected = 0;                     // bytes of bulk copies that the current phase waits for
    std::int64_t completed = 0;                    // number of complete phases; the current phase has this number
    AgentClock arriving{}, published{};            // clocks of the arrivals of the current phase, and of complete phases
    KnownPhases arriving_known, published_known;   // what the agents knew that arrived in these phases
    std::vector<std::uint64_t> copied, delivered;  // cells of copies that the phase waits for, and cells that no wait has acquired since
    /// What an agent has seen becomes visible to those that wait for the current phase.
    void publish(const AgentClock&, const KnownPhases&);
  };
  void begin_body();
  /// Runs agents in turn until all have ended.
  void run_agents();
  /// Runs the current agent until it has ended or another agent may continue.
  void run_turn();
  std::string name_of(const Agent&) const;
  std::size_t mbarrier(OpId id) { return static_cast<std::size_t>(words(f_.operand(id, 0))[0]); }
  void arrive(OpId, Mbarrier&, std::int64_t arrivals);
  void end_phase_if_complete(Mbarrier&);
  /// Whether the phase that the agent waits for is complete; if so, the agent acquires what the phase published.
  bool try_wait(Agent&);

  // interpreter_control.cpp
  /// target[i] = source[i], all at once, since a loop may yield its carried values in another order.
  void copy(std::span<const ValueId> source, std::span<const ValueId> target);
  std::span<const ValueId> yielded(BlockId b) const { return f_.op(f_.terminator(b)).operands; }

  const Function& f_;
  const InterpretOptions& options_;
  std::vector<Agent> agents_{1};  // the body, then the instances of roles
  Agent* now_ = agents_.data();   // the agent that runs
  bool ends_turn_ = false;        // another agent may continue
  std::array<std::int32_t, 3> id_{};
  std::uint64_t executed_ = 0;
  std::vector<Cell> cells_;
  std::vector<Mbarrier> mbarriers_;
  bool has_products_ = false;                  // the function has asynchronous products
  bool has_bulk_copies_ = false;               // or bulk stores
  std::vector<std::uint64_t> unfenced_;        // cells that are written and not fenced; some may be here twice
  std::unordered_set<std::uint64_t> written_;  // if there are bulk copies: the addresses of elements that the program has written
  std::unordered_map<std::uint64_t, Reduction> storing_;  // the addresses of elements that bulk stores may still write
};

/// The element at an address, its bits in the low end.
std::uint64_t read_element(std::uint64_t address, Element);
void write_element(std::uint64_t address, Element, std::uint64_t word);

/// The row-major distance between neighbours along each axis.
std::vector<std::int64_t> strides(const Type&);

}  // namespace tilewright::ir
