// Binds the arguments of a run to the names of a plan.
#include "runtime/plan/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tileir/scalar_fit.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;

namespace {

/// The C++ name of an element type, in the order of Code.
std::string_view cpp_name(Code c) {
  constexpr std::string_view kNames[] = {"bool",     "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
                                         "uint64_t", "f16",    "bf16",    "float",   "double",  "f8e4m3",  "f8e5m2"};
  return kNames[static_cast<std::size_t>(c)];
}
std::string_view cpp_name(ir::Element e) { return cpp_name(static_cast<Code>(e)); }

/// The scalars that the kernels take as arguments.
std::set<std::string> scalars_of(const fusion::KernelSequence& sequence) {
  std::set<std::string> names;
  for (const auto* kernels : {&sequence.kernels, &sequence.parameter_kernels})
    for (const fusion::SequenceKernel& k : *kernels)
      for (const fusion::KernelArgument& a : k.arguments)
        if (a.kind == fusion::KernelArgument::Kind::scalar) names.insert(a.scalar);
  return names;
}

}  // namespace

std::string text_of(const Slot& s) {
  constexpr std::string_view kKinds[] = {"input", "output", "scalar", "symbol"};
  return fmt::format("{} '{}'", s.is_parameter ? "parameter" : kKinds[static_cast<std::size_t>(s.kind)], s.name);
}

std::vector<Note> declaration_of(const Slot& s) {
  if (s.where.line == 0) return {};
  return {{s.where, fmt::format("'{}' declared here", s.name)}};
}

Bindings::Bindings(const graph::Graph& g, const fusion::KernelSequence& sequence) : slot_of_buffer_(sequence.buffers.size(), -1) {
  for (std::size_t i = 0; i < sequence.buffers.size(); ++i) {
    const fusion::SequenceBuffer& b = sequence.buffers[i];
    const bool is_input = b.kind == fusion::BufferKind::input;
    if (!is_input && b.kind != fusion::BufferKind::output) continue;
    slot_of_buffer_[i] = static_cast<int>(slots_.size());
    add({.kind = is_input ? Slot::Kind::input : Slot::Kind::output,
         .name = b.name,
         .element = b.element,
         .buffer = static_cast<int>(i),
         .is_needed = b.is_used || !is_input,
         .is_parameter = is_input && b.is_parameter,
         .where = {}});
  }
  const std::set<std::string> scalars = scalars_of(sequence);
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    const bool is_scalar = n.op == graph::Op::scalar;
    if (!is_scalar && n.op != graph::Op::input) continue;
    if (!by_name_.contains(n.text))  // an input that no kernel uses may be given; it is ignored
      add({.kind = is_scalar ? Slot::Kind::scalar : Slot::Kind::input,
           .name = n.text,
           .element = n.element,
           .is_needed = is_scalar && scalars.contains(n.text),
           .is_parameter = n.is_parameter,
           .where = {}});
    slots_[static_cast<std::size_t>(find(n.text))].where = n.where;
  }
  for (const graph::Output& o : g.outputs())
    if (const int slot = find(o.name); slot >= 0) slots_[static_cast<std::size_t>(slot)].where = o.where;
  const SymbolTable& symbols = *g.symbols();
  for (std::uint32_t s = 0; s < symbols.size(); ++s)
    add({.kind = Slot::Kind::symbol, .name = symbols[s].name, .symbol = s, .is_needed = false, .where = symbols[s].where});
  bindings_.resize(slots_.size());
  kept_.resize(slots_.size());
}

void Bindings::add(Slot slot) {
  by_name_[slot.name] = static_cast<int>(slots_.size());
  slots_.push_back(std::move(slot));
}

int Bindings::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? -1 : at->second;
}

void Bindings::fail_unknown(const std::string& name, const RunCall& call) const {
  std::string known;
  for (const Slot& s : slots_) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", s.name);
  call.fail(fmt::format("nothing of this plan has the name '{}'; the names are {}", name, known));
}

