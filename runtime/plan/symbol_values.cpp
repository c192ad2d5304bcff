// Solves the equations of a run for its symbols.
#include "runtime/plan/symbol_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "tileir/graph/shapes.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;

std::int64_t least_value(const DimBounds& b) { return (b.min / b.multiple_of + (b.min % b.multiple_of != 0)) * b.multiple_of; }

SymbolValues::SymbolValues(const SymbolTable& table, const fusion::KernelSequence& sequence, const Bindings& bindings,
                           std::vector<std::uint32_t> needed)
    : table_(table), sequence_(sequence), needed_(std::move(needed)) {
  for (std::uint32_t s = 0; s < table.size(); ++s) {
    of_symbol_.emplace_back(table.dim(s), table);
    least_.push_back(least_value(table[s].bounds));
  }
  for (std::size_t i = 0; i < sequence.buffers.size(); ++i) {
    const bool has_slot = bindings.slot_of_buffer(static_cast<int>(i)) >= 0;
    const graph::TensorShape shape = has_slot ? sequence.buffers[i].shape : graph::TensorShape();
    std::vector<ExtentEquation>& axes = axes_of_buffer_.emplace_back();
    for (const Dim& d : shape) axes.emplace_back(d, table);
    count_of_buffer_.emplace_back(graph::element_count(shape), table);
  }
  values_ = least_;
  source_.assign(table.size(), -1);
}

void SymbolValues::resolve(const Bindings& bindings, const RunCall& call) {
  values_ = least_;
  std::fill(source_.begin(), source_.end(), -1);
  collect(bindings, call);
  for (bool is_progress = true; is_progress;) {
    is_progress = false;
    for (Fact& f : facts_)
      if (!f.is_used && use(f, bindings, call)) is_progress = true;
  }
  for (std::uint32_t s : needed_)
    if (!has_value(s))
      call.fail(fmt::format("no view and no buffer tells the value of symbol '{}'; give it by name, as {{\"{}\", 8}}", table_[s].name,
                            table_[s].name),
                {{table_[s].where, fmt::format("'{}' declared here", table_[s].name)}});
  check_bounds(bindings, call);
}

void SymbolValues::collect(const Bindings& bindings, const RunCall& call) {
  facts_.clear();
  // Numbers and views give exact values, so they come first; the sizes of buffers are compared with them.
  for (std::size_t i = 0; i < bindings.slots().size(); ++i)
    if (const Slot& s = bindings.slots()[i]; s.kind == Slot::Kind::symbol && bindings[i].is_there())
      facts_.push_back({i, kNumber, &of_symbol_[s.symbol], static_cast<std::int64_t>(bindings[i].value.number.bits), false});
  for (const RunValue::Kind kind : {RunValue::Kind::view, RunValue::Kind::buffer})
    for (std::size_t i = 0; i < bindings.slots().size(); ++i)
      if (bindings.slots()[i].buffer >= 0 && bindings[i].is_there() && bindings[i].value.kind == kind) collect_memory(i, bindings, call);
}

void SymbolValues::collect_memory(std::size_t slot, const Bindings& bindings, const RunCall& call) {
  const Slot& s = bindings.slots()[slot];
  const Binding& b = bindings[slot];
  const auto index = static_cast<std::size_t>(s.buffer);
  const fusion::SequenceBuffer& buffer = sequence_.buffers[index];
  const std::vector<ExtentEquation>& axes = axes_of_buffer_[index];
  if (b.value.kind == RunValue::Kind::buffer) {
    if (buffer.strides.empty()) facts_.push_back({slot, kCount, &count_of_buffer_[index], b.count, false});
    return;
  }
  if (static_cast<std::size_t>(b.value.rank) != axes.size())
    call.fail(fmt::format("'{}' is {}; the view given has {} ax{}s", s.name, graph::shape_text(buffer.shape), b.value.rank,
                          b.value.rank == 1 ? 'i' : 'e'),
              declaration_of(s));
  for (std::size_t a = 0; a < axes.size(); ++a) facts_.push_back({slot, static_cast<int>(a), &axes[a], b.value.extents[a], false});
}

/// Whether the fact is used up: it gave a symbol its value, or it agrees with the values.
bool SymbolValues::use(Fact& f, const Bindings& bindings, const RunCall& call) {
  std::uint32_t unknown = 0;
  int unknowns = 0;
  for (std::uint32_t s : f.equation->symbols())
    if (!has_value(s)) unknown = s, ++unknowns;
  if (unknowns > 1) return false;
  if (unknowns == 0) {
    const Dim& extent = f.equation->extent();
    const auto value = extent.is_constant() ? extent.value() : table_.evaluate(extent.expression()->polynomial, values_);
    if (value != f.value) fail_conflict(f, bindings, call);
    return f.is_used = true;
  }
  ExtentEquation::Solution s{ExtentEquation::Solution::Kind::found, f.value};
  if (f.axis != kNumber) s = f.equation->solve(unknown, values_, f.value);
  if (s.kind == ExtentEquation::Solution::Kind::open) return false;
  if (s.kind == ExtentEquation::Solution::Kind::none)
    call.fail(fmt::format("{} fit no value of '{}'{}", text_of_fact(f, bindings), table_[unknown].name, values_text(*f.equation)),
              declaration_of(bindings.slots()[f.slot]));
  values_[unknown] = s.value;
  source_[unknown] = static_cast<int>(&f - facts_.data());
  return f.is_used = true;
}

