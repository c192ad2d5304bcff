// Mutants of pipelined loops in tile IR: removes, weakens or shifts each wait, commit, copy, slot and condition that pipeline_loops has
// made. The interpreter, in which what a copy delivers arrives with the wait for its group, has to report each one, or its values have to
// differ.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tileir/builder.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tilewright/error.h"

namespace tilewright::test {
namespace {

using namespace ir;

/// A function with pipelined loops.
struct Subject {
  std::string name;  // "copies_run_ahead.tile @sum, 3 stages"
  Function function;
  int stages;
};

struct Mutant {
  std::string kind;  // "wait removed"
  OpId op;
  std::function<void(Function&)> apply;
};

// ---- subjects ----

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  REQUIRE_MESSAGE(in, path);
  return text.str();
}

std::vector<std::string> words_of(const std::string& text, const std::string& directive) {
  std::smatch m;
  std::vector<std::string> words;
  if (!std::regex_search(text, m, std::regex("// " + directive + ": (.*)"))) return words;
  const std::string list = m[1];
  static const std::regex word(R"([\w.]+)");
  for (std::sregex_iterator i(list.begin(), list.end(), word), end; i != end; ++i) words.push_back(i->str());
  return words;
}

bool is_pipelined(const Function& f) {
  bool found = false;
  f.walk([&](OpId id) { found = found || f.kind(id) == OpKind::copy_async_; });
  return found;
}

int stages_of(const Function& f) {
  std::int64_t slots = 0;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::alloc_buffer_) slots = std::max(slots, std::int64_t{f.type(f.result(id)).slots()});
  });
  return static_cast<int>(slots);
}

/// Functions of a text after `passes`, once for each number of stages, if they are pipelined.
void add_subjects(std::vector<Subject>& all, const std::string& name, const std::string& text, std::vector<std::string_view> passes,
                  int warps) {
  const TargetDesc target = backend::describe_target("sm_80");
  std::set<std::string> known;
  for (const int stages : {2, 3, 4}) {
    Function f = parse(text, name).functions.at(0);
    passes::PassContext context{target, true, false, warps, stages};
    passes::run_passes(f, passes, context);
    if (!is_pipelined(f) || !known.insert(print(f)).second) continue;
    const int used = stages_of(f);
    all.push_back({fmt::format("{} @{}, {} stages", name, f.name, used), f, used});
  }
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const char* file : {"computed_factors", "copies_run_ahead", "indirect_loads", "last_iteration_first", "loads_without_a_product",
                           "loops_that_store", "masks_and_carried_pointers", "matmul", "multiply_adds", "through_registers"}) {
    std::string text = read_file(fmt::format("{}/passes/pipeline_loops/{}.tile", TW_TEST_FILES, file));
    while (!text.empty()) {
      const auto end = text.find("// -----\n");
      const std::string part = text.substr(0, end);
      text = end == text.npos ? "" : text.substr(end + 9);
      const std::vector<std::string> passes = words_of(part, "passes"), warps = words_of(part, "warps");
      add_subjects(all, fmt::format("{}.tile", file), part, {passes.begin(), passes.end()}, warps.empty() ? 4 : std::stoi(warps[0]));
    }
  }
  std::vector<std::string_view> passes = passes::pipeline(backend::describe_target("sm_80"));
  passes.erase(std::find(passes.begin(), passes.end(), "allocate_shared"), passes.end());
  add_subjects(all, "counters/matmul.tile", read_file(TW_COUNTER_TESTS "/matmul.tile"), passes, 4);
  return all;
}

// ---- runs ----

