// Collects diagnostics and writes them as text.
#include "runtime/emulator/state/diagnostics.h"

#include <fmt/format.h>

namespace tilewright::rt::emulator {

const char* name_of(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::out_of_bounds: return "access out of bounds";
    case DiagnosticKind::misaligned: return "misaligned access";
    case DiagnosticKind::wrong_space: return "access to the wrong space";
    case DiagnosticKind::uninitialized: return "read of memory that nothing has written";
    case DiagnosticKind::race: return "race";
    case DiagnosticKind::divergent: return "divergent execution of an aligned operation";
    case DiagnosticKind::absent_lanes: return "collective operation with absent lanes";
    case DiagnosticKind::deadlock: return "deadlock";
    case DiagnosticKind::unfinished: return "unfinished launch";
    case DiagnosticKind::trap: return "trap";
    case DiagnosticKind::bad_operand: return "undefined operand";
    case DiagnosticKind::missing_wait: return "missing wait";
    case DiagnosticKind::bad_mbarrier: return "wrong use of an mbarrier";
    case DiagnosticKind::exited_block: return "access to a block that has exited";
    case DiagnosticKind::non_coherent: return "non-coherent read of written memory";
    case DiagnosticKind::undefined_value: return "use of an undefined value";
  }
  return "";
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  if (diagnostic.source.line > 0) text = fmt::format("{}:{}: ", diagnostic.source.file, diagnostic.source.line);
  const auto& [x, y, z] = diagnostic.block;
  text += fmt::format("{}{} in '{}', block ({},{},{}), warp {}, lane {} (line {} of the PTX): {}", diagnostic.is_remark ? "remark: " : "",
                      name_of(diagnostic.kind), diagnostic.kernel, x, y, z, diagnostic.warp, diagnostic.lane, diagnostic.ptx_line,
                      diagnostic.text);
  if (diagnostic.count > 1) text += fmt::format(" ({} times)", diagnostic.count);
  if (diagnostic.inlined.line > 0)
    text += fmt::format("\n{}:{}: note: the instruction is of a function that is inlined there", diagnostic.inlined.file,
                        diagnostic.inlined.line);
  return text;
}

bool Diagnostics::is_first(const std::string& kernel, u32 instruction, DiagnosticKind kind) {
  const std::lock_guard lock(mutex_);
  return ++counts_[{{kernel, instruction}, kind}] == 1;
}

void Diagnostics::add(u32 instruction, Diagnostic diagnostic) {
  const std::lock_guard lock(mutex_);
  found_.emplace_back(instruction, std::move(diagnostic));
}

bool Diagnostics::is_first_remark(const std::string& kernel, DiagnosticKind kind) {
  const std::lock_guard lock(mutex_);
  return ++remark_counts_[{kernel, kind}] == 1;
}

void Diagnostics::add_remark(Diagnostic remark) {
  const std::lock_guard lock(mutex_);
  remarks_.push_back(std::move(remark));
}

std::vector<Diagnostic> Diagnostics::remarks() const {
  const std::lock_guard lock(mutex_);
  std::vector<Diagnostic> list = remarks_;
  for (Diagnostic& remark : list) remark.count = remark_counts_.at({remark.kernel, remark.kind});
  return list;
}

std::vector<Diagnostic> Diagnostics::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Diagnostic> list;
  for (const auto& [instruction, diagnostic] : found_) {
    list.push_back(diagnostic);
    list.back().count = counts_.at({{diagnostic.kernel, instruction}, diagnostic.kind});
  }
  return list;
}

bool Diagnostics::empty() const {
  const std::lock_guard lock(mutex_);
  return found_.empty();
}

}  // namespace tilewright::rt::emulator
