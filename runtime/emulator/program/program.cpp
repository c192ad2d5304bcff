// Prepares kernels and the functions that they call: places variables, decodes, and finds reconvergence points and slots.
#include "runtime/emulator/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/emulator/program/call_graph.h"
#include "runtime/emulator/program/control_flow.h"
#include "runtime/emulator/program/instruction_table.h"
#include "runtime/emulator/program/matrix_registers.h"
#include "runtime/emulator/program/value_flow.h"
#include "runtime/emulator/ptx/parser.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }

/// The registers that a thread has at the start: the limit in the text, or the share that remains with the requested blocks per
/// multiprocessor.
u32 entry_registers(const Function& function) {
  constexpr u32 kOfProcessor = 65536, kUnit = 8, kMost = 256;
  if (function.maximum_registers != 0) return static_cast<u32>(round_up(function.maximum_registers, kUnit));
  const auto& extents = function.required_threads[0] != 0 ? function.required_threads : function.maximum_threads;
  const u32 threads = static_cast<u32>(round_up(extents[0] * extents[1] * extents[2], kLanes));
  if (threads == 0 || function.blocks_a_processor == 0) return 0;
  return std::min(kOfProcessor / threads / function.blocks_a_processor / kUnit * kUnit, kMost);
}

/// The bytes of the narrowest access that the instruction may make to shared or global memory. Such an access covers all of a granule or,
/// if a copy is shorter than the memory it fills, its beginning. kWidestGranule if the instruction makes no access.
int narrowest_access(const Instruction& i, std::string_view opcode, Space memory) {
  const auto is = [&](std::string_view prefix) { return opcode.starts_with(prefix); };
  const int whole = std::min<int>(i.width * i.count, kWidestGranule);
  const bool is_copy = i.category == Category::async_copy || i.category == Category::bulk_copy;  // from one memory to the other
  if (!is_copy && i.space == (memory == Space::shared ? Space::global : Space::shared)) return kWidestGranule;
  // Words; boxes of tensors may begin at any element in global memory, but are aligned in shared memory.
  constexpr int kOthers = 4, kObject = 8;
  switch (i.category) {
    case Category::load_global:
    case Category::store_global:
    case Category::load_shared:
    case Category::store_shared:
    case Category::load_generic:
    case Category::store_generic:
    case Category::atomic: return whole;
    // ldmatrix and stmatrix access rows of 16 bytes; accesses of wgmma have the same alignment.
    case Category::matrix: return is("wmma.load") || is("wmma.store") ? whole : kWidestGranule;
    case Category::async_copy:
      if (is("cp.async.c") && !is("cp.async.commit")) return whole;
      return is("cp.async.commit") || is("cp.async.wait") || is("cp.async.bulk.") ? kWidestGranule : kOthers;
    case Category::bulk_copy: return memory == Space::global ? std::min<int>(i.width, kOthers) : kWidestGranule;
    case Category::barrier: return is("mbarrier") ? kObject : kWidestGranule;
    case Category::control: return is("call") ? kOthers : kWidestGranule;  // printf reads its arguments
    default: return kWidestGranule;
  }
}

class KernelBuilder {
 public:
  KernelBuilder(const LoadedModule& loaded, const Function& function)
      : loaded_(loaded), module_(loaded.module()), function_(function), graph_(module_, function) {}

  std::unique_ptr<Kernel> build() {
    kernel_->name = function_.name;
    kernel_->parameters = function_.parameters;
    kernel_->required_threads = function_.required_threads;
    kernel_->maximum_threads = function_.maximum_threads;
    kernel_->required_cluster = function_.required_cluster;
    kernel_->entry_registers = entry_registers(function_);
    kernel_->registers_declared = static_cast<u32>(function_.registers.size());
    place_names();
    list_callees();
    decode_kernel();
    for (Callee& callee : kernel_->callees) decode_function(callee);
    std::map<int, u64> frames;
    for (const Callee& callee : kernel_->callees) frames[callee.number] = callee.frame_bytes;
    // The lanes' local memories are adjacent, so each has the alignment of the first one.
    kernel_->local_bytes = round_up(kernel_->frame_bytes + graph_.stack_bytes(frames), kFrameAlignment);
    find_granules();
    return std::move(kernel_);
  }

 private:
  const Function& function_of(const Callee& callee) const { return module_.functions[callee.number]; }

  void place_names() {
    for (const auto& [name, placed] : loaded_.variables()) symbols_.addresses[name] = {Space::global, placed.address};
    std::vector<const Variable*> dynamic;
    const auto place = [&](const Variable& variable) {
      if (variable.space != Space::shared || !graph_.mentions(variable.name)) return;
      if (variable.bytes == 0) return dynamic.push_back(&variable);
      kernel_->static_shared_bytes = round_up(kernel_->static_shared_bytes, variable.align);
      symbols_.addresses[variable.name] = {Space::shared, kernel_->static_shared_bytes};
      kernel_->static_shared_bytes += variable.bytes;
    };
    for (const Variable& variable : module_.variables) place(variable);
    for (const Variable& variable : function_.variables) place(variable);
    for (int number : graph_.functions())
      for (const Variable& variable : module_.functions[number].variables) place(variable);
    for (const Variable* variable : dynamic) kernel_->static_shared_bytes = round_up(kernel_->static_shared_bytes, variable->align);
    for (const Variable* variable : dynamic) symbols_.addresses[variable->name] = {Space::shared, kernel_->static_shared_bytes};
  }

