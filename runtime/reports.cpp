// Formats a launch's prints and failed assertions.
#include "runtime/reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "runtime/device_print.h"
#include "runtime/violation.h"
#include "tileir/text/print_format.h"

namespace tilewright::rt {

namespace {

using backend::ReportSite;

/// Element k of an operand as bits.
std::uint64_t bits_of(const ir::Type& t, const void* operand, std::int64_t k) {
  std::uint64_t bits = 0;
  const int size = t.element_bytes();
  std::memcpy(&bits, static_cast<const std::byte*>(operand) + k * size, static_cast<std::size_t>(size));
  return bits;
}

std::string line_of(const ReportSite& site, const std::int32_t* program, const void* const* operands) {
  const std::string text = ir::fill_print(
      site.text, site.operands, [&](int i, std::int64_t k) { return bits_of(site.operands[static_cast<std::size_t>(i)], operands[i], k); });
  return fmt::format("{}:{}: program ({}, {}, {}): {}", site.where.file, site.where.line, program[0], program[1], program[2], text);
}

std::vector<std::int64_t> indices(const ir::Type& t, std::int64_t lane) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(t.rank()));
  for (int axis = t.rank(); axis-- > 0; lane /= t.extent(axis)) at[static_cast<std::size_t>(axis)] = lane % t.extent(axis);
  return at;
}

/// The element of the site's third operand (`seen`) for the message; empty if there is no third operand.
std::string seen(const ReportSite& site, const void* const* operands, std::int64_t lane) {
  if (site.operands.size() < 3) return {};
  return ir::element_text(site.operands[2], bits_of(site.operands[2], operands[2], lane));
}

/// "multiple_of: 70 is not a multiple of 16". The site's text says what was expected.
std::string claim(const ReportSite& site, const void* const* operands, std::int64_t lane) {
  switch (site.reason) {
    case ir::Reason::assertion:
      if (const std::string what = seen(site, operands, lane); !what.empty()) return fmt::format("{}: {}", site.text, what);
      return "device_assert: " + site.text;
    case ir::Reason::assume: return "assume: the condition does not hold";
    case ir::Reason::multiple_of: return fmt::format("multiple_of: {} is not a multiple of {}", seen(site, operands, lane), site.text);
    case ir::Reason::max_contiguous:
      return fmt::format("max_contiguous: {} follows {} within a run of {}", seen(site, operands, lane), seen(site, operands, lane - 1),
                         site.text);
    case ir::Reason::gather: return fmt::format("gather: index {} is outside of {}", seen(site, operands, lane), site.text);
  }
  return site.text;
}

}  // namespace

void Reports::report(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site) noexcept {
  auto& self = *static_cast<Reports*>(context);
  try {
    const ReportSite& s = self.sites_[static_cast<std::size_t>(site)];
    if (s.is_print)
      print_line(line_of(s, program, operands));
    else
      self.fail({program[2], program[1], program[0]}, operands, site);
  } catch (...) {
    // No exception may propagate through the kernel's frames.
    std::lock_guard lock(self.mutex_);
    if (!self.thrown_) self.thrown_ = std::current_exception();
  }
}

void Reports::fail(const Program& program, const void* const* operands, std::int32_t site) {
  const ReportSite& s = sites_[static_cast<std::size_t>(site)];
  const ir::Type t = s.operands[0];
  std::int64_t lane = -1, elements = 0;
  for (std::int64_t k = 0; k < t.elements(); ++k) {
    const bool fails = bits_of(t, operands[0], k) == 0 && (s.operands.size() < 2 || bits_of(s.operands[1], operands[1], k) != 0);
    if (!fails) continue;
    if (elements++ == 0) lane = k;
  }
  std::lock_guard lock(mutex_);
  failures_ += elements;
  // If several failures have one site in one program, the first one to arrive is kept.
  if (first_ && std::tie(first_->program, first_->site) <= std::tie(program, site)) return;
  std::string where = fmt::format("program ({}, {}, {})", program.x, program.y, program.z);
  if (t.rank() > 0) where += fmt::format(", element [{}]", fmt::join(indices(t, lane), ", "));
  if (elements > 1) where += fmt::format("; {} of {} elements fail", elements, t.elements());
  first_ = Failure{program, site, elements, fmt::format("{} ({})", claim(s, operands, lane), where)};
}

void Reports::finish(const Here& launched) const {
  if (thrown_) std::rethrow_exception(thrown_);
  if (!first_) return;
  std::string note = "launched here";
  if (failures_ > first_->elements) note += fmt::format("; {} elements in all failed", failures_);
  throw violation(sites_[static_cast<std::size_t>(first_->site)].where, first_->message, launched, note);
}

}  // namespace tilewright::rt
