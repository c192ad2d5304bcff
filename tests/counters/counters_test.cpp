// Text tests of counters: kernels/*.tile run on emulated devices, and their assertions about counters must hold. Directives, one a line:
//   // device: emulator:sm_80 emulator:sm_90a
//   // grid: 4
//   // warps: 8                              4 if not named
//   // arg: x=zeros:f32:1000                 one for each parameter
//   // counters: sectors_per_request(load) <= 4
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "frontend/cli/execution/execution.h"
#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/counters/assertion.h"

namespace tilewright::test {
namespace {

using Directives = std::map<std::string, std::vector<std::string>>;

Directives directives_of(const std::string& path) {
  Directives found{{"device", {}}, {"grid", {}}, {"warps", {}}, {"arg", {}}, {"counters", {}}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("// ")) continue;
    const auto colon = line.find(": ");
    const std::string name = line.substr(3, colon == line.npos ? 0 : colon - 3);
    if (const auto at = found.find(name); at != found.end()) at->second.push_back(line.substr(colon + 2));
  }
  return found;
}

void run_file(const std::string& path) {
  CAPTURE(path);
  const Directives asked = directives_of(path);
  REQUIRE(asked.at("grid").size() == 1);
  REQUIRE(asked.at("device").size() == 1);
  REQUIRE(!asked.at("counters").empty());
  cli::Files files;
  const ir::Module module = files.read_tile(path);
  const ir::Function& f = cli::choose_kernel(module, "");
  const std::vector<cli::Argument> arguments = cli::parse_arguments(f, asked.at("arg"), files);
  std::istringstream devices(asked.at("device")[0]);
  for (std::string device; devices >> device;) {
    CAPTURE(device);
    const int ordinal = rt::emulator::emulated_ordinal(device.substr(device.find(':') + 1));
    REQUIRE(ordinal >= 0);
    rt::emulator::take_report(ordinal);
    const int warps = asked.at("warps").empty() ? 4 : std::stoi(asked.at("warps")[0]);
    cli::Execution execution(f, arguments, {.device = device, .grid = cli::parse_grid(asked.at("grid")[0]), .warps = warps});
    execution.launch();
    const auto report = rt::emulator::take_report(ordinal);
    CHECK(report.diagnostics.empty());
    for (const std::string& assertion : asked.at("counters")) CHECK(failure_of(assertion, report.counters.of(f.name)) == "");
  }
}

}  // namespace

TEST_CASE("counters: what the text tests say of their kernels holds") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TW_COUNTER_TESTS)) {
    if (entry.path().extension() != ".tile") continue;
    run_file(entry.path().string());
    ++count;
  }
  CHECK(count >= 2);
}

TEST_CASE("counters: an assertion that does not hold says what is the case, one that means nothing is refused") {
  rt::emulator::KernelCounters counters;
  counters.instructions.resize(3);
  counters.instructions[0] = {.executed = 2, .lanes = 64, .requests = 2, .units = 12, .ideal = 8, .bytes = 256};
  counters.instructions[1] = {.executed = 5, .lanes = 5, .requests = 5, .units = 10, .ideal = 5, .bytes = 20};
  using rt::emulator::Category;
  counters.infos = std::make_shared<std::vector<rt::emulator::InstructionInfo>>(std::vector<rt::emulator::InstructionInfo>{
      {Category::load_global, 1, {}}, {Category::store_shared, 2, {}}, {Category::barrier, 3, {}}});
  for (const char* right :
       {"sectors_per_request(load) == 6", "sectors(load) <= 12", "excess(load) >= 4", "wavefronts_per_request(store_shared) < 3",
        "instructions(all) > 6", "bytes(load_global) == 256", "requests(barrier) == 0", "never_ran(all) == 1"})
    CHECK(failure_of(right, counters) == "");
  CHECK(failure_of("sectors_per_request(load) <= 4", counters) == "'sectors_per_request(load) <= 4': it is 6");
  CHECK(failure_of("requests(barrier) > 0", counters) == "'requests(barrier) > 0': it is 0");
  CHECK_THROWS_WITH(failure_of("sectors(load)", counters), "'sectors(load)': expected COUNTER(SUBJECT) OP NUMBER");
  CHECK_THROWS_WITH(failure_of("sectors(loads) == 1", counters), "no instructions are called 'loads'");
  CHECK_THROWS_WITH(failure_of("cycles(load) == 1", counters), "no counter of 'load' is called 'cycles'");
  CHECK_THROWS_WITH(failure_of("never_ran(load) == 1", counters), "no counter of 'load' is called 'never_ran'");
}

}  // namespace tilewright::test
