// One compilation, one module and one launch a program.
#include "tests/fuzz/emulator_executor.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "backend/compile.h"
#include "runtime/emulator/machine/emulator.h"
#include "tests/fuzz/report_buffer.h"

namespace tilewright::fuzz {

namespace emulator = rt::emulator;

namespace {

// The limit of one launch: far more than a generated program takes.
constexpr std::uint64_t kMaxInstructions = 200'000'000;

std::vector<std::byte> parameter_bytes(const emulator::Kernel& kernel, std::span<const std::uint64_t> words) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const emulator::Parameter& p = kernel.parameters[i];
    if (i < words.size()) std::memcpy(&bytes[p.offset], &words[i], p.bytes);
  }
  return bytes;
}

}  // namespace

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
  const std::vector<std::byte> parameters = parameter_bytes(*program->kernel(compiled.entry), arguments);
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
