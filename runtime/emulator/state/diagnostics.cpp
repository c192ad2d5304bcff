// Collects findings and says them in words.
#include "runtime/emulator/state/diagnostics.h"

#include <fmt/format.h>

namespace tilewright::rt::emulator {

const char* name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds: return "access out of bounds";
    case FindingKind::misaligned: return "misaligned access";
    case FindingKind::wrong_space: return "access to the wrong space";
    case FindingKind::uninitialized: return "read of memory nobody wrote";
    case FindingKind::race: return "race";
    case FindingKind::divergent: return "divergent execution of an aligned operation";
    case FindingKind::absent_lanes: return "collective operation with absent lanes";
    case FindingKind::deadlock: return "deadlock";
    case FindingKind::unfinished: return "unfinished launch";
    case FindingKind::trap: return "trap";
    case FindingKind::bad_operand: return "undefined operand";
    case FindingKind::missing_wait: return "missing wait";
    case FindingKind::bad_mbarrier: return "wrong use of an mbarrier";
    case FindingKind::exited_block: return "access to a block that has exited";
    case FindingKind::non_coherent: return "non-coherent read of written memory";
    case FindingKind::undefined_value: return "use of an undefined value";
  }
  return "";
}

std::string to_string(const Finding& finding) {
  std::string text;
  if (finding.source.line > 0) text = fmt::format("{}:{}: ", finding.source.file, finding.source.line);
  const auto& [x, y, z] = finding.block;
  text += fmt::format("{}{} in '{}', block ({},{},{}), warp {}, lane {} (line {} of the PTX): {}", finding.is_remark ? "remark: " : "",
                      name_of(finding.kind), finding.kernel, x, y, z, finding.warp, finding.lane, finding.ptx_line, finding.text);
  if (finding.count > 1) text += fmt::format(" ({} times)", finding.count);
  if (finding.inlined.line > 0)
    text +=
        fmt::format("\n{}:{}: note: the instruction is of a function that is inlined there", finding.inlined.file, finding.inlined.line);
  return text;
}

bool Findings::is_first(const std::string& kernel, u32 instruction, FindingKind kind) {
  const std::lock_guard lock(mutex_);
  return ++counts_[{{kernel, instruction}, kind}] == 1;
}

void Findings::add(u32 instruction, Finding finding) {
  const std::lock_guard lock(mutex_);
  found_.emplace_back(instruction, std::move(finding));
}

bool Findings::is_first_remark(const std::string& kernel, FindingKind kind) {
  const std::lock_guard lock(mutex_);
  return ++remark_counts_[{kernel, kind}] == 1;
}

void Findings::add_remark(Finding remark) {
  const std::lock_guard lock(mutex_);
  remarks_.push_back(std::move(remark));
}

std::vector<Finding> Findings::remarks() const {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> list = remarks_;
  for (Finding& remark : list) remark.count = remark_counts_.at({remark.kernel, remark.kind});
  return list;
}

std::vector<Finding> Findings::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> list;
  for (const auto& [instruction, finding] : found_) {
    list.push_back(finding);
    list.back().count = counts_.at({{finding.kernel, instruction}, finding.kind});
  }
  return list;
}

bool Findings::empty() const {
  const std::lock_guard lock(mutex_);
  return found_.empty();
}

}  // namespace tilewright::rt::emulator