/// Memory around a function's parameters: pointers have a buffer each, the last integer is the loop's extent, the others are 64.
class Run {
 public:
  Run(const Function& f, std::int64_t extent) {
    std::mt19937 random(1);
    int integers = 0;
    for (ValueId v : f.block(f.body()).args) integers += !f.type(v).is_pointer();
    for (ValueId v : f.block(f.body()).args) {
      if (!f.type(v).is_pointer()) {
        words_.push_back(static_cast<std::uint64_t>(--integers == 0 ? extent : 64));
        continue;
      }
      std::vector<std::byte>& b = buffers_.emplace_back(kBytes);
      // Small integers, so that sums are exact: 1 to 4 in f16, in f32 and as indices, which are 0 only where they are not loaded.
      const bool is_half = f.type(v).element() == Element::f16;
      for (std::size_t i = 0; i < kBytes; i += is_half ? 2 : 4) {
        const std::uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400};
        const float floats[] = {1, 2, 3, 4};
        const auto pick = random() % 4;
        const auto index = static_cast<std::int32_t>(pick + 1);
        if (f.type(v).element() == Element::i32) {
          std::memcpy(&b[i], &index, 4);
          continue;
        }
        is_half ? std::memcpy(&b[i], &halves[pick], 2) : std::memcpy(&b[i], &floats[pick], 4);
      }
      words_.push_back(reinterpret_cast<std::uint64_t>(b.data()));
    }
  }

  /// The address of an access from the start of the buffers, which mutants have elsewhere.
  std::uint64_t offset(std::uint64_t address) const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto begin = reinterpret_cast<std::uint64_t>(buffers_[i].data());
      if (address >= begin && address < begin + kBytes) return i * kBytes + (address - begin);
    }
    return UINT64_MAX;
  }

  void run(const Function& f, const std::function<bool(std::uint64_t offset)>& may_access) {
    InterpretOptions options;
    options.max_ops = 100'000;
    options.may_access = [&](std::uint64_t address, int, bool, OpId) { return may_access(offset(address)); };
    interpret(f, words_, options);
  }
  const std::vector<std::vector<std::byte>>& buffers() const { return buffers_; }

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::uint64_t> words_;
};

/// Extents of 0 to 7 tiles, and some that end within a tile where the function does not know better.
std::vector<std::int64_t> extents_of(const Function& f) {
  std::int64_t step = 0;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::for_ && step == 0)
      step = integer_value(f.type(f.operand(id, 2)).element(), *f.constant_bits(f.operand(id, 2)));
  });
  const std::int64_t tile = std::max<std::int64_t>(step, 16);  // loops of step 1 count tiles of 16
  std::vector<std::int64_t> all;
  for (const int tiles : {0, 1, 2, 3, 4, 5, 7}) all.push_back(tiles * tile);
  if (f.params.back().divisible_by == 1)
    for (const int tiles : {1, 2, 3, 5}) all.push_back(tiles * tile - 3);
  return all;
}

/// The accesses of a function for one extent of its loop.
struct Reference {
  std::int64_t extent;
  std::set<std::uint64_t> accessed;
  std::vector<std::vector<std::byte>> buffers;  // afterwards
};

std::vector<Reference> references_of(const Function& f) {
  std::vector<Reference> all;
  for (const std::int64_t extent : extents_of(f)) {
    Reference& r = all.emplace_back(Reference{extent, {}, {}});
    Run run(f, extent);
    run.run(f, [&](std::uint64_t offset) { return r.accessed.insert(offset), true; });
    r.buffers = run.buffers();
  }
  return all;
}

/// How a mutant is found: "" if it is not, "values", "access" if it reads memory that the function does not, or what the interpreter says.
std::string found(const std::vector<Reference>& references, const Function& mutant) {
  std::string result;
  for (const Reference& right : references) {
    Run wrong(mutant, right.extent);
    bool elsewhere = false;
    try {
      wrong.run(mutant, [&](std::uint64_t offset) {
        elsewhere = elsewhere || !right.accessed.contains(offset);
        return right.accessed.contains(offset);
      });
    } catch (const Error& e) {
      return e.what();
    }
    if (elsewhere) result = "access";
    if (result.empty() && right.buffers != wrong.buffers()) result = "values";
  }
  return result;
}

// ---- mutants ----

class Mutator {
 public:
  explicit Mutator(const Function& f) : f_(f) {}

