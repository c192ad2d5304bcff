// Traces, and the values of handles.
#include "frontend/trace/trace_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

thread_local Trace* Trace::current_ = nullptr;

namespace {

// Handle values from this number on are markers, not values of the function: see half_assigned().
constexpr std::uint32_t kFirstHalfAssigned = 0xf0000000;

// The trace number of a handle that was copied while its trace was not current.
constexpr std::uint32_t kNoTrace = UINT32_MAX;

// Handles may outlive their trace and move between threads, so each trace of a process has its own number.
std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t n = ++last;
  while (n == 0 || n == kNoTrace) n = ++last;
  return n;
}

// All live traces of all threads. A handle may be destroyed by a thread other than the one that traces.
struct LiveTraces {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, Trace*> by_serial;
};
LiveTraces& live_traces() {
  static auto* traces = new LiveTraces;  // never destroyed, because handles may be destroyed at the very end of a program
  return *traces;
}

std::string_view construct(ir::OpKind k) {
  switch (k) {
    case ir::OpKind::for_: return "loop";
    case ir::OpKind::if_: return "when";
    case ir::OpKind::while_: return "loop_while";
    case ir::OpKind::reduce_:
    case ir::OpKind::scan_: return "combine function";
    default: TW_UNREACHABLE("an op without regions encloses a value");
  }
}

}  // namespace

void fail(const Here& at, const std::string& message, const std::vector<Note>& notes) { throw Error(location_of(at), message, notes); }

// ---- handles ---------------------------------------------------------------------------------------------------------

Handle::Handle(Made made) { Trace::active()->enter(*this, made.value, 0); }

void Handle::adopt(const Handle& other, std::uint32_t variable) noexcept {
  if (Trace* trace = Trace::alive(other.trace_)) {
    trace->enter(*this, other.value_, variable);
  } else {
    trace_ = kNoTrace;
    value_ = other.value_;
  }
}

void Handle::rebind(const Handle& other) noexcept {
  if (other.trace_ == 0) {
    value_ = kNone;
    return;
  }
  if (trace_ != 0) leave();
  adopt(other, 0);
}

void Handle::leave() noexcept {
  if (Trace* trace = Trace::alive(trace_)) {
    trace->handles_[slot_] = nullptr;
    trace->free_slots_.push_back(slot_);
  } else {
    Trace::forget(*this);
  }
  trace_ = 0;
  value_ = kNone;
}

void Trace::enter(Handle& h, std::uint32_t value, std::uint32_t variable) {
  if (free_slots_.empty()) {
    h.slot_ = static_cast<std::uint32_t>(handles_.size());
    handles_.push_back(&h);
  } else {
    h.slot_ = free_slots_.back();
    free_slots_.pop_back();
    handles_[h.slot_] = &h;
  }
  h.trace_ = serial_;
  h.value_ = value;
  h.variable_ = variable != 0 ? variable : next_variable_++;
}

// ---- the trace -------------------------------------------------------------------------------------------------------

Trace::Trace(const std::string& name) : outer_(current_), serial_(next_serial()), function_(name), builder_(function_) {
  LiveTraces& live = live_traces();
  std::lock_guard lock(live.mutex);
  live.by_serial.emplace(serial_, this);
  current_ = this;
}

Trace::~Trace() {
  current_ = outer_;
  LiveTraces& live = live_traces();
  std::lock_guard lock(live.mutex);
  live.by_serial.erase(serial_);
}

Trace& Trace::current(std::string_view what, const Here& at) {
  if (current_ == nullptr)
    fail(at, fmt::format("{}: no kernel is being traced here; operations on tiles belong into the function given to tw::Kernel", what));
  if (current_->broken_) current_->report_broken("early");
  return *current_;
}

Trace* Trace::alive(std::uint32_t serial) {
  Trace* t = current_;
  while (t != nullptr && t->serial_ != serial) t = t->outer_;
  return t;
}

void Trace::forget(const Handle& h) noexcept {
  if (h.trace_ == kNoTrace) return;
  LiveTraces& live = live_traces();
  std::lock_guard lock(live.mutex);
  // The slot is not reused: the table belongs to the thread that traces.
  if (const auto it = live.by_serial.find(h.trace_); it != live.by_serial.end()) it->second->handles_[h.slot_] = nullptr;
}

