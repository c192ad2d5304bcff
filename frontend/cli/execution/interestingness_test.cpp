// Compares executions of a kernel that must agree, in a child process.
#include "frontend/cli/execution/interestingness_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>

#include "passes/pass_manager.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"

namespace tilewright::cli {

namespace {

constexpr std::int64_t kMadeElements = 4096;

/// The next number of splitmix64.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t small_value(ir::Element e, std::uint64_t random) {
  if (ir::is_float(e)) return ir::element_bits(e, static_cast<double>(random % 1024) / 256.0 - 2.0);
  return e == ir::Element::boolean ? random % 2 : random % 16;
}

/// The beginning of a message, up to the first character that the reduction of the kernel may change.
std::string kind_of(std::string_view message) {
  const auto at = message.find(": error: ");
  if (at != message.npos) message.remove_prefix(at + 9);
  return std::string(message.substr(0, message.find_first_of("'\"%0123456789\n")));
}

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t i, ir::Element e) {
  std::uint64_t w = 0;
  const auto width = static_cast<std::size_t>(ir::bytes(e));
  std::memcpy(&w, &bytes[i * width], width);
  return w;
}

bool close(ir::Element e, std::uint64_t a, std::uint64_t b, double tolerance) {
  if (a == b) return true;
  if (!ir::is_float(e)) return false;
  const double x = ir::float_value(e, a), y = ir::float_value(e, b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)});
}

std::string shown(ir::Element e, std::uint64_t w) {
  return ir::is_float(e) ? fmt::format("{}", ir::float_value(e, w)) : fmt::format("{}", ir::integer_value(e, w));
}

/// Describes the first element that differs; empty if all agree.
std::string difference(const ir::Function& f, const std::vector<Argument>& arguments, const Execution& expected, const Execution& got,
                       double tolerance) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_buffer()) continue;
    const ir::Element e = arguments[i].type.element();
    const auto want = expected.contents(static_cast<int>(i)), have = got.contents(static_cast<int>(i));
    for (std::size_t k = 0; k < static_cast<std::size_t>(arguments[i].elements); ++k) {
      const std::uint64_t w = word_at(want, k, e), h = word_at(have, k, e);
      if (!close(e, w, h, tolerance)) return fmt::format("{}[{}] is {}, and should be {}", f.params[i].name, k, shown(e, h), shown(e, w));
    }
  }
  return {};
}

// The text that a child returns: a kind and a message, separated by a zero byte.
std::string answer(std::string_view kind, std::string_view text) { return fmt::format("{}{}{}", kind, '\0', text); }

std::string answer(const std::exception& e) {
  const auto* bug = dynamic_cast<const CompilerBug*>(&e);
  if (bug == nullptr) return answer(kind_of(e.what()), e.what());
  // The first line identifies the bug; later lines name a file that is removed with the child process.
  const std::string_view what = e.what();
  return answer("compiler bug at " + text(bug->where()), what.substr(0, what.find('\n')));
}

}  // namespace

std::vector<Argument> make_arguments(const ir::Function& f) {
  std::vector<Argument> arguments;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < f.params.size(); ++i) {
    Argument a{.name = f.params[i].name, .type = f.type(f.arg(f.body(), static_cast<int>(i)))};
    const ir::Element e = a.type.element();
    if (a.is_buffer()) {
      const auto width = static_cast<std::size_t>(ir::bytes(e));
      a.shape = {kMadeElements};
      a.elements = kMadeElements;
      a.bytes.resize(kMadeElements * width);
      for (std::size_t k = 0; k < kMadeElements; ++k) {
        const std::uint64_t word = small_value(e, next_random(state));
        std::memcpy(&a.bytes[k * width], &word, width);
      }
    } else if (a.type.is_integer()) {
      a.word = ir::element_bits(e, f.params[i].divisible_by * (f.params[i].divisible_by < 64 ? 64 / f.params[i].divisible_by : 1));
    } else {
      a.word = small_value(e, next_random(state) | 1);
    }
    arguments.push_back(std::move(a));
  }
  return arguments;
}

InterestingnessTest::InterestingnessTest(InterestingnessOptions options, std::vector<Argument> arguments)
    : options_(std::move(options)), arguments_(std::move(arguments)) {}

Verdict InterestingnessTest::run(const ir::Function& f) const {
  const ChildResult child = children_.run([&] { return run_in_child(f); }, options_.seconds);
  if (child.signal == SIGALRM) return {"endless", fmt::format("it does not end within {} s", options_.seconds)};
  if (child.signal != 0) {
    const std::string first = child.errors.substr(0, child.errors.find('\n'));
    // "tilewright: compiler bug at FILE:LINE: message": the location identifies the bug.
    const auto begin = first.find("compiler bug at ");
    const auto end = begin == first.npos ? begin : first.find(": ", begin);
    if (end != first.npos) return {first.substr(begin, end - begin), first};
    return {fmt::format("signal {}", child.signal), fmt::format("it was ended by a signal: {}", strsignal(child.signal))};
  }
  if (child.exit_code != 0) return {fmt::format("exit {}", child.exit_code), fmt::format("it exited with code {}", child.exit_code)};
  const auto zero = child.text.find('\0');
  return zero == child.text.npos ? Verdict{} : Verdict{child.text.substr(0, zero), child.text.substr(zero + 1)};
}

std::string InterestingnessTest::run_in_child(const ir::Function& f) const {
  std::vector<Argument> arguments;
  for (const ir::Param& p : f.params)
    arguments.push_back(*std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& a) { return a.name == p.name; }));
  ExecutionOptions interpreter = options_.execution;
  interpreter.device = "interpreter";
  ir::Function changed = f;
  try {
    if (options_.test_passes) {
      passes::RunOptions run;
      run.verify_each = true;
      passes::run_passes(changed, options_.passes, {options_.target, options_.execution.contract}, run);
    }
  } catch (const std::exception& e) {
    return answer(e);
  }
  std::optional<Execution> expected;
  try {
    expected.emplace(f, arguments, interpreter);
    expected->launch();
  } catch (const CompilerBug& e) {
    return answer(e);
  } catch (const std::exception&) {
    return {};  // the program is invalid, so no result is right
  }
  try {
    Execution got(changed, arguments, options_.test_passes ? interpreter : options_.execution);
    got.launch();
    const std::string found = difference(f, arguments, *expected, got, options_.tolerance);
    return found.empty() ? found : answer("different result", found);
  } catch (const std::exception& e) {
    return answer(e);
  }
}

}  // namespace tilewright::cli