  std::vector<Mutant> run() {
    f_.walk([&](OpId id) {
      switch (f_.kind(id)) {
        case OpKind::async_wait_: wait(id); break;
        case OpKind::async_commit_: commit(id); break;
        case OpKind::copy_async_: copy(id); break;
        case OpKind::load_: load(id); break;
        case OpKind::buffer_store_: store(id); break;
        case OpKind::buffer_slot_: slot(id); break;
        case OpKind::for_: counters(id); break;
        default: break;
      }
    });
    return std::move(all_);
  }

 private:
  void add(const char* kind, OpId id, std::function<void(Function&)> apply) { all_.push_back({kind, id, std::move(apply)}); }

  void wait(OpId id) {
    const std::int64_t pending = f_.attr(id, AttrName::pending);
    bool is_behind_loop = false;
    for (OpId before = id; before; before = f_.op(before).prev)
      is_behind_loop = is_behind_loop || (f_.kind(before) == OpKind::for_ && f_.op(id).parent == f_.body());
    if (is_behind_loop) return add("last wait removed", id, [=](Function& f) { f.erase(id); });
    add("wait removed", id, [=](Function& f) { f.erase(id); });
    add("wait weakened", id, [=](Function& f) { f.set_attr(id, {AttrName::pending, pending + 1, {}, {}}); });
    OpId last;
    for (OpId next = id; next; next = f_.op(next).next)
      if (f_.kind(next) == OpKind::async_commit_) last = next;
    if (!last) return;
    add("wait behind the copies", id, [=](Function& f) {
      Builder b(f);
      b.after(last);
      b.create(OpKind::async_wait_, {}, {{AttrName::pending, pending, {}, {}}});
      f.erase(id);
    });
  }

  /// An additional commit is not a mutant: a wait counts groups from the newest one, so with an empty group fewer copies are in flight.
  void commit(OpId id) {
    add("commit removed", id, [=](Function& f) { f.erase(id); });
  }

  void store(OpId id) {
    add("store removed", id, [=](Function& f) { f.erase(id); });
  }

  /// The condition of a copy may be a < b.
  void copy(OpId id) {
    add("copy removed", id, [=](Function& f) { f.erase(id); });
    const auto condition = [&](const char* kind, std::function<ValueId(Builder&, ValueId a, ValueId b)> make) {
      add(kind, id, [=](Function& f) {
        const OpId less = f.defined_by(f.operand(id, 2), OpKind::lt_);
        Builder b(f);
        b.before(id);
        f.set_operand(id, 2, less ? make(b, f.operand(less, 0), f.operand(less, 1)) : make(b, {}, {}));
      });
    };
    if (!f_.constant_bits(f_.operand(id, 2)))
      condition("copy under no condition", [](Builder& b, ValueId, ValueId) { return b.constant(Type(Element::boolean), 1); });
    condition("copy never", [](Builder& b, ValueId, ValueId) { return b.constant(Type(Element::boolean), 0); });
    if (f_.op(id).operands.size() > 3) add("copy under no mask", id, [=](Function& f) { f.erase_operand(id, 3); });
    const OpId less = f_.defined_by(f_.operand(id, 2), OpKind::lt_);
    if (!less) return;
    const std::int64_t step = step_of_condition(less);
    condition("copy once more", [](Builder& b, ValueId x, ValueId y) { return b.binary(OpKind::le_, x, y); });
    condition("copy once less", [step](Builder& b, ValueId x, ValueId y) {
      return b.binary(OpKind::lt_, b.binary(OpKind::add_, x, b.constant(b.function().type(x), step)), y);
    });
  }

