// Executes one program by two executors and compares memory afterwards.
#include "tests/fuzz/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "passes/all_passes.h"
#include "tileir/builder.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/text/printer.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

constexpr std::uint64_t kMaxOps = 2'000'000;  // ops of one program: far more than the generator makes
// Passes turn one op into many: a cast of a small float becomes about twenty integer ops.
constexpr std::uint64_t kMaxOpsAfterPasses = 64 * kMaxOps;

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t i, Element e) {
  std::uint64_t w = 0;
  const auto size = static_cast<std::size_t>(ir::bytes(e));
  std::memcpy(&w, &bytes[i * size], size);
  return w;
}

bool equal(Element e, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  return is_float(e) && std::isnan(float_value(e, a)) && std::isnan(float_value(e, b));
}

bool is_near(Element e, std::uint64_t a, std::uint64_t b, Tolerance tolerance) {
  const auto is_small = [](std::uint64_t word) { return std::abs(float_value(Element::f32, word)) < 0x1p-126; };
  if (tolerance.flushes && e == Element::f32) {
    if (is_small(a) && is_small(b)) return true;
    // A few subnormal addends that are missing.
    if (std::abs(float_value(e, a) - float_value(e, b)) <= 0x1p-124) return true;
  }
  if (tolerance.ulp == 0 || (e != Element::f32 && e != Element::f16 && e != Element::bf16)) return false;
  const double x = float_value(e, a), y = float_value(e, b);
  // Infinity stands for the number after the greatest.
  const double epsilon = e == Element::f32 ? 0x1p-23 : e == Element::f16 ? 0x1p-10 : 0x1p-7, units = e == Element::f32 ? tolerance.ulp : 1;
  const double least = e == Element::f16 ? 0x1p-14 : 0x1p-126, most = e == Element::f16 ? 65536 : 0x1p128;
  const auto finite = [&](double v) { return std::isinf(v) ? std::copysign(most, v) : v; };
  return std::abs(finite(x) - finite(y)) <= std::max(units * epsilon * std::abs(finite(x)), least);
}

std::string show(Element e, std::uint64_t w) {
  return is_float(e) ? fmt::format("{} ({:#x})", float_value(e, w), w) : fmt::format("{} ({:#x})", integer_value(e, w), w);
}

std::optional<std::string> try_run(const Program& p, Executor& executor, const Memory& memory) {
  executor.expect_within(&memory);
  try {
    executor.run(p.function, memory.words(), p.grid);
  } catch (const std::exception& e) {
    return fmt::format("{} failed: {}", executor.name(), e.what());
  }
  if (const int i = memory.broken_guard(); i >= 0)
    return fmt::format("{} wrote outside of the buffer '{}'", executor.name(), p.function.params[i].name);
  return std::nullopt;
}

/// Updates of one such kind commute, if their results (the old values) are not used.
bool any_order(const Function& f, OpId id) {
  return ir::is_commutative_update(f.kind(id)) && is_integer(f.type(f.result(id)).element()) && !f.has_uses(f.result(id));
}

bool is_uniform(const Function& f, ValueId v) {
  const OpId by = f.value(v).op;
  if (!by) return f.type(v).is_scalar();
  const OpKind k = f.kind(by);
  return f.type(v).is_scalar() || k == OpKind::constant_ || (k == OpKind::broadcast_ && f.type(f.operand(by, 0)).is_scalar());
}

/// Whether the lanes of one program give the same result in any order: each lane applies the same operation to the previous result, and of
/// the old values only the sorted row is read, which does not depend on the order.
bool any_order_of_lanes(const Function& f, OpId id) {
  if (any_order(f, id)) return true;
  const ValueId old = f.result(id);
  if (!is_integer(f.type(old).element()) || f.type(old).rank() != 1) return false;
  const ValueId mask = mask_of(f, id);
  const auto& operands = f.op(id).operands;
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (operands[i] != mask && !is_uniform(f, operands[i])) return false;
  return std::all_of(f.value(old).users.begin(), f.value(old).users.end(),
                     [&](OpId user) { return f.kind(user) == OpKind::sort_ && f.op(user).operands.size() == 1; });
}

/// Who touched an element: numbers of programs; -1 none, -2 several.
struct Touch {
  int reader = -1, writer = -1, updater = -1;
  OpKind update{};  // the op of the updater
};
void note(int& who, int program) { who = who == -1 || who == program ? program : -2; }

std::string conflict(const Touch& t) {
  if (t.writer == -2) return "two programs write one element";
  if (t.writer != -1 && t.reader != -1 && t.writer != t.reader) return "a program reads what another one writes";
  for (int other : {t.reader, t.writer})
    if (t.updater != -1 && other != -1 && (t.updater != other || other == -2)) return "a program touches what another one updates";
  return {};
}

}  // namespace

std::string report_text(const std::string& said, std::array<std::int32_t, 3> program, std::span<const TileValue> operands) {
  std::string s = fmt::format("program ({}, {}, {}): {}", program[0], program[1], program[2], said);
  for (const TileValue& v : operands) {
    s += fmt::format("; {}", ir::text(v.type));
    const Element e = v.type.element();
    for (std::uint64_t w : v.bits) s += is_float(e) && std::isnan(float_value(e, w)) ? " nan" : fmt::format(" {:x}", w);
  }
  return s;
}

