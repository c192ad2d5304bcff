// Calls and returns. The scheduler runs a call as a SIMT-stack entry of its own, for which the caller waits as for a branch.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/isa/builtin_functions.h"
#include "runtime/emulator/isa/calls.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

std::size_t at(int lane) { return static_cast<std::size_t>(lane); }

u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }

/// The index of the kernel's function that a pointer points to; -1 if it points to none.
int pointed(const Kernel& kernel, u64 pointer) {
  for (std::size_t k = 0; k < kernel.callees.size(); ++k)
    if (function_pointer(kernel.callees[k].number) == pointer) return static_cast<int>(k);
  return -1;
}

/// Whether the function's parameters and results have the sizes that the call passes.
bool fits(const std::vector<Passed>& passed, const std::vector<Parameter>& parameters) {
  if (passed.size() != parameters.size()) return false;
  for (std::size_t k = 0; k < passed.size(); ++k)
    if (passed[k].bytes != parameters[k].bytes) return false;
  return true;
}

std::string sizes_text(const auto& values) {
  std::string text = "(";
  for (const auto& value : values) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", value.bytes);
  return text + ")";
}

std::string mismatch(const CallSite& site, const std::vector<Parameter>& parameters, const std::vector<Parameter>& results) {
  return fmt::format("passes {} bytes and takes back {}; the function takes {} and returns {}", sizes_text(site.arguments),
                     sizes_text(site.results), sizes_text(parameters), sizes_text(results));
}

/// Copies the registers of an activation, or one lane's part of them, to and from a buffer.
template <class F>
void each_saved(Warp& warp, const Callee& callee, int lane, F f) {
  for (const Callee::Slot& slot : callee.registers)
    if (slot.bytes != 0) f(warp.registers + slot.slot + lane * slot.bytes, slot.bytes);
}

void save(Warp& warp, const Callee& callee, int lane, Activation& activation) {
  each_saved(warp, callee, lane,
             [&](std::byte* address, u8 bytes) { activation.saved.insert(activation.saved.end(), address, address + bytes); });
  for (const Callee::Slot& slot : callee.registers)
    if (slot.bytes == 0) activation.saved.push_back(static_cast<std::byte>(has_lane(read_mask(warp, slot.slot), lane)));
}

void restore(Warp& warp, const Callee& callee, int lane, const Activation& activation) {
  if (activation.saved.empty()) return;
  const std::byte* from = activation.saved.data();
  each_saved(warp, callee, lane, [&](std::byte* address, u8 bytes) {
    std::memcpy(address, from, bytes);
    from += bytes;
  });
  for (const Callee::Slot& slot : callee.registers)
    if (slot.bytes == 0) write_mask(warp, slot.slot, *from++ != std::byte{0} ? kAllLanes : 0, kLaneBit[at(lane)]);
  // Undefined values of the inner call no longer exist.
  if (warp.undefined.any())
    for (const Callee::Slot& slot : callee.registers) warp.undefined.write(slot.slot, slot.bytes, kLaneBit[at(lane)], Mask{0}, {});
}

/// Returns false if a diagnostic ends the launch.
bool enter(Warp& warp, const Instruction& call, int to, int lane) {
  const Kernel& kernel = *warp.kernel;
  const CallSite& site = kernel.calls[call.options<CallOptions>().site];
  const Callee& callee = kernel.callees[at(to)];
  auto& stack = warp.activations[at(lane)];
  Activation activation;
  activation.call = call.index;
  activation.callee = static_cast<u32>(to);
  activation.frame = round_up(stack.empty() ? kernel.frame_bytes : stack.back().top, kFrameAlignment);
  activation.top = activation.frame + callee.frame_bytes + kReturnBytes;
  if (activation.top > kernel.local_bytes) {
    report(warp, call, DiagnosticKind::out_of_bounds, lane, [&] {
      return fmt::format("the stack of the thread overflows its {} bytes: calls are nested {} deep", kernel.local_bytes, stack.size() + 1);
    });
    return false;
  }
  std::byte* const frame = local_memory(warp, lane) + activation.frame;
  for (std::size_t k = 0; k < site.arguments.size(); ++k)
    std::memcpy(frame + callee.parameters[k].offset, address_of_passed(warp, call, site.arguments[k], lane), callee.parameters[k].bytes);
  if (callee.may_nest) save(warp, callee, lane, activation);
  for (const Callee::Slot& slot : callee.addresses) {
    const u64 address = activation.frame + slot.offset;
    std::memcpy(warp.registers + slot.slot + lane * slot.bytes, &address, slot.bytes);
  }
  stack.push_back(std::move(activation));
  return true;
}

void leave(Warp& warp, const Instruction& i, Mask mask) {
  const Kernel& kernel = *warp.kernel;
  for (const int lane : lanes_of(mask)) {
    auto& stack = warp.activations[at(lane)];
    const Activation activation = std::move(stack.back());
    stack.pop_back();
    const Callee& callee = kernel.callees[activation.callee];
    const Instruction& call = kernel.code[activation.call];
    const CallSite& site = kernel.calls[call.options<CallOptions>().site];
    std::byte* const frame = local_memory(warp, lane) + activation.frame;
    // Results in registers are copied out before an outer call of the same function restores its own registers.
    u32 in_registers = 0;
    for (const Parameter& result : callee.results)
      if (result.reg >= 0)
        std::memcpy(frame + result.offset, warp.registers + kernel.extra[i.first + in_registers++] + at(lane) * result.bytes, result.bytes);
    restore(warp, callee, lane, activation);
    for (std::size_t k = 0; k < site.results.size(); ++k)
      std::memcpy(address_of_passed(warp, call, site.results[k], lane), frame + callee.results[k].offset, callee.results[k].bytes);
  }
}

