// Reports a diagnostic at an instruction, with its location in the source.
#include "runtime/emulator/state/report.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

bool is_first_diagnostic(Warp& warp, const Instruction& i, DiagnosticKind kind) {
  LaunchState& launch = *warp.worker->launch;
  launch.has_diagnostics = true;
  if (launch.stop_at_diagnostic) warp.worker->stopped = true;
  return launch.diagnostics->is_first(warp.kernel->name, i.index, kind);
}

namespace {

Diagnostic make_diagnostic(const Warp& warp, const Instruction& i, DiagnosticKind kind, int lane, std::string text) {
  const LaunchState& launch = *warp.worker->launch;
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.kernel = warp.kernel->name;
  diagnostic.ptx_line = warp.kernel->lines[i.index];
  const auto& files = launch.loaded->module().files;
  const auto located = [&](const SourceLine& line) {
    const auto file = files.find(line.file);
    if (file == files.end() || line.line == 0) return Location{};
    return Location{file->second, static_cast<int>(line.line), static_cast<int>(line.column)};
  };
  diagnostic.source = located(warp.kernel->sources[i.index]);
  diagnostic.inlined = located(warp.kernel->inlined[i.index]);
  diagnostic.text = std::move(text);
  diagnostic.block = warp.block->id;
  diagnostic.warp = warp.index;
  diagnostic.lane = lane;
  return diagnostic;
}

}  // namespace

void add_diagnostic(Warp& warp, const Instruction& i, DiagnosticKind kind, int lane, std::string text) {
  warp.worker->launch->diagnostics->add(i.index, make_diagnostic(warp, i, kind, lane, std::move(text)));
}

bool is_first_remark(Warp& warp, DiagnosticKind kind) { return warp.worker->launch->diagnostics->is_first_remark(warp.kernel->name, kind); }

void add_remark(Warp& warp, const Instruction& i, DiagnosticKind kind, int lane, std::string text) {
  Diagnostic diagnostic = make_diagnostic(warp, i, kind, lane, std::move(text));
  diagnostic.is_remark = true;
  warp.worker->launch->diagnostics->add_remark(std::move(diagnostic));
}

std::string location_text(const Warp& warp, u32 instruction) {
  if (instruction >= warp.kernel->code.size()) return "an unknown location";
  const SourceLine& source = warp.kernel->sources[instruction];
  const auto& files = warp.worker->launch->loaded->module().files;
  if (const auto file = files.find(source.file); file != files.end() && source.line > 0)
    return fmt::format("{}:{} (line {} of the PTX)", file->second, source.line, warp.kernel->lines[instruction]);
  return fmt::format("line {} of the PTX", warp.kernel->lines[instruction]);
}

}  // namespace tilewright::rt::emulator