  void list_callees() {
    for (int number : graph_.functions()) {
      Callee callee;
      callee.number = number;
      callee.parameters = function_of(callee).parameters;
      callee.results = function_of(callee).results;
      callee.may_nest = graph_.may_nest(number);
      kernel_->callees.push_back(std::move(callee));
    }
  }

  /// Places local variables, and parameters and results of calls, from this offset of the frame on. Returns their end.
  static u64 place_variables(const Function& function, u64 offset, Symbols& symbols) {
    for (const Variable& variable : function.variables) {
      if (variable.space != Space::local && variable.space != Space::param) continue;
      offset = round_up(offset, variable.align);
      symbols.addresses[variable.name] = {Space::local, offset};
      offset += variable.bytes;
    }
    return offset;
  }

  void decode_kernel() {
    Symbols symbols = symbols_;
    for (const Parameter& parameter : function_.parameters) {
      symbols.addresses[parameter.name] = {Space::param, parameter.offset};
      kernel_->parameter_bytes = parameter.offset + parameter.bytes;
    }
    kernel_->frame_bytes = place_variables(function_, 0, symbols);
    Decoder decoder(module_, function_, symbols, *kernel_);
    for (const ParsedInstruction& instruction : function_.instructions) decode(decoder, instruction);
    kernel_->end = static_cast<u32>(kernel_->code.size());
    if (kernel_->end == 0)
      throw Error({module_.name, function_.line, 0}, fmt::format("the kernel '{}' has no instructions", kernel_->name));
    finish(decoder, 0, nullptr);
  }

  void decode_function(Callee& callee) {
    const Function& function = function_of(callee);
    Symbols symbols = symbols_;
    symbols.in_function = true;
    u64 offset = 0;
    for (auto* parameters : {&callee.parameters, &callee.results})
      for (Parameter& parameter : *parameters) {
        offset = round_up(offset, parameter.align);
        parameter.offset = offset;
        symbols.addresses[parameter.name] = {Space::local, offset};
        offset += parameter.bytes;
      }
    callee.frame_bytes = place_variables(function, offset, symbols);
    callee.begin = static_cast<u32>(kernel_->code.size());
    Decoder decoder(module_, function, symbols, *kernel_);
    take_parameters(decoder, function);
    for (const ParsedInstruction& instruction : function.instructions) decode(decoder, instruction);
    // However the text ends, no lane may continue into the next function.
    ParsedInstruction last;
    last.opcode = "ret";
    last.line = function.instructions.empty() ? function.line : function.instructions.back().line;
    decode(decoder, last);
    callee.end = static_cast<u32>(kernel_->code.size());
    for (u32 i = callee.begin; i < callee.end; ++i)
      if (kernel_->code[i].kind == Kind::leave) kernel_->code[i].target = callee.end;
    finish(decoder, callee.begin, &callee);
  }

  void finish(const Decoder& decoder, u32 begin, Callee* callee) {
    const FlowGraph graph = flow_graph(*kernel_, begin, static_cast<u32>(kernel_->code.size()));
    set_reconvergence_points(graph, *kernel_);
    assign_slots(graph, decoder.function().registers, decoder.values(), decoder.uses(), *kernel_, callee);
    find_value_flow(decoder.values(), decoder.uses(), begin, *kernel_);
    track_matrix_registers(decoder.values(), decoder.uses(), begin, *kernel_);
    find_plain_runs(begin);
  }

  void find_plain_runs(u32 begin) {
    u32 end = static_cast<u32>(kernel_->code.size());
    for (u32 i = end; i-- > begin;) {
      if (kernel_->code[i].kind != Kind::plain) end = i;
      kernel_->code[i].plain_end = end;
    }
  }

  /// Parameters in registers are passed in the frame like the others, and loaded from there to their registers.
  static void take_parameters(Decoder& decoder, const Function& function) {
    for (const Parameter& parameter : function.parameters) {
      if (parameter.reg < 0) continue;
      ParsedInstruction load;
      load.opcode = parameter.bytes == 2 ? "ld.param.b16" : parameter.bytes == 4 ? "ld.param.b32" : "ld.param.b64";
      load.line = function.line;
      load.operands.resize(2);
      load.operands[0].kind = OperandKind::reg;
      load.operands[0].index = static_cast<u32>(parameter.reg);
      load.operands[1].kind = OperandKind::address;
      load.operands[1].parts.resize(1);
      load.operands[1].parts[0].kind = OperandKind::symbol;
      load.operands[1].parts[0].name = parameter.name;
      decode(decoder, load);
    }
  }