/// Decodes a register, a constant or a .param variable of the caller.
Passed decode_passed(Decoder& d, const Operand& operand, const Parameter* parameter, bool is_result) {
  Passed passed;
  if (operand.kind == OperandKind::symbol) {
    for (const Variable& variable : d.function().variables)
      if (variable.name == operand.name && variable.space == Space::param) {
        passed.offset = d.symbols().addresses.at(variable.name).address;
        passed.bytes = variable.bytes;
        return passed;
      }
    d.fail(fmt::format("'{}' is not a variable of the space '.param'", operand.name));
  }
  int bytes = parameter != nullptr ? static_cast<int>(parameter->bytes) : 0;
  if (d.is_register(operand)) bytes = d.bytes_of_register(operand);
  if (bytes == 0) d.fail("a predicate or a constant of unknown size cannot be passed");
  passed.extra = static_cast<s32>(d.kernel().extra.size());
  passed.bytes = static_cast<u64>(bytes);
  is_result ? d.extra_destination(operand, bytes) : d.extra_source(operand, bytes, parameter != nullptr ? parameter->type : Type::b32);
  return passed;
}

std::vector<Passed> decode_list(Decoder& d, std::size_t k, const std::vector<Parameter>* parameters, bool are_results) {
  std::vector<Passed> list;
  if (k >= d.operands() || d.operand(k).kind != OperandKind::list) return list;
  for (const Operand& part : d.operand(k).parts) {
    const Parameter* parameter = parameters != nullptr && list.size() < parameters->size() ? &(*parameters)[list.size()] : nullptr;
    list.push_back(decode_passed(d, part, parameter, are_results));
  }
  return list;
}

}  // namespace

std::byte* address_of_passed(Warp& warp, const Instruction& call, const Passed& passed, int lane) {
  if (passed.extra >= 0) {
    const s32 slot = warp.kernel->extra[passed.extra];
    return warp.registers + slot + static_cast<u64>(lane) * passed.bytes;
  }
  const u64 frame = call.slot[0] < 0 ? 0 : read<u64>(warp, call.slot[0])[lane];
  return local_memory(warp, lane) + frame + passed.offset;
}

std::vector<std::pair<u32, Mask>> enter_functions(Warp& warp, const Instruction& i, Mask mask) {
  const Kernel& kernel = *warp.kernel;
  const CallSite& site = kernel.calls[i.options<CallOptions>().site];
  std::vector<std::pair<u32, Mask>> paths;
  for (const int lane : lanes_of(mask)) {
    int to = site.callee;
    if (to < 0) {
      const u64 pointer = read<u64>(warp, i.slot[1])[lane];
      to = pointed(kernel, pointer);
      const Callee* callee = to < 0 ? nullptr : &kernel.callees[at(to)];
      if (callee == nullptr || !fits(site.arguments, callee->parameters) || !fits(site.results, callee->results)) {
        report(warp, i, DiagnosticKind::bad_operand, lane, [&] {
          if (callee == nullptr) return fmt::format("0x{:x} is the address of no function", pointer);
          return "the call " + mismatch(site, callee->parameters, callee->results);
        });
        to = -1;
      }
    }
    if (to < 0 || !enter(warp, i, to, lane)) {
      warp.worker->stopped = true;
      return {};
    }
    auto path = std::find_if(paths.begin(), paths.end(), [&](const auto& other) { return other.first == static_cast<u32>(to); });
    if (path == paths.end()) path = paths.insert(path, {static_cast<u32>(to), 0});
    path->second |= kLaneBit[at(lane)];
  }
  return paths;
}

// call (results), function, (arguments), prototype: everything except the function is optional.
void decode_call(Decoder& d) {
  d.out.kind = Kind::call;
  d.out.category = Category::control;
  d.take("uni");
  d.expect_operands(1, 4);
  const std::size_t k = d.operand(0).kind == OperandKind::list ? 1 : 0;
  const Operand& function = d.operand(k);
  const Function* called = nullptr;
  CallSite site;
  if (d.is_register(function)) {
    d.source(1, function, 8);
  } else {
    const int number = d.module().function_named(function.name);
    if (number < 0 || function.kind != OperandKind::symbol) d.fail("expected a function");
    called = &d.module().functions[number];
    for (std::size_t c = 0; c < d.kernel().callees.size(); ++c)
      if (d.kernel().callees[c].number == number) site.callee = static_cast<int>(c);
  }
  if (d.in_function()) d.frame(0);
  site.arguments = decode_list(d, k + 1, called != nullptr ? &called->parameters : nullptr, false);
  if (k == 1) site.results = decode_list(d, 0, called != nullptr ? &called->results : nullptr, true);
  if (called != nullptr && !(fits(site.arguments, called->parameters) && fits(site.results, called->results)))
    d.fail("it " + mismatch(site, called->parameters, called->results));
  if (called != nullptr && !called->is_defined) {
    d.out.kind = Kind::plain;
    d.out.execute = builtin_function(called->name);
    if (d.out.execute == nullptr) d.fail(fmt::format("'{}' is not defined", called->name));
  }
  d.options<CallOptions>().site = static_cast<u32>(d.kernel().calls.size());
  d.kernel().calls.push_back(std::move(site));
}

void decode_return(Decoder& d) {
  d.take("uni");
  d.expect_operands(0);
  d.out.kind = Kind::exit;
  if (!d.in_function()) return;
  d.out.kind = Kind::leave;
  d.out.execute = leave;
  for (const Parameter& result : d.function().results) {
    if (result.reg < 0) continue;
    Operand reg;
    reg.kind = OperandKind::reg;
    reg.index = static_cast<u32>(result.reg);
    d.extra_source(reg, static_cast<int>(result.bytes));
  }
}

}  // namespace tilewright::rt::emulator
