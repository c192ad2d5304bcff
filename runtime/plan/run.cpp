// Runs a plan: resolves names and symbols, checks the buffers, prepares memory and kernels, and only then launches.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/device_failure.h"
#include "runtime/plan/plan_state.h"
#include "runtime/write_observer.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/shapes.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;
using fusion::BufferKind;
using fusion::KernelArgument;

void PlanState::run(std::span<const RunArgument> arguments, const RunOptions& options, const Here& at) {
  const RunCall call{at};
  if (!parts_.device)
    call.fail(fmt::format("this plan was compiled for target '{}' and no device; compile the graph for a device to run it", parts_.target));
  rt::Stream& stream = stream_of(options, call);
  std::lock_guard lock(mutex_);
  bindings_.bind(arguments, *parts_.device, call);
  symbol_values_.resolve(bindings_, call);
  std::optional<Sizes> before = update_sizes(call);
  try {
    check_memory(call);
    check_overlaps(call);
  } catch (...) {
    if (before) sizes_ = std::move(*before);  // back to the sizes of the latest run that was launched
    throw;
  }
  rt::at_line(at, [&] {
    const bool with_parameters = needs_parameter_kernels();
    allocate(call);
    upload_constants(call);
    if (with_parameters)
      prepare(parameter_kernels_, parts_.sequence.parameter_kernels, sizes_.parameter_kernels, parameter_launches_, call);
    prepare(kernels_, parts_.sequence.kernels, sizes_.kernels, launches_, call);

    const bool is_captured = stream.is_capturing();
    was_captured_ |= is_captured;
    // The user orders the launches of a captured run: events are not part of its graph.
    const bool uses_memory = workspace_.size() + derived_.size() > 0 && !is_captured;
    if (uses_memory) follow_previous_run(stream, options.stream.given() ? options.stream.stream().handle() : nullptr);
    announce_writes(stream, call);
    bindings_.keep_parameters();
    has_run_ = true;
    if (with_parameters) {
      derived_symbols_.reset();
      launch(parameter_launches_, nullptr, stream);
      if (!is_captured) derived_symbols_ = sizes_.symbols;
    }
    launch(launches_, is_captured ? nullptr : sequence_.get(), stream);
    // The user may destroy the stream before the next run, so an event is kept. The device's own stream remains.
    if (uses_memory && options.stream.given()) previous_end_ = stream.record();
  });
}

rt::Stream& PlanState::stream_of(const RunOptions& options, const RunCall& call) const {
  if (!options.stream.given()) return parts_.device->default_stream();
  const Stream& stream = options.stream.stream();
  if (!stream.handle()) call.fail("the stream is none: a stream comes from Device::stream()");
  if (stream.device() != parts_.device)
    call.fail(fmt::format("the stream is on device '{}', but the plan was compiled for device '{}'", stream.device()->name(),
                          parts_.device->name()));
  return *stream.handle();
}

std::optional<Sizes> PlanState::update_sizes(const RunCall& call) {
  // Before the first run, the sizes are those of reports, which were not checked.
  if (has_run_ && sizes_.symbols == symbol_values_.values()) return std::nullopt;
  Sizes sizes = sequence_sizes_.of_run(symbol_values_.values(), call);
  if (sizes.workspace_bytes > parts_.max_workspace)
    call.fail(fmt::format("these sizes need a workspace of {} bytes{}; max_workspace is {}", sizes.workspace_bytes,
                          parts_.stores_indices ? ", in which checked mode stores the indices that it tests" : "", parts_.max_workspace));
  return std::exchange(sizes_, std::move(sizes));
}

// ---- checks ----------------------------------------------------------------------------------------------------------

/// Checks what the equations of the symbols do not cover: strides, and buffers that may be larger than their tensors.
void PlanState::check_memory(const RunCall& call) const {
  for (std::size_t i = 0; i < bindings_.slots().size(); ++i) {
    const Slot& slot = bindings_.slots()[i];
    const Binding& b = bindings_[i];
    if (slot.buffer < 0 || !b.is_there()) continue;
    if (b.value.kind == RunValue::Kind::view) check_view(slot, b, call);
    const fusion::SequenceBuffer& buffer = parts_.sequence.buffers[static_cast<std::size_t>(slot.buffer)];
    const std::int64_t span = sizes_.buffers[static_cast<std::size_t>(slot.buffer)].span;
    if (b.count >= span) continue;
    const std::string strides = buffer.strides.empty() ? "" : " with strides " + graph::shape_text(buffer.strides);
    call.fail(fmt::format("'{}' is {}{}, and needs {} elements; the buffer given has {}{}", slot.name, graph::shape_text(buffer.shape),
                          strides, span, b.count, b.value.kind == RunValue::Kind::part_of_buffer ? " from there" : ""),
              declaration_of(slot));
  }
}

