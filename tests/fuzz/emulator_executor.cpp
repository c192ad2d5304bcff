// One compilation, one module and one launch a program.
#include "tests/fuzz/emulator_executor.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "backend/compile.h"
#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/machine/emulator.h"
#include "tests/fuzz/report_buffer.h"

namespace tilewright::fuzz {

namespace emulator = rt::emulator;

namespace {

// The limit of one launch: far more than a generated program takes.
constexpr std::uint64_t kMaxInstructions = 200'000'000;

emulator::TensorElement copied_as(ir::Element e) {
  switch (e) {
    case ir::Element::f16: return emulator::TensorElement::f16;
    case ir::Element::bf16: return emulator::TensorElement::bf16;
    case ir::Element::f32: return emulator::TensorElement::f32;
    case ir::Element::f64: return emulator::TensorElement::f64;
    default: break;
  }
  switch (ir::bytes(e)) {
    case 1: return emulator::TensorElement::u8;
    case 2: return emulator::TensorElement::u16;
    case 4: return emulator::TensorElement::u32;
    default: return emulator::TensorElement::u64;
  }
}

emulator::TensorMap tensor_map(const backend::TensorMapParameter& m, std::span<const std::int64_t> numbers) {
  const auto number = [&](int step) { return static_cast<std::uint64_t>(numbers[static_cast<std::size_t>(step)]); };
  emulator::TensorMap map;
  map.address = number(m.address);
  map.rank_less_one = static_cast<std::uint8_t>(m.extents.size() - 1);
  map.element = copied_as(m.element);
  map.swizzle = m.swizzle_bytes == 128  ? emulator::TensorSwizzle::bytes128
                : m.swizzle_bytes == 64 ? emulator::TensorSwizzle::bytes64
                                        : emulator::TensorSwizzle::bytes32;
  for (std::size_t d = 0; d < m.extents.size(); ++d) {
    if (number(m.extents[d]) - 1 > UINT32_MAX) throw std::runtime_error("a tensor map of no elements, or of too many");
    map.last[d] = static_cast<std::uint32_t>(number(m.extents[d]) - 1);
    map.box[d] = static_cast<std::uint16_t>(m.box[d]);
    map.element_strides[d] = 1;
    if (d > 0) map.strides[d - 1] = number(m.strides[d - 1]) * static_cast<std::uint64_t>(ir::bytes(m.element));
  }
  if (const std::string fault = emulator::fault_of(map); !fault.empty()) throw std::runtime_error("a tensor map: " + fault);
  return map;
}

}  // namespace

std::vector<std::byte> parameter_bytes(const emulator::Kernel& kernel, const backend::CompiledKernel& compiled,
                                       std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  std::vector<std::int64_t> numbers(compiled.launch.recipe.steps.size());
  try {
    backend::evaluate(compiled.launch.recipe, compiled.params, words.first(compiled.params.size()), grid, numbers);
    backend::check_positive(compiled.launch, numbers);
  } catch (const backend::RecipeError& e) {
    throw std::runtime_error(e.text);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const emulator::Parameter& p = kernel.parameters[i];
    const std::size_t made = i - compiled.params.size();
    if (i >= compiled.params.size() && made < compiled.launch.parameters.size()) {
      const auto map = tensor_map(std::get<backend::TensorMapParameter>(compiled.launch.parameters[made]), numbers);
      std::memcpy(&bytes[p.offset], &map, sizeof map);
    } else if (next < words.size()) {
      std::memcpy(&bytes[p.offset], &words[next++], p.bytes);
    }
  }
  return bytes;
}

void EmulatorExecutor::run(const ir::Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  backend::CompileOptions options;
  options.target = target_;
  options.num_warps = num_warps_;
  const backend::CompiledKernel compiled = backend::compile(f, options);
  const std::string_view ptx(reinterpret_cast<const char*>(compiled.image.data()), compiled.image.size());
  const auto program = emulator::LoadedModule::load(ptx, f.name);
  emulator::Memory memory;
  if (memory_)
    for (const auto& [begin, bytes] : memory_->buffers()) memory.adopt(begin, bytes);

  emulator::Diagnostics diagnostics;
  emulator::LaunchParams launch;
  for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = static_cast<std::uint32_t>(grid[i]);
  launch.block = {static_cast<std::uint32_t>(32 * compiled.resources.num_warps), 1, 1};
  launch.dynamic_shared_bytes = static_cast<std::uint64_t>(compiled.resources.shared_bytes);
  std::optional<ReportBuffer> reports;
  std::vector<std::uint64_t> arguments(words.begin(), words.end());
  if (!compiled.reports.empty()) {
    arguments.push_back(reinterpret_cast<std::uint64_t>(reports.emplace().data()));
    memory.adopt(arguments.back(), reports->bytes());
  }
  const std::vector<std::byte> parameters = parameter_bytes(*program->kernel(compiled.entry), compiled, arguments, grid);
  launch.params = parameters;
  launch.target = target_;
  // Correct kernels do not depend on it, so it varies.
  launch.order = emulator::Order::random;
  launch.seed = f.name.size() + words.size();
  launch.workers = 1;
  launch.instruction_limit = kMaxInstructions;
  launch.diagnostics = &diagnostics;
  if (!emulator::launch(*program, compiled.entry, memory, launch)) {
    const auto found = diagnostics.list();
    throw std::runtime_error(found.empty() ? "the emulator gave up" : emulator::to_string(found[0]));
  }
  reports_ = reports ? reports->texts(compiled.reports) : std::vector<std::string>();
}

}  // namespace tilewright::fuzz
