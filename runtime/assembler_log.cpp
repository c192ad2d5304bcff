// Parses the assembler's log line by line.
#include "runtime/assembler_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tilewright::rt {

namespace {

/// The number before `what` in a line of text; 0 if there is none.
int number_before(std::string_view line, std::string_view what) {
  const auto end = line.find(what);
  if (end == line.npos) return 0;
  auto begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int n = 0;
  std::from_chars(line.data() + begin, line.data() + end, n);
  return n;
}

/// A warning or a numbered remark, without the assembler's own name; otherwise empty:
///   ptxas a.ptx, line 22; warning : .minnctapersm is ignored when neither .maxntid nor .reqntid is specified.
///   ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
std::string_view remark_of(std::string_view line) {
  constexpr std::string_view kInfo = "ptxas info    : (C", kWarning = "warning";
  if (line.starts_with(kInfo)) return line.substr(kInfo.size() - 2);
  const auto at = line.starts_with("ptxas ") ? line.find(kWarning) : line.npos;
  return at == line.npos || line.find(':', at) == line.npos ? std::string_view() : line.substr(at);
}

}  // namespace

std::vector<AssembledKernel> read_assembler_log(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<AssembledKernel> kernels;
  std::vector<std::string> remarks;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (const std::string_view remark = remark_of(line); !remark.empty()) {
      remarks.emplace_back(remark);
    } else if (const auto at = line.find(kEntry); at != line.npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      kernels.push_back({.name = std::string(name.substr(0, name.find('\'')))});
    } else if (!kernels.empty() && line.find("bytes stack frame") != line.npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (!kernels.empty() && line.find(" registers") != line.npos) {
      kernels.back().registers = number_before(line, " registers");
      kernels.back().barriers = number_before(line, " barriers");
      kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  for (const std::string& remark : remarks) {
    const bool names_one = remark.find("function '") != remark.npos;
    for (AssembledKernel& k : kernels)
      if (!names_one || remark.find(fmt::format("function '{}'", k.name)) != remark.npos) k.remarks.push_back(remark);
  }
  return kernels;
}

bool is_performance_fault(std::string_view remark) { return remark.starts_with("(C75") && !remark.starts_with("(C7519)"); }

std::vector<std::string> remarks_of(const AssembledKernel& k, std::string_view assembler) {
  std::vector<std::string> remarks = k.remarks;
  if (k.spill_store_bytes > 0)
    remarks.push_back(fmt::format("{} gives a thread {} registers and spills {} bytes; smaller tiles or more warps need fewer", assembler,
                                  k.registers, k.spill_store_bytes));
  return remarks;
}

}  // namespace tilewright::rt