void PlanState::check_view(const Slot& slot, const Binding& b, const RunCall& call) const {
  const fusion::SequenceBuffer& buffer = parts_.sequence.buffers[static_cast<std::size_t>(slot.buffer)];
  const std::span extents(b.value.extents.data(), buffer.shape.size());
  if (std::ranges::find(extents, 0) != extents.end()) return;  // no element, so no stride is used
  std::int64_t dense = 1;
  for (std::size_t i = buffer.shape.size(); i-- > 0;) {
    const std::int64_t expected = buffer.strides.empty() ? dense : sequence_sizes_.value(buffer.strides[i], sizes_.symbols, call);
    dense *= b.value.extents[i];
    if (b.value.extents[i] == 1 || b.value.strides[i] == expected) continue;
    call.fail(fmt::format("'{}': axis {} of the view given has stride {}; the plan was compiled for {}", slot.name, i, b.value.strides[i],
                          expected),
              declaration_of(slot));
  }
}

PlanState::Memory PlanState::memory_of(std::size_t slot) const {
  const Slot& s = bindings_.slots()[slot];
  const Binding& b = bindings_[slot];
  std::int64_t count = b.count;
  // If the argument is a part of a buffer, the memory behind the tensor belongs to others.
  if (s.buffer >= 0 && b.value.kind != RunValue::Kind::buffer) count = sizes_.buffers[static_cast<std::size_t>(s.buffer)].span;
  return {b.address, b.address + static_cast<std::uint64_t>(count * ir::bytes(s.element))};
}

void PlanState::check_overlaps(const RunCall& call) const {
  const auto is_memory = [&](std::size_t slot) {
    const Slot::Kind kind = bindings_.slots()[slot].kind;
    return bindings_[slot].is_there() && (kind == Slot::Kind::input || kind == Slot::Kind::output);
  };
  for (std::size_t i = 0; i < bindings_.slots().size(); ++i) {
    const Slot& output = bindings_.slots()[i];
    if (output.kind != Slot::Kind::output) continue;
    const Memory mine = memory_of(i);
    for (std::size_t j = 0; j < bindings_.slots().size(); ++j) {
      if (j == i || !is_memory(j)) continue;
      const Memory other = memory_of(j);
      const bool is_one_empty = mine.begin == mine.end || other.begin == other.end;
      if (is_one_empty || mine.end <= other.begin || other.end <= mine.begin) continue;
      call.fail(fmt::format("{} shares memory with {}; an output has memory of its own", text_of(output), text_of(bindings_.slots()[j])),
                declaration_of(output));
    }
  }
}

// ---- memory ----------------------------------------------------------------------------------------------------------

/// Whether derived tensors are missing or out of date because a parameter was given or extents have changed.
bool PlanState::needs_parameter_kernels() const {
  if (parameter_kernels_.empty()) return false;
  if (!derived_symbols_) return true;
  for (std::uint32_t s : sequence_sizes_.parameter_symbols())
    if ((*derived_symbols_)[s] != sizes_.symbols[s]) return true;
  for (const fusion::SequenceKernel& k : parts_.sequence.parameter_kernels)
    for (const KernelArgument& a : k.arguments) {
      const int slot = a.kind == KernelArgument::Kind::buffer ? bindings_.slot_of_buffer(a.buffer) : -1;
      if (slot >= 0 && bindings_[static_cast<std::size_t>(slot)].state == Binding::State::given) return true;
    }
  return false;
}

/// Graphs that the user captured contain the addresses of a run, so their memory must stay.
void PlanState::release(RawBuffer& memory) {
  if (was_captured_ && memory.device()) captured_memory_.push_back(std::move(memory));
  memory = RawBuffer();
}

void PlanState::allocate(const RunCall& call) {
  const auto grow = [&](RawBuffer& memory, std::uint64_t bytes) {
    if (memory.size() >= bytes) return false;
    release(memory);  // releases first, so that both need not fit at once
    memory = RawBuffer(parts_.device, Code::u8, static_cast<std::int64_t>(bytes), call.at);
    return true;
  };
  grow(workspace_, sizes_.workspace_bytes);
  if (grow(derived_, sizes_.derived_bytes)) derived_symbols_.reset();
}

namespace {

/// The elements as bytes, in their layout in memory.
std::vector<std::byte> packed(const graph::ConstantData& data, std::int64_t elements, std::size_t width) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
    const std::uint64_t bits = data.bits[data.bits.size() == 1 ? 0 : i];
    for (std::size_t k = 0; k < width; ++k) bytes[i * width + k] = static_cast<std::byte>(bits >> (8 * k));
  }
  return bytes;
}

}  // namespace

