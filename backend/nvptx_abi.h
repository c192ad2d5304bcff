// Describes how kernels for NVIDIA GPUs are called, beyond their parameters, and what they write for the host. The code that emits them and
// the runtime that launches them include it; it includes nothing of LLVM.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "backend/compiled_kernel.h"
#include "backend/host_abi.h"

namespace tilewright::backend {

// A kernel's parameters: first those of its function, then those of CompiledKernel::launch, then these two.

/// A kernel whose CompiledKernel::reports is not empty has one more parameter: the address of such a header in device memory, 8-byte
/// aligned and followed by capacity_words words of 4 bytes; null: nothing is reported. Programs append records: the values that
/// device_print prints, and the operands of each device_assert that fails in some lane.
///
/// A record: its site (CompiledKernel::reports), the three program ids, then each operand, row-major, a bool as a byte, starting at a
/// multiple of 8 bytes. Records of one program are in its order. Where the first record would start that did not fit, ~0 replaces its site.
struct NvptxReportHeader {
  std::uint32_t capacity_words;  // set by the launch
  std::uint32_t lost;            // records that did not fit; set to 0 by the launch
  std::uint64_t used_words;      // set to 0 by the launch; counts lost records too
};
static_assert(offsetof(NvptxReportHeader, lost) == 4 && offsetof(NvptxReportHeader, used_words) == 8 && sizeof(NvptxReportHeader) == 16);

/// In checked mode, a kernel whose CompiledKernel::sites is not empty has one more parameter, the last one: the address of this struct in
/// device memory, 16-byte aligned and followed by an NvptxBadAccesses for each site; null: every access is allowed. An access is executed
/// only if it is inside one of the intervals.
struct NvptxBounds {
  std::uint64_t intervals;  // address of an array of NvptxInterval
  std::uint64_t count;
};
struct NvptxInterval {
  std::uint64_t begin, bytes;
};
/// The bad accesses of a launch at one site, counted in elements. The initial values are ~0 and 0.
struct NvptxBadAccesses {
  std::uint64_t lowest_address, count;
};
static_assert(sizeof(NvptxBounds) == 16 && sizeof(NvptxInterval) == 16 && sizeof(NvptxBadAccesses) == 16);

inline constexpr std::int64_t kReportRecordHeaderBytes = 16;
inline constexpr std::uint32_t kReportEnd = ~0u;

/// The byte offset of operand i in a record; if i is the number of operands, the record's size.
inline std::int64_t report_offset(std::span<const ir::Type> operands, std::size_t i) {
  std::int64_t at = kReportRecordHeaderBytes;
  for (std::size_t k = 0; k < i; ++k) at += (operands[k].elements() * operands[k].element_bytes() + 7) / 8 * 8;
  return at;
}

/// Calls `report`, as a host kernel would, for each record in a copy of the words after the header.
inline void read_reports(const NvptxReportHeader& header, std::span<const std::uint32_t> words, std::span<const ReportSite> sites,
                         HostReport report, void* context) {
  const std::uint64_t end = std::min<std::uint64_t>(header.used_words, words.size());
  for (std::uint64_t at = 0; at < end;) {
    const std::uint32_t* record = words.data() + at;
    if (record[0] == kReportEnd) return;
    const ReportSite& site = sites[record[0]];
    std::int32_t program[3];
    std::memcpy(program, record + 1, sizeof program);
    std::vector<const void*> operands;
    for (std::size_t i = 0; i < site.operands.size(); ++i)
      operands.push_back(reinterpret_cast<const std::byte*>(record) + report_offset(site.operands, i));
    report(context, program, operands.data(), static_cast<std::int32_t>(record[0]));
    at += static_cast<std::uint64_t>(report_offset(site.operands, site.operands.size())) / 4;
  }
}

}  // namespace tilewright::backend
