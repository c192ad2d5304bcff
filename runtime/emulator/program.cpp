// Makes kernels ready to run: places variables, decodes, finds joins and slots.
#include "runtime/emulator/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/emulator/control_flow.h"
#include "runtime/emulator/ptx_parser.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }

/// All names that the function's instructions mention.
void collect_names(const Operand& operand, std::vector<std::string_view>& names) {
  if (operand.kind == OperandKind::symbol) names.push_back(operand.name);
  for (const Operand& part : operand.parts) collect_names(part, names);
}

class KernelBuilder {
 public:
  KernelBuilder(const Program& program, const Function& function) : program_(program), function_(function) {}

  std::unique_ptr<Kernel> build() {
    kernel_->name = function_.name;
    kernel_->parameters = function_.parameters;
    kernel_->required_threads = function_.required_threads;
    kernel_->maximum_threads = function_.maximum_threads;
    kernel_->required_cluster = function_.required_cluster;
    kernel_->registers_declared = static_cast<u32>(function_.registers.size());
    place_names();
    Decoder decoder(program_.module(), function_, symbols_, *kernel_);
    for (const ParsedInstruction& instruction : function_.instructions) decoder.decode(instruction);
    if (kernel_->code.empty())
      throw Error({program_.module().name, function_.line, 0}, fmt::format("the kernel '{}' has no instructions", kernel_->name));
    find_granules();
    const FlowGraph graph = flow_graph(*kernel_);
    set_joins(graph, *kernel_);
    assign_slots(graph, decoder.values(), decoder.mentions(), *kernel_);
    return std::move(kernel_);
  }

 private:
  void place_names() {
    for (const Parameter& parameter : function_.parameters) {
      symbols_.places[parameter.name] = {Space::param, parameter.offset};
      kernel_->parameter_bytes = parameter.offset + parameter.bytes;
    }
    for (const auto& [name, placed] : program_.variables()) symbols_.places[name] = {Space::global, placed.address};
    std::vector<std::string_view> names;
    for (const ParsedInstruction& instruction : function_.instructions)
      for (const Operand& operand : instruction.operands) collect_names(operand, names);
    const auto is_used = [&](const Variable& variable) { return std::find(names.begin(), names.end(), variable.name) != names.end(); };
    std::vector<const Variable*> dynamic;
    const auto place = [&](const Variable& variable) {
      if (!is_used(variable)) return;
      if (variable.space == Space::local) {
        kernel_->local_bytes = round_up(kernel_->local_bytes, variable.align);
        symbols_.places[variable.name] = {Space::local, kernel_->local_bytes};
        kernel_->local_bytes += variable.bytes;
      } else if (variable.space == Space::shared && variable.bytes == 0) {
        dynamic.push_back(&variable);
      } else if (variable.space == Space::shared) {
        kernel_->static_shared_bytes = round_up(kernel_->static_shared_bytes, variable.align);
        symbols_.places[variable.name] = {Space::shared, kernel_->static_shared_bytes};
        kernel_->static_shared_bytes += variable.bytes;
      }
    };
    for (const Variable& variable : program_.module().variables) place(variable);
    for (const Variable& variable : function_.variables) place(variable);
    // Lanes' local memories follow each other: each starts as aligned as the first.
    kernel_->local_bytes = round_up(kernel_->local_bytes, 16);
    for (const Variable* variable : dynamic) kernel_->static_shared_bytes = round_up(kernel_->static_shared_bytes, variable->align);
    for (const Variable* variable : dynamic) symbols_.places[variable->name] = {Space::shared, kernel_->static_shared_bytes};
  }

  /// Race checks tell apart what is as wide as the narrowest access; a generic one may be to either memory.
  void find_granules() {
    for (const Instruction& i : kernel_->code) {
      const bool accesses =
          (i.category >= Category::load_global && i.category <= Category::store_generic) || i.category == Category::atomic;
      if (!accesses) continue;
      const int width = std::min<int>(i.width * i.count, 4);
      if (i.space == Space::shared || i.space == Space::generic) kernel_->shared_granule = std::min(kernel_->shared_granule, width);
      if (i.space == Space::global || i.space == Space::generic) kernel_->global_granule = std::min(kernel_->global_granule, width);
    }
  }

  const Program& program_;
  const Function& function_;
  Symbols symbols_;
  std::unique_ptr<Kernel> kernel_ = std::make_unique<Kernel>();
};

}  // namespace

void Program::Deleter::operator()(std::byte* bytes) const { std::free(bytes); }

void Program::place_variables() {
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
  for (const Variable& variable : module_.variables) place(variable);
  for (const Function& function : module_.functions)
    for (const Variable& variable : function.variables) place(variable);
  for (const Variable& variable : module_.variables)
    for (const Relocation& relocation : variable.relocations) {
      const Placed target = this->variable(relocation.symbol);
      if (target.address == 0)
        throw Error({module_.name, variable.line, 0}, fmt::format("'{}' is no variable whose address is known", relocation.symbol));
      const u64 address = target.address + relocation.addend;
      std::memcpy(reinterpret_cast<std::byte*>(this->variable(variable.name).address) + relocation.offset, &address,
                  static_cast<std::size_t>(relocation.bytes));
    }
}

static std::shared_ptr<const std::vector<Place>> places_of(const Module& module, const Kernel& kernel) {
  auto places = std::make_shared<std::vector<Place>>();
  for (const Instruction& i : kernel.code) {
    const SourceLine& source = kernel.sources[i.index];
    const auto file = module.files.find(source.file);
    Place place{i.category, kernel.lines[i.index], {}};
    if (file != module.files.end() && source.line > 0)
      place.source = {file->second, static_cast<int>(source.line), static_cast<int>(source.column)};
    places->push_back(std::move(place));
  }
  return places;
}

std::shared_ptr<Program> Program::load(std::string_view text, const std::string& name) {
  auto program = std::make_shared<Program>();
  program->module_ = parse_module(text, name);
  program->place_variables();
  for (const Function& function : program->module_.functions)
    if (function.is_entry && function.is_defined) {
      program->kernels_.push_back(KernelBuilder(*program, function).build());
      program->kernels_.back()->places = places_of(program->module_, *program->kernels_.back());
    }
  return program;
}

const Kernel* Program::kernel(std::string_view name) const {
  for (const auto& kernel : kernels_)
    if (kernel->name == name) return kernel.get();
  return nullptr;
}

Program::Placed Program::variable(std::string_view name) const {
  const auto found = placed_.find(name);
  return found == placed_.end() ? Placed{} : found->second;
}

}  // namespace tilewright::rt::emulator
