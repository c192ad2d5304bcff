// One compilation, one module and one launch a program.
#include "tests/fuzz/emulator_executor.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "backend/compile.h"
#include "backend/nvptx_abi.h"
#include "runtime/emulator/emulator.h"
#include "tests/fuzz/report_texts.h"

namespace tilewright::fuzz {

namespace emulator = rt::emulator;

namespace {

// Of one launch: far more than a generated program takes.
constexpr std::uint64_t kMaxInstructions = 200'000'000;
constexpr std::uint32_t kReportWords = 1 << 20;

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
  const auto program = emulator::Program::load(ptx, f.name);
  emulator::Memory memory;
  if (memory_)
    for (const auto& [begin, bytes] : memory_->buffers()) memory.adopt(begin, bytes);

  emulator::Findings findings;
  emulator::LaunchParams launch;
  for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = static_cast<std::uint32_t>(grid[i]);
  launch.block = {static_cast<std::uint32_t>(32 * num_warps_), 1, 1};
  launch.dynamic_shared_bytes = static_cast<std::uint64_t>(compiled.resources.shared_bytes);
  // Of 8-byte words, which the header asks for.
  std::vector<std::uint64_t> report_buffer;
  std::vector<std::uint64_t> arguments(words.begin(), words.end());
  if (!compiled.reports.empty()) {
    report_buffer.resize((sizeof(backend::NvptxReportHeader) + kReportWords * 4) / 8);
    const backend::NvptxReportHeader empty{kReportWords, 0, 0};
    std::memcpy(report_buffer.data(), &empty, sizeof empty);
    arguments.push_back(reinterpret_cast<std::uint64_t>(report_buffer.data()));
    memory.adopt(arguments.back(), report_buffer.size() * 8);
  }
  const std::vector<std::byte> parameters = parameter_bytes(*program->kernel(compiled.entry), arguments);
  launch.params = parameters;
  launch.target = target_;
  // Correct kernels do not depend on it, so it varies.
  launch.order = emulator::Order::random;
  launch.seed = f.name.size() + words.size();
  launch.workers = 1;
  launch.instruction_limit = kMaxInstructions;
  launch.findings = &findings;
  if (!emulator::launch(*program, compiled.entry, memory, launch)) {
    const auto found = findings.list();
    throw std::runtime_error(found.empty() ? "the emulator gave up" : emulator::to_string(found[0]));
  }
  ReportTexts reports{compiled.reports, {}, {}};
  if (!report_buffer.empty()) {
    backend::NvptxReportHeader header;
    std::memcpy(&header, report_buffer.data(), sizeof header);
    if (header.lost > 0) throw std::runtime_error("the reports did not fit");
    std::vector<std::uint32_t> record_words(kReportWords);
    std::memcpy(record_words.data(), report_buffer.data() + sizeof header / 8, kReportWords * 4);
    backend::read_reports(header, record_words, compiled.reports, ReportTexts::take, &reports);
  }
  reports_ = reports.in_order();
}

}  // namespace tilewright::fuzz