std::string SymbolValues::text_of_fact(const Fact& f, const Bindings& bindings) const {
  const Slot& slot = bindings.slots()[f.slot];
  if (f.axis == kNumber) return fmt::format("the {} given for '{}'", f.value, slot.name);
  const std::string shape = graph::shape_text(sequence_.buffers[static_cast<std::size_t>(slot.buffer)].shape);
  if (f.axis == kCount) return fmt::format("the {} elements of '{}' {}", f.value, slot.name, shape);
  return fmt::format("extent {} of axis {} of the view '{}' {}", f.value, f.axis, slot.name, shape);
}

/// For example ", where n = 5, m = 3": the symbols that have values.
std::string SymbolValues::values_text(const ExtentEquation& e) const {
  std::string text;
  for (std::uint32_t s : e.symbols())
    if (has_value(s)) text += fmt::format("{}{} = {}", text.empty() ? ", where " : ", ", table_[s].name, values_[s]);
  return text;
}

/// The values of the symbols give the tensor no size.
void SymbolValues::fail_fraction(const Fact& f, const Bindings& bindings, const RunCall& call) const {
  const Slot& slot = bindings.slots()[f.slot];
  const fusion::SequenceBuffer& buffer = sequence_.buffers[static_cast<std::size_t>(slot.buffer)];
  const auto has_no_value = [&](const Dim& d) { return !d.is_constant() && !table_.evaluate(d.expression()->polynomial, values_); };
  const auto extent = std::find_if(buffer.shape.begin(), buffer.shape.end(), has_no_value);
  const std::string what = extent == buffer.shape.end() ? "their product" : fmt::format("extent '{}'", extent->text());
  std::vector<Note> notes = declaration_of(slot);
  std::string values;
  for (std::uint32_t s : f.equation->symbols()) {
    const Fact& source = facts_[static_cast<std::size_t>(source_[s])];
    values += fmt::format("{}{} = {} by {}", values.empty() ? "" : ", ", table_[s].name, values_[s], text_of_fact(source, bindings));
    for (Note& n : declaration_of(bindings.slots()[source.slot])) notes.push_back(std::move(n));
  }
  call.fail(fmt::format("'{}' is {}: {} is not an integer of 64 bits for {}: a quotient leaves a remainder, or the number is too large",
                        slot.name, graph::shape_text(buffer.shape), what, values),
            notes);
}

void SymbolValues::fail_conflict(const Fact& f, const Bindings& bindings, const RunCall& call) const {
  const Slot& slot = bindings.slots()[f.slot];
  const Dim& extent = f.equation->extent();
  const auto expected = extent.is_constant() ? extent.value() : table_.evaluate(extent.expression()->polynomial, values_);
  if (!expected && f.axis != kNumber) fail_fraction(f, bindings, call);
  // The message is clearest if it names a symbol that this fact alone gives another value.
  for (std::uint32_t s : f.equation->symbols()) {
    const ExtentEquation::Solution other = f.equation->solve(s, values_, f.value);
    if (other.kind != ExtentEquation::Solution::Kind::found) continue;
    const Fact& first = facts_[static_cast<std::size_t>(source_[s])];
    std::vector<Note> notes = declaration_of(bindings.slots()[first.slot]);
    for (Note& n : declaration_of(slot)) notes.push_back(std::move(n));
    call.fail(fmt::format("symbol '{}' has two values: {} by {}, and {} by {}", table_[s].name, values_[s], text_of_fact(first, bindings),
                          other.value, text_of_fact(f, bindings)),
              notes);
  }
  const std::string shape = graph::shape_text(sequence_.buffers[static_cast<std::size_t>(slot.buffer)].shape);
  const std::string wanted = std::to_string(expected.value());
  if (f.axis == kCount)
    call.fail(fmt::format("'{}' is {}{}, and has {} element{}; the buffer given has {}", slot.name, shape, values_text(*f.equation), wanted,
                          wanted == "1" ? "" : "s", f.value),
              declaration_of(slot));
  call.fail(
      fmt::format("'{}' is {}{}; axis {} of the view given has extent {}", slot.name, shape, values_text(*f.equation), f.axis, f.value),
      declaration_of(slot));
}

void SymbolValues::check_bounds(const Bindings& bindings, const RunCall& call) const {
  for (std::uint32_t s = 0; s < table_.size(); ++s) {
    if (!has_value(s)) continue;
    const DimBounds& b = table_[s].bounds;
    const std::int64_t v = values_[s];
    std::string bound;
    if (v < b.min) bound = fmt::format("at least {}", b.min);
    if (v > b.max) bound = fmt::format("at most {}", b.max);
    if (bound.empty() && v % b.multiple_of != 0) bound = fmt::format("a multiple of {}", b.multiple_of);
    if (bound.empty()) continue;
    call.fail(fmt::format("symbol '{}' is {} by {}; it must be {}", table_[s].name, v,
                          text_of_fact(facts_[static_cast<std::size_t>(source_[s])], bindings), bound),
              {{table_[s].where, fmt::format("'{}' declared here", table_[s].name)}});
  }
}

}  // namespace tilewright::detail