void Bindings::bind(std::span<const RunArgument> arguments, const rt::Device& device, const RunCall& call) {
  for (Binding& b : bindings_) b.state = Binding::State::none;
  for (const RunArgument& a : arguments) {
    const int index = find(a.name());
    if (index < 0) fail_unknown(a.name(), call);
    const Slot& slot = slots_[static_cast<std::size_t>(index)];
    Binding& binding = bindings_[static_cast<std::size_t>(index)];
    if (binding.is_there()) call.fail(fmt::format("{} is given twice", text_of(slot)), declaration_of(slot));
    binding.state = Binding::State::given;
    binding.value = a.value();
    if (slot.kind == Slot::Kind::scalar || slot.kind == Slot::Kind::symbol)
      bind_number(slot, binding, call);
    else
      bind_memory(slot, binding, a.value().buffer, device, call);
    binding.value.buffer = nullptr;  // a kept binding may outlive the Buffer object, whose memory may have been moved to another
  }
  expect_all(call);
}

void Bindings::bind_number(const Slot& slot, Binding& binding, const RunCall& call) const {
  if (binding.value.kind != RunValue::Kind::number)
    call.fail(fmt::format("{} is a number, and a buffer is given", text_of(slot)), declaration_of(slot));
  const Scalar& number = binding.value.number;
  if (slot.kind == Slot::Kind::scalar) {
    const FittedScalar fitted = fit(number, slot.element);
    if (!fitted.problem.empty()) call.fail(fmt::format("{}: {}", text_of(slot), fitted.problem), declaration_of(slot));
    binding.bits = fitted.bits;
    return;
  }
  if (number.kind != Scalar::Kind::signed_integer && number.kind != Scalar::Kind::unsigned_integer)
    call.fail(fmt::format("{} is an extent; its value is an integer", text_of(slot)), declaration_of(slot));
  if (number.kind == Scalar::Kind::unsigned_integer && number.bits > INT64_MAX)
    call.fail(fmt::format("{} is {}; an extent has at most 63 bits", text_of(slot), number.bits), declaration_of(slot));
}

void Bindings::bind_memory(const Slot& slot, Binding& binding, const RawBuffer* buffer, const rt::Device& device,
                           const RunCall& call) const {
  const auto fail = [&](const std::string& message) { call.fail(fmt::format("{}: {}", text_of(slot), message), declaration_of(slot)); };
  const RunValue& value = binding.value;
  if (value.kind == RunValue::Kind::number) fail("a number is given, and not a buffer");
  if (value.element != static_cast<Code>(slot.element))
    fail(fmt::format("its elements are {}, and a buffer of {} is given", cpp_name(slot.element), cpp_name(value.element)));
  if (!buffer) fail("the view is none: a view of memory comes from tw::view");
  if (!buffer->device()) fail("the buffer is empty: it was never allocated, or has been moved from");
  if (buffer->device().get() != &device)
    fail(fmt::format("the buffer is on device '{}', but the plan was compiled for device '{}'", buffer->device()->name(), device.name()));
  if (value.is_read_only && slot.kind == Slot::Kind::output) fail("a const buffer is given, which is for inputs only");
  const auto count = static_cast<std::int64_t>(buffer->size());
  if (value.offset < 0 || value.offset > count)
    fail(fmt::format("buffer + {}: the buffer has {} elements, and the offset must be 0 to {}", value.offset, count, count));
  const int width = ir::bytes(slot.element);
  binding.count = count - value.offset;
  binding.address = reinterpret_cast<std::uint64_t>(buffer->memory()) + static_cast<std::uint64_t>(value.offset * width);
  if (binding.address % static_cast<std::uint64_t>(width) != 0)
    fail(fmt::format("the address {:#x} is not aligned to {} bytes, the size of an element", binding.address, width));
}

void Bindings::expect_all(const RunCall& call) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (bindings_[i].is_there()) continue;
    if (kept_[i].is_there()) {
      bindings_[i] = kept_[i];
    } else if (slot.is_needed) {
      const char* rest = slot.is_parameter ? "; only later runs may leave it out" : "";
      const char* what = slot.kind == Slot::Kind::scalar ? "number" : "buffer";
      call.fail(fmt::format("no {} is given for {}{}", what, text_of(slot), rest), declaration_of(slot));
    }
  }
}

void Bindings::keep_parameters() {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].is_parameter && bindings_[i].state == Binding::State::given) {
      kept_[i] = bindings_[i];
      kept_[i].state = Binding::State::kept;
    }
}

}  // namespace tilewright::detail
