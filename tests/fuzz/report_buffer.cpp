// The buffer is a header and the records after it.
#include "tests/fuzz/report_buffer.h"

#include <cstring>
#include <stdexcept>

#include "backend/nvptx_abi.h"
#include "tests/fuzz/report_texts.h"

namespace tilewright::fuzz {

namespace {
constexpr std::uint32_t kRecordWords = 1 << 20;
}  // namespace

ReportBuffer::ReportBuffer() : words_((sizeof(backend::NvptxReportHeader) + kRecordWords * 4) / 8) {
  const backend::NvptxReportHeader empty{kRecordWords, 0, 0};
  std::memcpy(words_.data(), &empty, sizeof empty);
}

std::vector<std::string> ReportBuffer::texts(const std::vector<backend::ReportSite>& sites) const {
  backend::NvptxReportHeader header;
  std::memcpy(&header, words_.data(), sizeof header);
  if (header.lost > 0) throw std::runtime_error("the reports did not fit");
  std::vector<std::uint32_t> records(kRecordWords);
  std::memcpy(records.data(), words_.data() + sizeof header / 8, kRecordWords * 4);
  ReportTexts reports{sites, {}, {}};
  backend::read_reports(header, records, sites, ReportTexts::take, &reports);
  return reports.in_order();
}

}  // namespace tilewright::fuzz