  /// A load of an index, or of a tile into registers: only if the tile exists, which is an operand of the mask.
  void load(OpId id) {
    if (f_.op(id).operands.size() < 2) return;
    OpId user = id;  // user of the condition
    int operand = 1;
    if (const OpId both = f_.defined_by(f_.operand(id, 1), OpKind::bit_and_)) user = both;
    if (const OpId all = f_.defined_by(f_.operand(user, 1), OpKind::broadcast_)) user = all, operand = 0;
    const auto condition = [&](const char* kind, std::function<ValueId(Builder&, ValueId a, ValueId b)> make) {
      add(kind, id, [=](Function& f) {
        const OpId less = f.defined_by(f.operand(user, operand), OpKind::lt_);
        Builder b(f);
        b.before(user);
        f.set_operand(user, operand, make(b, f.operand(less, 0), f.operand(less, 1)));
      });
    };
    condition("load under no condition", [](Builder& b, ValueId, ValueId) { return b.constant(Type(Element::boolean), 1); });
    condition("load never", [](Builder& b, ValueId, ValueId) { return b.constant(Type(Element::boolean), 0); });
    condition("load once more", [](Builder& b, ValueId x, ValueId y) { return b.binary(OpKind::le_, x, y); });
    const std::int64_t step = step_of_condition(f_.defined_by(f_.operand(user, operand), OpKind::lt_));
    condition("load once less", [step](Builder& b, ValueId x, ValueId y) {
      return b.binary(OpKind::lt_, b.binary(OpKind::add_, x, b.constant(b.function().type(x), step)), y);
    });
  }

  /// For a comparison of a loop counter or of an iteration number: the distance to the next value.
  std::int64_t step_of_condition(OpId less) const {
    const OpId loop = parent_op(f_, less);
    const bool is_counter = loop && f_.kind(loop) == OpKind::for_ && f_.operand(less, 0) == f_.arg(f_.region(loop), 0);
    return is_counter ? step_of(loop) : 1;
  }
  std::int64_t step_of(OpId loop) const {
    return integer_value(f_.type(f_.operand(loop, 2)).element(), *f_.constant_bits(f_.operand(loop, 2)));
  }

  /// With S slots, a number n stands for slot n / divisor.
  void slot(OpId id) {
    const std::int64_t unit = std::max<std::int64_t>(f_.attr(id, AttrName::divisor), 1), slots = f_.type(f_.operand(id, 0)).slots();
    add("next slot", id, [=](Function& f) {
      Builder b(f);
      b.before(id);
      const ValueId number = f.operand(id, 1);
      const Type t = f.type(number);
      const ValueId next = b.binary(OpKind::add_, number, b.constant(t, unit));
      f.set_operand(id, 1, b.select(b.binary(OpKind::eq_, next, b.constant(t, slots * unit)), b.constant(t, 0), next));
    });
  }

  /// Mutates slot numbers that a loop carries: next is number + unit, or 0 after S units.
  void counters(OpId loop) {
    const OpId end = f_.terminator(f_.region(loop));
    for (int k = 0; k < static_cast<int>(f_.op(end).operands.size()); ++k) {
      const ValueId next = f_.operand(end, k);
      const OpId wrap = f_.defined_by(next, OpKind::select_);
      const OpId equal = wrap ? f_.defined_by(f_.operand(wrap, 0), OpKind::eq_) : OpId();
      if (!equal || !f_.type(next).is_scalar()) continue;
      add("slot number stands", wrap, [=](Function& f) { f.set_operand(end, k, f.arg(f.region(loop), k + 1)); });
      add("slot number grows on", wrap, [=](Function& f) { f.set_operand(end, k, f.operand(wrap, 2)); });
      add("slot number starts again early", wrap, [=](Function& f) {
        Builder b(f);
        b.before(wrap);
        const OpId sum = f.defined_by(f.operand(wrap, 2), OpKind::add_);
        f.set_operand(wrap, 0, b.binary(OpKind::eq_, b.binary(OpKind::add_, f.operand(wrap, 2), f.operand(sum, 1)), f.operand(equal, 1)));
      });
      add("slot number starts at another", wrap, [=](Function& f) {
        Builder b(f);
        b.before(loop);
        const OpId sum = f.defined_by(f.operand(wrap, 2), OpKind::add_);
        const Type t = f.type(f.operand(loop, k + 3));
        const std::int64_t unit = integer_value(t.element(), *f.constant_bits(f.operand(sum, 1)));
        const std::int64_t first = integer_value(t.element(), *f.constant_bits(f.operand(loop, k + 3)));
        f.set_operand(loop, k + 3, b.constant(t, first == 0 ? unit : first - unit));
      });
    }
  }

  const Function& f_;
  std::vector<Mutant> all_;
};

