// Compiles and launches the products.
#include "tests/execution/product_subject.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/distribute.h"
#include "tests/fuzz/emulator_executor.h"

namespace tilewright::test {

using namespace ir;
namespace emulator = rt::emulator;

Function passed(const fuzz::Program& p, int warps, bool has_roles) {
  const TargetDesc target = backend::describe_target(kHopper);
  std::vector<std::string_view> passes = passes::pipeline(target);
  if (!has_roles) std::erase(passes, "specialize_warps");
  Function f = p.function;
  passes::run_passes(f, passes, {target, true, false, warps});
  return f;
}

ProductSubject::ProductSubject(const ProductKernel& kernel, const std::vector<ProductShape>& shapes, bool has_roles) {
  for (const ProductShape& shape : shapes) {
    programs_.push_back(program(kernel, shape));
    const fuzz::Program& p = programs_.back();
    const backend::CompiledKernel k = backend::compile(passed(p, kernel.warps, has_roles), {.target = kHopper, .num_warps = kernel.warps});
    text_ = std::string(reinterpret_cast<const char*>(k.image.data()), k.image.size());
    const auto loaded = emulator::LoadedModule::load(text_, k.name);
    if (!subject_) subject_ = std::make_unique<Subject>(*loaded, k.entry);
    std::vector<std::uint64_t> words;
    for (const fuzz::Argument& a : p.arguments) {
      words.push_back(a.word);
      if (!a.is_buffer) continue;
      words.back() = memory_.allocate(std::max<std::size_t>(a.bytes.size(), 16));
      memory_.write(words.back(), a.bytes.data(), a.bytes.size());
    }
    const std::vector<std::byte> bytes = fuzz::parameter_bytes(*loaded->kernel(k.entry), k, words, p.grid);
    emulator::LaunchParams launch;
    for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = static_cast<emulator::u32>(p.grid[i]);
    launch.block = {static_cast<emulator::u32>(32 * k.resources.num_warps), 1, 1};
    launch.dynamic_shared_bytes = static_cast<emulator::u64>(k.resources.shared_bytes);
    launch.params = bytes;
    launch.target = kHopper;
    for (const std::string& report : subject_->add({*loaded, k.entry, memory_, launch})) FAIL_CHECK(report);
    std::vector<std::byte>& result = results_.emplace_back(p.arguments[2].bytes.size());
    std::memcpy(result.data(), reinterpret_cast<const void*>(words[2]), result.size());
  }
}

namespace {

/// The mbarriers of a program without clusters are initialised before a barrier of all its threads. The thread that announces bytes has
/// accessed no memory that it could publish.
bool is_equivalent(const Mutant& m) {
  const bool announces = m.weakening == Weakening::order_relaxed && m.before.find("expect_tx") != std::string::npos;
  return announces || m.before.find("fence.mbarrier_init") != std::string::npos;
}

}  // namespace

std::string ProductSubject::survivors(int* mutants) const {
  std::string left;
  for (const Mutant& m : mutants_of(subject_->module(), subject_->kernel())) {
    if (m.weakening == Weakening::bound_shifted || is_equivalent(m)) continue;
    if (mutants) ++*mutants;
    const Verdict v = subject_->judge(m);
    if (v.fate != Fate::found && v.fate != Fate::wrong)
      left += fmt::format("{}, line {}: {} becomes {}\n", name_of(m.weakening), m.line, m.before, m.after);
  }
  return left;
}

void RandomTurns::run(const Function& f, std::span<const std::uint64_t> words, std::array<std::int32_t, 3> grid) {
  fuzz::Program p;
  p.function = f;
  InterpretOptions options;
  options.grid = grid;
  options.role_seed = seed_;
  interpret(passed(p, warps_), words, options);
}

std::string check_product(const ProductKernel& kernel, const ProductShape& s) {
  CAPTURE(kernel.result);
  CAPTURE(kernel.epilogue);
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  const fuzz::Program p = program(kernel, s);
  fuzz::InterpreterExecutor reference;
  fuzz::EmulatorExecutor emulator(kHopper, kernel.warps);
  const auto difference = fuzz::compare(p, reference, emulator);
  CHECK_MESSAGE(!difference.has_value(), difference.value_or(""));
  return check_on_emulator(p, kernel.warps, kHopper).ptx;
}

void check_equal(const fuzz::Program& p, fuzz::Executor& machine) {
  fuzz::InterpreterExecutor reference;
  const auto difference = fuzz::compare(p, reference, machine);
  CHECK_MESSAGE(!difference.has_value(), machine.name(), ": ", difference.value_or(""));
}

}  // namespace tilewright::test
