// The place of an instruction in the source, and reports about it.
#include "runtime/emulator/state/report.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

bool is_first_finding(Warp& warp, const Instruction& i, FindingKind kind) {
  Launch& launch = *warp.worker->launch;
  launch.has_findings = true;
  if (launch.stop_at_finding) warp.worker->stopped = true;
  return launch.findings->is_first(warp.kernel->name, i.index, kind);
}

namespace {

Finding make_finding(const Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  const Launch& launch = *warp.worker->launch;
  Finding finding;
  finding.kind = kind;
  finding.kernel = warp.kernel->name;
  finding.ptx_line = warp.kernel->lines[i.index];
  const auto& files = launch.program->module().files;
  const auto located = [&](const SourceLine& line) {
    const auto file = files.find(line.file);
    if (file == files.end() || line.line == 0) return Location{};
    return Location{file->second, static_cast<int>(line.line), static_cast<int>(line.column)};
  };
  finding.source = located(warp.kernel->sources[i.index]);
  finding.inlined = located(warp.kernel->inlined[i.index]);
  finding.text = std::move(text);
  finding.block = warp.block->id;
  finding.warp = warp.index;
  finding.lane = lane;
  return finding;
}

}  // namespace

void add_finding(Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  warp.worker->launch->findings->add(i.index, make_finding(warp, i, kind, lane, std::move(text)));
}

bool is_first_remark(Warp& warp, FindingKind kind) { return warp.worker->launch->findings->is_first_remark(warp.kernel->name, kind); }

void add_remark(Warp& warp, const Instruction& i, FindingKind kind, int lane, std::string text) {
  Finding finding = make_finding(warp, i, kind, lane, std::move(text));
  finding.is_remark = true;
  warp.worker->launch->findings->add_remark(std::move(finding));
}

std::string place_of(const Warp& warp, u32 instruction) {
  if (instruction >= warp.kernel->code.size()) return "an unknown place";
  const SourceLine& source = warp.kernel->sources[instruction];
  const auto& files = warp.worker->launch->program->module().files;
  if (const auto file = files.find(source.file); file != files.end() && source.line > 0)
    return fmt::format("{}:{} (line {} of the PTX)", file->second, source.line, warp.kernel->lines[instruction]);
  return fmt::format("line {} of the PTX", warp.kernel->lines[instruction]);
}

}  // namespace tilewright::rt::emulator