ir::Builder& Trace::builder(const Here& at) {
  if (at.file_name() != last_file_) {
    last_file_ = at.file_name();
    last_file_index_ = function_.add_file(last_file_);
  }
  builder_.set_loc({last_file_index_, at.line(), at.column()});
  return builder_;
}

bool Trace::usable(ir::ValueId v, ir::BlockId at) const {
  return v.index < kFirstHalfAssigned && function_.encloses(function_.defining_block(v), at);
}

ir::ValueId Trace::half_assigned(const Here& when) {
  half_assigned_.push_back(location_of(when));
  return {static_cast<std::uint32_t>(kFirstHalfAssigned + half_assigned_.size() - 1)};
}

ir::ValueId Trace::value(const Handle& h, std::string_view what, std::string_view operand, const Here& at) const {
  if (h.value_ == Handle::kNone) fail(at, fmt::format("{}: '{}' is empty: a tile must be assigned before it is used", what, operand));
  if (h.trace_ != serial_)
    fail(at, fmt::format("{}: '{}' belongs to another trace: a tile lives only while the kernel that made it is traced", what, operand));
  if (h.value_ >= kFirstHalfAssigned)
    fail(at,
         fmt::format("{}: '{}' got its first value in only one branch of a when; assign it before the when, or in both branches", what,
                     operand),
         {{half_assigned_[h.value_ - kFirstHalfAssigned], "the when is here"}});
  const ir::ValueId v{h.value_};
  if (!usable(v, block())) {
    const ir::OpId owner = function_.block(function_.defining_block(v)).parent;
    const std::string_view inner = construct(function_.kind(owner));
    std::vector<Note> notes;
    if (function_.where(v).line > 0) notes.push_back({function_.where(v), "made here"});
    notes.push_back({function_.where(owner), fmt::format("the {} is here", inner)});
    fail(at,
         fmt::format("{}: '{}' was made inside of a {} and is used outside of it; give the variable a value before the {}", what, operand,
                     inner, inner),
         notes);
  }
  return v;
}

std::vector<Variable> Trace::variables() const {
  std::vector<Variable> all;
  for (const Handle* h : handles_)
    if (h != nullptr) all.push_back({h, h->slot_, h->variable_, h->value_});
  // Sorted by age, because slots are reused: the order of loop-carried values must not depend on slots.
  std::sort(all.begin(), all.end(), [](const Variable& a, const Variable& b) { return a.id != b.id ? a.id < b.id : a.slot < b.slot; });
  return all;
}

const Handle* Trace::find(const Variable& v, std::span<const Variable> among) const {
  const auto in_place = [&](const Variable& x) { return handles_[x.slot] == x.handle && x.handle->variable_ == x.id; };
  if (in_place(v)) return v.handle;
  for (const Handle* h : handles_) {
    if (h == nullptr || h->variable_ != v.id) continue;
    if (std::none_of(among.begin(), among.end(), [&](const Variable& x) { return x.handle == h && in_place(x); })) return h;
  }
  return nullptr;
}

void Trace::rename(const std::unordered_map<std::uint32_t, std::uint32_t>& names) {
  if (names.empty()) return;
  for (const Handle* h : handles_)
    if (h != nullptr)
      if (const auto it = names.find(h->value_); it != names.end()) h->value_ = it->second;
}

void Trace::leave_early(const Here& at, std::string what) {
  if (!broken_) broken_ = Broken{location_of(at), std::move(what)};
}

void Trace::report_broken(const std::string& how) const {
  throw Error(broken_->where, fmt::format("the body of this {} was left {}: a body is traced once, from its beginning to its end; "
                                          "use a mask, tw::where or tw::when instead",
                                          broken_->what, how));
}

Made parameter_value(int index) {
  TW_CHECK(Trace::active() != nullptr, "a parameter outside of a trace");
  return {Trace::active()->function().arg(ir::BlockId{0}, index).index};
}

}  // namespace tilewright::detail
