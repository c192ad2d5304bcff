// Messages of a launch whose program instances have reported: which failure is chosen, and the text of each kind.
#include "runtime/reports.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tilewright/device_print.h"

namespace tilewright::rt {
namespace {

using backend::ReportSite;
using ir::Element;
using ir::Type;

const std::int64_t kShape[] = {2, 4};
const Type kCondition(Element::boolean, kShape), kIndex(Element::i32, kShape);

ReportSite assertion(ir::Reason reason, std::string text, std::vector<Type> operands) {
  return {{"kernel.cpp", 7, 3}, false, std::move(text), reason, std::move(operands)};
}

std::string finished(const Reports& reports) {
  try {
    reports.finish(Here::current());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void report(Reports& r, std::array<std::int32_t, 3> program, std::vector<const void*> operands, int site) {
  Reports::report(&r, program.data(), operands.data(), site);
}

TEST_CASE("reports: an assertion names its text, program, element and the launch") {
  const std::vector<ReportSite> sites{assertion(ir::Reason::assertion, "is small", {kCondition})};
  Reports reports(sites);
  CHECK(finished(reports).empty());
  const bool holds[] = {true, true, true, true, true, true, false, false};
  report(reports, {3, 0, 0}, {holds}, 0);
  const std::string text = finished(reports);
  CHECK(text.find("kernel.cpp:7:3: error: device_assert: is small (program (3, 0, 0), element [1, 2]; 2 of 8 elements fail)\n") == 0);
  CHECK(text.find("note: launched here") != std::string::npos);
}

TEST_CASE("reports: the program with the lowest ids counts, whichever came first") {
  const std::vector<ReportSite> sites{assertion(ir::Reason::assertion, "first", {Type(Element::boolean)}),
                                      assertion(ir::Reason::assertion, "second", {Type(Element::boolean)})};
  Reports reports(sites);
  const bool no = false;
  report(reports, {0, 0, 1}, {&no}, 0);
  report(reports, {9, 1, 0}, {&no}, 1);
  report(reports, {9, 1, 0}, {&no}, 0);
  report(reports, {9, 2, 0}, {&no}, 0);
  const std::string text = finished(reports);
  CHECK(text.find("device_assert: first (program (9, 1, 0))") != std::string::npos);
  CHECK(text.find("launched here; 4 elements in all failed") != std::string::npos);
}

TEST_CASE("reports: where the mask is false nothing fails") {
  const std::vector<ReportSite> sites{assertion(ir::Reason::assertion, "masked", {kCondition, kCondition})};
  Reports reports(sites);
  const bool holds[8] = {}, mask[] = {false, false, false, false, false, true, false, false};
  report(reports, {0, 0, 0}, {holds, mask}, 0);
  CHECK(finished(reports).find("element [1, 1])") != std::string::npos);
}

TEST_CASE("reports: wrong hints and indices say what was seen") {
  const bool holds[] = {true, false, true, true, true, true, true, true}, all[] = {true, true, true, true, true, true, true, true};
  const std::int32_t seen[] = {64, 70, 0, 0, 0, 0, 0, 0};
  const auto text = [&](ir::Reason reason, const std::string& expected) {
    const std::vector<ReportSite> sites{assertion(reason, expected, {kCondition, kCondition, kIndex})};
    Reports reports(sites);
    report(reports, {0, 0, 0}, {holds, all, seen}, 0);
    return finished(reports);
  };
  CHECK(text(ir::Reason::multiple_of, "16").find("error: multiple_of: 70 is not a multiple of 16 (program (0, 0, 0), element [0, 1])") !=
        std::string::npos);
  CHECK(text(ir::Reason::max_contiguous, "8").find("error: max_contiguous: 70 follows 64 within a run of 8 (") != std::string::npos);
  CHECK(text(ir::Reason::gather, "0 to 63").find("error: gather: index 70 is outside of 0 to 63 (") != std::string::npos);
  CHECK(text(ir::Reason::assume, "").find("error: assume: the condition does not hold (") != std::string::npos);
}

TEST_CASE("reports: prints are whole lines with their location, and what a handler throws comes out of the launch") {
  const std::vector<ReportSite> sites{{{"kernel.cpp", 7, 3}, true, "x = {:.1f}", {}, {Type(Element::f32)}}};
  Reports reports(sites);
  std::vector<std::string> lines;
  on_device_print([&](std::string_view line) { lines.emplace_back(line); });
  const float x = 2.5f;
  report(reports, {1, 2, 3}, {&x}, 0);
  CHECK(lines == std::vector<std::string>{"kernel.cpp:7: program (1, 2, 3): x = 2.5"});
  on_device_print([](std::string_view) { throw std::runtime_error("the handler's own"); });
  report(reports, {0, 0, 0}, {&x}, 0);
  on_device_print({});
  CHECK_THROWS_WITH(reports.finish(Here::current()), "the handler's own");
}

}  // namespace
}  // namespace tilewright::rt