void PlanState::upload_constants(const RunCall& call) {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const fusion::SequenceBuffer& b = parts_.sequence.buffers[i];
    if (b.kind != BufferKind::constant) continue;
    const BufferSize& size = sizes_.buffers[i];
    if (constants_[i].device() && constants_[i].size() == size.bytes) continue;
    TW_CHECK(b.data && (b.data->bits.size() == 1 || b.data->bits.size() == static_cast<std::size_t>(size.elements)),
             "a constant has one element, or all");
    RawBuffer memory(parts_.device, Code::u8, static_cast<std::int64_t>(size.bytes), call.at);
    const std::vector<std::byte> bytes = packed(*b.data, size.elements, static_cast<std::size_t>(ir::bytes(b.element)));
    memory.write(bytes.data(), bytes.size(), call.at);
    release(constants_[i]);
    constants_[i] = std::move(memory);
  }
}

std::uint64_t PlanState::address_of(int buffer) const {
  const auto i = static_cast<std::size_t>(buffer);
  const auto start = [](const RawBuffer& b) { return reinterpret_cast<std::uint64_t>(b.memory()); };
  switch (parts_.sequence.buffers[i].kind) {
    case BufferKind::constant: return start(constants_[i]);
    case BufferKind::intermediate: return start(workspace_) + sizes_.buffers[i].offset;
    case BufferKind::derived: return start(derived_) + sizes_.buffers[i].offset;
    default: return bindings_[static_cast<std::size_t>(bindings_.slot_of_buffer(buffer))].address;
  }
}

// ---- launches --------------------------------------------------------------------------------------------------------

void PlanState::prepare(std::deque<PlanKernel>& kernels, const std::vector<fusion::SequenceKernel>& sources,
                        const std::vector<KernelSize>& sizes, std::vector<rt::PreparedLaunch>& launches, const RunCall& call) {
  const auto count =
      static_cast<std::size_t>(std::count_if(sizes.begin(), sizes.end(), [](const KernelSize& s) { return s.has_programs(); }));
  launches.resize(count);
  auto next = launches.begin();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!sizes[k].has_programs()) continue;
    rt::PreparedLaunch& l = *next++;
    l.arguments = sizes[k].words;
    for (std::size_t i = 0; i < l.arguments.size(); ++i) {
      const KernelArgument& a = sources[k].arguments[i];
      if (a.kind == KernelArgument::Kind::buffer) l.arguments[i] = address_of(a.buffer);
      if (a.kind == KernelArgument::Kind::scalar) l.arguments[i] = bindings_[static_cast<std::size_t>(bindings_.find(a.scalar))].bits;
    }
    l.executable = &kernels[k].prepare(*parts_.device, l.arguments, compilations_, call.at);
    l.config = {.grid = {}, .num_warps = kernels[k].num_warps(), .check = kernels[k].is_checked(), .where = call.at};
    std::transform(sizes[k].grid.begin(), sizes[k].grid.end(), l.config.grid.begin(),
                   [](std::int64_t n) { return static_cast<std::int32_t>(n); });
  }
}

/// Runs share the workspace, so a run waits for the previous one if that was on another stream. `given` is null for the device's own
/// stream.
void PlanState::follow_previous_run(rt::Stream& stream, const std::shared_ptr<rt::Stream>& given) {
  const Previous now = given ? Previous::other_stream : Previous::default_stream;
  const bool is_same = now == previous_ && (!given || previous_stream_.lock() == given);
  if (previous_ != Previous::none && !is_same)
    stream.wait(previous_ == Previous::default_stream ? *parts_.device->default_stream().record() : *previous_end_);
  previous_ = now;
  previous_stream_ = given;
  if (!given) previous_end_.reset();
}

/// Tells a measurement on this thread which memory the run writes.
void PlanState::announce_writes(rt::Stream& stream, const RunCall& call) const {
  rt::WriteObserver* const observer = rt::WriteObserver::current();
  if (!observer) return;
  for (std::size_t i = 0; i < bindings_.slots().size(); ++i) {
    if (bindings_.slots()[i].kind != Slot::Kind::output) continue;
    const Memory output = memory_of(i);
    observer->before_write(*parts_.device, output.begin, output.end, stream, call.at);
  }
}

void PlanState::launch(const std::vector<rt::PreparedLaunch>& launches, rt::LaunchSequence* sequence, rt::Stream& stream) const {
  if (sequence != nullptr) return sequence->launch(launches, stream);
  for (const rt::PreparedLaunch& l : launches) parts_.device->launch(*l.executable, l.config, l.arguments, stream);
}

}  // namespace tilewright::detail