void InterpreterExecutor::run(const Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  OpId outside;
  InterpretOptions options;
  options.grid = grid;
  options.reduction = order_;
  options.max_ops = kMaxOpsAfterPasses;
  if (memory_)
    options.may_access = [&](std::uint64_t address, int bytes, bool, OpId id) {
      const bool inside = memory_->inside(address, bytes);
      if (!inside) outside = id;
      return inside;
    };
  reports_.clear();
  options.report = [&](const Report& r) {
    std::vector<TileValue> operands;
    for (const TileValue* v : r.operands) operands.push_back(*v);
    reports_.push_back(report_text((r.lane < 0 ? "" : "does not hold: ") + f.attr_text(r.op, AttrName::text), r.program, operands));
  };
  interpret(f, words, options);
  if (outside) throw std::runtime_error(fmt::format("access outside of all buffers: {}", print(f, outside)));
}

void RewritingExecutor::run(const Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  Function changed = f;
  rewrite_(changed);
  interpreter_.run(changed, words, grid);
  reports_ = interpreter_.reports();
}

/// The first hint that is not true, as checked mode finds it.
static std::string wrong_hint(const Program& p) {
  bool has_hints = false;
  p.function.walk([&](OpId id) { has_hints |= info(p.function.kind(id)).family == Family::hint; });
  if (!has_hints) return {};
  Function checked = p.function;
  passes::PassContext context;
  context.check = true;
  passes::lower_assumptions(checked, context);
  const Memory memory(p);
  std::string problem;
  InterpretOptions options;
  options.grid = p.grid;
  options.max_ops = kMaxOps;
  options.report = [&](const Report& r) {
    if (r.lane < 0 || static_cast<Reason>(checked.attr(r.op, AttrName::reason)) == Reason::gather || !problem.empty()) return;
    problem = fmt::format("a hint is wrong, or an assertion: {}", print(checked, r.op));
  };
  interpret(checked, memory.words(), options);
  return problem;
}

std::string check_meaning(const Program& p, bool one_lane_an_element) {
  const Memory memory(p);
  std::string problem;
  std::unordered_map<std::uint64_t, Touch> touched;  // by address of the first byte; all accesses of one buffer have one size
  std::unordered_map<std::uint64_t, int> stored;     // addresses of the store in progress, as the number of its run of accesses
  int program = -1, run = 0;
  OpId last;
  InterpretOptions options;
  options.grid = p.grid;
  options.max_ops = kMaxOps;
  options.begin_program = [&](std::array<std::int32_t, 3>) {
    ++program;
    last = {};
  };
  options.may_access = [&](std::uint64_t address, int bytes, bool is_store, OpId id) {
    if (!memory.inside(address, bytes)) {
      if (problem.empty()) problem = fmt::format("access outside of all buffers: {}", print(p.function, id));
      return false;
    }
    if (id != last) ++run, last = id;
    const bool is_plain_store = p.function.kind(id) == OpKind::store_;
    const bool writes = is_plain_store || (info(p.function.kind(id)).family == Family::atomic && !any_order_of_lanes(p.function, id));
    if (one_lane_an_element && writes && std::exchange(stored[address], run) == run)
      problem = fmt::format("two lanes meet in an element: {}", print(p.function, id));
    Touch& t = touched[address];
    if (any_order(p.function, id) && (t.updater == -1 || t.update == p.function.kind(id))) {
      note(t.updater, program);
      t.update = p.function.kind(id);
    } else {
      if (is_store) note(t.writer, program);
      if (!is_plain_store) note(t.reader, program);
    }
    if (const std::string c = conflict(t); !c.empty()) problem = c;
    return true;
  };
  options.report = [&](const Report& r) {
    if (r.lane >= 0) problem = fmt::format("an assertion does not hold: {}", print(p.function, r.op));
  };
  try {
    interpret(p.function, memory.words(), options);
    return problem.empty() ? wrong_hint(p) : problem;
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::optional<std::string> compare(const Program& p, Executor& reference, Executor& candidate, Tolerance tolerance) {
  const Memory expected(p), got(p);
  if (auto failure = try_run(p, reference, expected)) return failure;
  if (auto failure = try_run(p, candidate, got)) return failure;
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const Argument& a = p.arguments[i];
    if (!a.is_buffer || a.alias >= 0) continue;
    const auto want = expected.contents(static_cast<int>(i)), have = got.contents(static_cast<int>(i));
    if (want == have) continue;
    for (std::size_t k = 0; k < want.size() / bytes(a.element); ++k) {
      const std::uint64_t w = word_at(want, k, a.element), h = word_at(have, k, a.element);
      if (!equal(a.element, w, h) && !is_near(a.element, w, h, tolerance))
        return fmt::format("{}[{}]: {} says {}, {} says {}", p.function.params[i].name, k, reference.name(), show(a.element, w),
                           candidate.name(), show(a.element, h));
    }
  }
  for (std::size_t i = 0; i < std::max(reference.reports().size(), candidate.reports().size()); ++i) {
    const auto nth = [&](const Executor& e) { return i < e.reports().size() ? e.reports()[i] : "nothing"; };
    if (nth(reference) != nth(candidate))
      return fmt::format("report {}: {} says\n  {}\n{} says\n  {}", i + 1, reference.name(), nth(reference), candidate.name(),
                         nth(candidate));
  }
  return std::nullopt;
}

}  // namespace tilewright::fuzz
