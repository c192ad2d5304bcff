// Parses an assertion and evaluates it on counters.
#include "tests/counters/assertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <stdexcept>

namespace tilewright::test {
namespace {

using namespace rt::emulator;

Count subject_of(const std::string& name, const KernelCounters& counters) {
  if (name == "all") return counters.total();
  const std::string full = name == "load" || name == "store" ? name + "_global" : name;
  for (int k = 0; k < kCategories; ++k) {
    std::string category = name_of(static_cast<Category>(k));
    std::replace(category.begin(), category.end(), ' ', '_');
    if (category == full) return counters.of(static_cast<Category>(k));
  }
  throw std::invalid_argument(fmt::format("no instructions are called '{}'", name));
}

double value_of(const std::string& counter, const std::string& subject, const KernelCounters& counters) {
  const Count count = subject_of(subject, counters);
  const auto number = [](u64 value) { return static_cast<double>(value); };
  if (counter == "instructions") return number(count.executed);
  if (counter == "requests") return number(count.requests);
  if (counter == "bytes") return number(count.bytes);
  if (counter == "sectors" || counter == "wavefronts") return number(count.units);
  if (counter == "sectors_per_request" || counter == "wavefronts_per_request")
    return count.requests == 0 ? 0 : number(count.units) / number(count.requests);
  if (counter == "excess") return number(count.units - count.ideal);
  if (counter == "never_ran" && subject == "all") return number(counters.never_ran().size());
  throw std::invalid_argument(fmt::format("no counter of '{}' is called '{}'", subject, counter));
}

bool holds(double value, const std::string& op, double limit) {
  if (op == "==") return value == limit;
  if (op == "<=") return value <= limit;
  if (op == ">=") return value >= limit;
  return op == "<" ? value < limit : value > limit;
}

}  // namespace

std::string failure_of(std::string_view assertion, const KernelCounters& counters) {
  static const std::regex form(R"(\s*(\w+)\((\w+)\)\s*(==|<=|>=|<|>)\s*([0-9.]+)\s*)");
  const std::string text(assertion);
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) throw std::invalid_argument(fmt::format("'{}': expected COUNTER(SUBJECT) OP NUMBER", text));
  const double value = value_of(parts[1], parts[2], counters);
  if (holds(value, parts[3], std::strtod(parts[4].str().c_str(), nullptr))) return "";
  return fmt::format("'{}': it is {:g}", text, value);
}

}  // namespace tilewright::test