/// The number of mutants of a kind that are as correct as their function, over all stages.
struct Equivalent {
  const char *kind, *subject;  // no subject: all mutants of this kind
  int count;
  const char* reason;
};
constexpr const char* kMasked = "the masks are false where there is no tile";
constexpr const char* kUnread =
    "it waits for zeros that no op reads: for the sake of what gets the memory of the buffers next, and here each buffer has its own";
constexpr Equivalent kEquivalent[] = {
    {"copy once less", "last_iteration_first.tile @longer_loop", 6,
     "the last tiles of both factors are behind K and so zeros: one of them is enough"},
    {"copy once more", "last_iteration_first.tile @longer_loop", 6, kMasked},
    {"copy once more", "last_iteration_first.tile @wide_tile", 6, kMasked},
    {"copy once more", "last_iteration_first.tile @counter_is_used", 18, kMasked},
    {"copy once more", "masks_and_carried_pointers.tile @sum", 9, kMasked},
    {"copy under no condition", "last_iteration_first.tile @longer_loop", 6, kMasked},
    {"copy under no condition", "last_iteration_first.tile @wide_tile", 6, kMasked},
    {"copy under no condition", "last_iteration_first.tile @counter_is_used", 18, kMasked},
    {"copy under no condition", "masks_and_carried_pointers.tile @sum", 9, kMasked},
    {"copy under no mask", "last_iteration_first.tile @counter_is_used", 18, "K is a multiple of the tile: the condition says the same"},
    {"copy once more", "indirect_loads.tile @rows", 9, kMasked},
    {"copy under no condition", "indirect_loads.tile @rows", 9, kMasked},
    {"copy once more", "loops_that_store.tile @sum", 9, kMasked},
    {"copy once more", "loops_that_store.tile @last", 3, kMasked},
    {"copy under no condition", "loops_that_store.tile @sum", 9, kMasked},
    {"copy under no condition", "loops_that_store.tile @last", 3, kMasked},
    {"load once less", "indirect_loads.tile @carried", 12, "the last index that is loaded is that of a tile that does not exist"},
    {"last wait removed", nullptr, 0, kUnread},
};

}  // namespace

TEST_CASE("pipeline mutants: each wait, commit, copy, condition and slot is needed, and the interpreter says so") {
  std::map<std::string, std::array<int, 4>> table;            // by kind: reported, other values, other accesses, not found
  std::map<std::pair<std::string, std::string>, int> missed;  // by kind and subject
  int count = 0;
  for (const Subject& s : subjects()) {
    INFO(s.name);
    const std::vector<Reference> references = references_of(s.function);
    CHECK(found(references, s.function) == "");
    for (const Mutant& m : Mutator(s.function).run()) {
      Function f = s.function;
      m.apply(f);
      const std::string how = found(references, f);
      ++count;
      const bool is_reported = how.find(": error: ") != how.npos;
      ++table[m.kind][how.empty() ? 3 : is_reported ? 0 : how == "values" ? 1 : 2];
      if (how.empty()) ++missed[{m.kind, s.name.substr(0, s.name.find(','))}];
    }
  }
  for (const Equivalent& e : kEquivalent) {
    if (!e.subject) {
      std::erase_if(missed, [&](const auto& entry) { return entry.first.first == e.kind; });
      continue;
    }
    const auto it = missed.find({e.kind, e.subject});
    INFO(fmt::format("{} of {}: {}", e.kind, e.subject, e.reason));
    CHECK((it == missed.end() ? 0 : it->second) == e.count);
    if (it != missed.end()) missed.erase(it);
  }
  for (const auto& [what, n] : missed) {
    INFO(what.first, " of ", what.second);
    CHECK(n == 0);
  }
  std::string text = "kind of mutant: reported by the interpreter, other values, other accesses, not found\n";
  for (const auto& [kind, n] : table) text += fmt::format("{:<32} {:4} {:4} {:4} {:4}\n", kind, n[0], n[1], n[2], n[3]);
  MESSAGE(count, " mutants\n", text);
  CHECK(count > 1500);
}

}  // namespace tilewright::test