  /// The size of a shadow cell is that of the narrowest access.
  void find_granules() {
    for (const Instruction& i : kernel_->code) {
      const std::string_view opcode = kernel_->opcodes[i.index];
      kernel_->shared_granule = std::min(kernel_->shared_granule, narrowest_access(i, opcode, Space::shared));
      kernel_->global_granule = std::min(kernel_->global_granule, narrowest_access(i, opcode, Space::global));
      kernel_->has_engines |= i.category == Category::bulk_copy || opcode.starts_with("wgmma");
    }
  }

  const LoadedModule& loaded_;
  const Module& module_;
  const Function& function_;
  CallGraph graph_;
  Symbols symbols_;  // symbols that all functions know
  std::unique_ptr<Kernel> kernel_ = std::make_unique<Kernel>();
};

}  // namespace

void LoadedModule::Deleter::operator()(std::byte* bytes) const { std::free(bytes); }

void LoadedModule::place_variables() {
  const auto place = [&](const Variable& variable) {
    if (variable.space != Space::global && variable.space != Space::constant) return;
    if (variable.is_extern)
      throw Error({module_.name, variable.line, 0}, fmt::format("the variable '{}' is declared but not defined", variable.name));
    const u64 align = std::max<u64>(variable.align, 256), bytes = round_up(std::max<u64>(variable.bytes, 1), align);
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(align, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    storage_.emplace_back(memory);
    std::memset(memory, 0, bytes);
    if (!variable.data.empty()) std::memcpy(memory, variable.data.data(), variable.data.size());
    placed_[std::string(variable.name)] = {reinterpret_cast<u64>(memory), variable.bytes};
  };
  const auto relocate = [&](const Variable& variable) {
    for (const Relocation& relocation : variable.relocations) {
      const Placed target = this->variable(relocation.symbol);
      const int function = module_.function_named(relocation.symbol);
      if (target.address == 0 && function < 0)
        throw Error({module_.name, variable.line, 0},
                    fmt::format("'{}' is not a variable or function whose address is known", relocation.symbol));
      const u64 address = (target.address != 0 ? target.address : function_pointer(function)) + relocation.addend;
      std::memcpy(reinterpret_cast<std::byte*>(this->variable(variable.name).address) + relocation.offset, &address,
                  static_cast<std::size_t>(relocation.bytes));
    }
  };
  const auto each_variable = [&](const auto& f) {
    for (const Variable& variable : module_.variables) f(variable);
    for (const Function& function : module_.functions)
      for (const Variable& variable : function.variables) f(variable);
  };
  each_variable(place);
  each_variable(relocate);
}

/// m n k of "mma.sync.aligned.m16n8k16.row.col...", or one warp's share if four warps execute it; 0 if the opcode multiplies no matrices.
static u64 products_of(std::string_view opcode) {
  if (!opcode.starts_with("mma") && !opcode.starts_with("wgmma") && !opcode.starts_with("wmma.mma")) return 0;
  for (std::size_t at = opcode.find(".m"); at != opcode.npos; at = opcode.find(".m", at + 1)) {
    u64 product = 1;
    const char *digit = opcode.data() + at + 1, *end = opcode.data() + opcode.size();
    for (const char letter : {'m', 'n', 'k'}) {
      u64 extent = 0;
      if (digit != end && *digit == letter)
        for (++digit; digit != end && *digit >= '0' && *digit <= '9'; ++digit) extent = 10 * extent + static_cast<u64>(*digit - '0');
      product *= extent;
    }
    if (product != 0) return opcode.starts_with("wgmma") ? product / 4 : product;
  }
  return 0;
}

static std::shared_ptr<const std::vector<InstructionInfo>> infos_of(const Module& module, const Kernel& kernel) {
  auto infos = std::make_shared<std::vector<InstructionInfo>>();
  for (const Instruction& i : kernel.code) {
    const SourceLine& source = kernel.sources[i.index];
    const auto file = module.files.find(source.file);
    InstructionInfo info{i.category, kernel.lines[i.index], {}, products_of(kernel.opcodes[i.index])};
    if (file != module.files.end() && source.line > 0)
      info.source = {file->second, static_cast<int>(source.line), static_cast<int>(source.column)};
    infos->push_back(std::move(info));
  }
  return infos;
}

std::shared_ptr<LoadedModule> LoadedModule::load(std::string_view text, const std::string& name) {
  auto loaded = std::make_shared<LoadedModule>();
  loaded->module_ = parse_module(text, name);
  loaded->place_variables();
  for (const Function& function : loaded->module_.functions)
    if (function.is_entry && function.is_defined) {
      loaded->kernels_.push_back(KernelBuilder(*loaded, function).build());
      loaded->kernels_.back()->infos = infos_of(loaded->module_, *loaded->kernels_.back());
    }
  return loaded;
}

const Kernel* LoadedModule::kernel(std::string_view name) const {
  for (const auto& kernel : kernels_)
    if (kernel->name == name) return kernel.get();
  return nullptr;
}

LoadedModule::Placed LoadedModule::variable(std::string_view name) const {
  const auto found = placed_.find(name);
  return found == placed_.end() ? Placed{} : found->second;
}

}  // namespace tilewright::rt::emulator
