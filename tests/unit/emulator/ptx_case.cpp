// Parses the cases of a file, launches them and compares the results with the directives.
#include "tests/unit/emulator/ptx_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/counters/assertion.h"
#include "tests/unit/emulator/harness.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

std::string trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t");
  return first == s.npos ? "" : std::string(s.substr(first, s.find_last_not_of(" \t") - first + 1));
}

/// The text with the end of a line for each `\n`.
std::string with_lines(std::string text) {
  for (std::size_t at = text.find("\\n"); at != text.npos; at = text.find("\\n", at + 1)) text.replace(at, 2, "\n");
  return text;
}

/// The text with what is chosen for each `$NAME`, once in a line.
std::string with(const std::map<std::string, std::string>& chosen, std::string text) {
  for (const auto& [name, ptx] : chosen)
    if (const std::size_t at = text.find("$" + name); at != text.npos) text.replace(at, name.size() + 1, ptx);
  return text;
}

// ---- expressions ----

/// Integers, i, + - * / % and parentheses, in words: value_of("2 * (i + 5)", 3) -> 16.
class Expression {
 public:
  Expression(std::string_view text, u32 i) : text_(text), i_(i) {}
  u32 value() {
    const u32 v = sum();
    skip();
    if (at_ != text_.size()) throw std::invalid_argument(fmt::format("'{}' is not an expression", text_));
    return v;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c && ++at_;
  }
  u32 sum() {
    u32 v = product();
    while (true) {
      if (take('+'))
        v += product();
      else if (take('-'))
        v -= product();
      else
        return v;
    }
  }
  u32 product() {
    u32 v = factor();
    while (true) {
      if (take('*'))
        v *= factor();
      else if (take('/'))
        v /= factor();
      else if (take('%'))
        v %= factor();
      else
        return v;
    }
  }
  u32 factor() {
    if (take('(')) {
      const u32 v = sum();
      if (!take(')')) throw std::invalid_argument(fmt::format("'{}' lacks a ')'", text_));
      return v;
    }
    if (take('i')) return i_;
    const bool is_hex = text_.substr(at_, 2) == "0x";
    if (is_hex) at_ += 2;
    u32 v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v, is_hex ? 16 : 10);
    if (error != std::errc()) throw std::invalid_argument(fmt::format("'{}' is not an expression", text_));
    at_ = static_cast<std::size_t>(end - text_.data());
    return v;
  }
  std::string_view text_;
  std::size_t at_ = 0;
  u32 i_;
};

u32 value_of(std::string_view expression, u32 i = 0) { return Expression(expression, i).value(); }

// ---- files ----

struct Directive {
  std::string text;
  int line;
};
using Directives = std::map<std::string, std::vector<Directive>, std::less<>>;

struct Part {
  int line = 1;
  std::string name;
  std::vector<std::string> ptx, functions;
  Directives directives;
  std::map<std::string, std::vector<std::string>> texts;  // the texts of `text` directives
};

constexpr std::string_view kNames[] = {"target",   "threads", "blocks",  "cluster",   "array",         "order",   "async",        "seed",
                                       "text",     "each",    "finds",   "finds_not", "finding_lines", "remarks", "remark_lines", "value",
                                       "counters", "refused", "workers", "functions", "limit",         "tensor",  "kernel",       "error"};

Part read_part(const std::vector<std::string>& lines, int first) {
  Part part;
  part.line = first;
  std::vector<std::string>* ptx = &part.ptx;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (line.empty()) continue;
    if (!line.starts_with("//")) {
      ptx->push_back(line);
      continue;
    }
    const std::string comment = trimmed(std::string_view(line).substr(2));
    const std::size_t colon = comment.find(':');
    const std::string name = comment.substr(0, colon);
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
      if (part.name.empty()) part.name = comment;
      continue;
    }
    const std::string text = with_lines(trimmed(comment.substr(colon + 1)));
    ptx = name == "text" ? &part.texts[text] : name == "functions" ? &part.functions : &part.ptx;
    part.directives[name].push_back({text, first + static_cast<int>(i)});
  }
  return part;
}

std::vector<Part> read_parts(std::string_view text) {
  std::vector<Part> parts;
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  int line = 0, first = 1;
  for (std::string l; std::getline(in, l);) {
    ++line;
    if (trimmed(l) != "// -----") {
      lines.push_back(l);
      continue;
    }
    parts.push_back(read_part(lines, first));
    lines.clear();
    first = line + 1;
  }
  parts.push_back(read_part(lines, first));
  return parts;
}

// ---- cases ----

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

template <class T>
T named(const std::string& name, std::initializer_list<std::pair<const char*, T>> all) {
  for (const auto& [n, value] : all)
    if (n == name) return value;
  throw std::invalid_argument(fmt::format("'{}' is not known", name));
}

using NamedArrays = std::vector<std::pair<std::string, std::unique_ptr<Array<u32>>>>;

/// numbers_of<u32>("64x16") -> {64, 16}.
template <class T>
std::vector<T> numbers_of(std::string text) {
  std::replace(text.begin(), text.end(), 'x', ' ');
  std::vector<T> numbers;
  for (const std::string& word : words(text)) numbers.push_back(value_of(word));
  return numbers;
}

/// The map that "map u16 64x64 box 64x16 of in" describes.
cuda::CUtensorMap tensor_map(const std::string& text, const NamedArrays& arrays) {
  const std::vector<std::string> w = words(text);
  if (w.size() != 7 || w[3] != "box" || w[5] != "of")
    throw std::invalid_argument(fmt::format("'{}': expected NAME TYPE EXTENTS box EXTENTS of ARRAY", text));
  const auto [type, bytes] = named<std::pair<cuda::CUtensorMapDataType, u64>>(w[1], {{"u16", {cuda::CU_TENSOR_MAP_DATA_TYPE_UINT16, 2}},
                                                                                     {"u32", {cuda::CU_TENSOR_MAP_DATA_TYPE_UINT32, 4}},
                                                                                     {"f32", {cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}}});
  const std::vector<u64> extents = numbers_of<u64>(w[2]);
  const std::vector<u32> box = numbers_of<u32>(w[4]), steps(extents.size(), 1);
  std::vector<u64> strides;
  for (std::size_t d = 0; d + 1 < extents.size(); ++d) strides.push_back((d == 0 ? bytes : strides.back()) * extents[d]);
  for (const auto& [name, array] : arrays) {
    if (name != w[6]) continue;
    cuda::CUtensorMap map;
    if (emulated_driver().cuTensorMapEncodeTiled(
            &map, type, static_cast<u32>(extents.size()), reinterpret_cast<void*>(array->address()), extents.data(), strides.data(),
            box.data(), steps.data(), cuda::CU_TENSOR_MAP_INTERLEAVE_NONE, cuda::CU_TENSOR_MAP_SWIZZLE_NONE,
            cuda::CU_TENSOR_MAP_L2_PROMOTION_NONE, cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != cuda::CUDA_SUCCESS)
      throw std::invalid_argument(fmt::format("'{}': no such tensor map", text));
    return map;
  }
  throw std::invalid_argument(fmt::format("'{}': there is no such array", text));
}

class Case {
 public:
  Case(const Part& head, const Part& part, std::vector<CaseFailure>& failures) : head_(head), part_(part), failures_(failures) {}

  void run() {
    if (!of("refused").empty()) return run_refused();
    // One launch for each combination of alternatives, orders and schedules.
    std::vector<std::map<std::string, std::string>> alternatives(1);
    std::map<std::string, std::vector<std::string>> each;
    for (const Directive& d : of("each")) {
      const std::size_t space = std::min(d.text.find(' '), d.text.size());
      each[d.text.substr(0, space)].push_back(trimmed(d.text.substr(space)));
    }
    for (const auto& [name, choices] : each) {
      std::vector<std::map<std::string, std::string>> more;
      for (const auto& a : alternatives)
        for (const std::string& choice : choices) {
          more.push_back(a);
          more.back()[name] = choice;
        }
      alternatives = std::move(more);
    }
    for (const auto& chosen : alternatives)
      for (const std::string& order : words(setting("order", "forward")))
        for (const std::string& async : words(setting("async", "lazy")))
          for (const std::string& workers : words(setting("workers", "0"))) launch(chosen, order, async, workers);
  }

 private:
  /// The case's directives of a name, else the head's.
  const std::vector<Directive>& of(std::string_view name) const {
    static const std::vector<Directive> kNone;
    for (const Part* part : {&part_, &head_})
      if (const auto at = part->directives.find(name); at != part->directives.end()) return at->second;
    return kNone;
  }
  std::string setting(std::string_view name, const std::string& otherwise) const { return of(name).empty() ? otherwise : of(name)[0].text; }
  u32 number(std::string_view name, u32 otherwise) const { return of(name).empty() ? otherwise : value_of(of(name)[0].text); }

  void fail(int line, const std::string& message) { failures_.push_back({line, fmt::format("{}: {}{}", part_.name, message, how_)}); }

  void add(const std::vector<std::string>& lines, const std::map<std::string, std::string>& chosen, std::string& to) const {
    for (std::string line : lines) {
      if (line[0] == '$') {
        const std::string name = line.substr(1);
        const Part* part = part_.texts.contains(name) ? &part_ : &head_;
        if (const auto text = part->texts.find(name); text != part->texts.end()) {
          add(text->second, chosen, to);
          continue;
        }
      }
      line = with(chosen, line);
      if (line.find('$') != line.npos && line.find("$L_") == line.npos)
        throw std::invalid_argument(fmt::format("'{}' names no text", line));
      to += line + "\n";
    }
  }

  std::string module_with(const std::string& body) const {
    std::string functions;
    add(head_.functions, {}, functions);
    add(part_.functions, {}, functions);
    std::string params;
    for (const Directive& array : of("array"))
      params += fmt::format("{}.param .u64 {}", params.empty() ? "" : ", ", words(array.text).at(0));
    for (const Directive& tensor : of("tensor"))
      params += fmt::format("{}.param .align 64 .b8 {}[128]", params.empty() ? "" : ", ", words(tensor.text).at(0));
    return module_for(setting("target", "sm_80"), params, body, functions, setting("kernel", ""));
  }

  void run_refused() {
    for (const std::string& line : part_.ptx) {
      std::string text;
      add(head_.ptx, {}, text);
      try {
        LoadedModule::load(module_with("\n" + text + line));
        fail(part_.line, fmt::format("'{}' is not refused", line));
      } catch (const Error&) {
      }
    }
  }

  void launch(const std::map<std::string, std::string>& chosen, const std::string& order, const std::string& async,
              const std::string& workers) {
    how_ = fmt::format("\n  order {}, asynchronous work {}, workers {}", order, async, workers);
    for (const auto& [name, ptx] : chosen) how_ += fmt::format(", {} '{}'", name, ptx);
    std::string body = "\n";
    add(head_.ptx, chosen, body);
    add(part_.ptx, chosen, body);
    if (!of("error").empty()) return check_error(module_with(body), chosen);
    Bench bench(module_with(body));
    bench.launch_params.order =
        named<Order>(order, {{"forward", Order::forward}, {"backward", Order::backward}, {"random", Order::random}});
    bench.launch_params.async_order =
        named<AsyncOrder>(async, {{"lazy", AsyncOrder::lazy}, {"eager", AsyncOrder::eager}, {"random", AsyncOrder::random}});
    bench.launch_params.seed = number("seed", 0);
    if (const u32 limit = number("limit", 0)) bench.launch_params.instruction_limit = limit;
    bench.launch_params.workers = static_cast<int>(value_of(workers));
    if (const u32 cluster = number("cluster", 0)) bench.launch_params.cluster = {cluster, 1, 1};
    NamedArrays arrays;
    Params params;
    for (const Directive& d : of("array")) {
      const std::size_t equals = d.text.find('=');
      const std::vector<std::string> name_and_count = words(d.text.substr(0, equals));
      std::vector<u32> values(value_of(name_and_count.at(1)));
      for (u32 i = 0; i < values.size(); ++i) values[i] = value_of(trimmed(d.text.substr(equals + 1)), i);
      arrays.emplace_back(name_and_count[0], std::make_unique<Array<u32>>(bench.memory, values));
      params.add(arrays.back().second->address());
    }
    for (const Directive& d : of("tensor")) params.add_aligned(tensor_map(d.text, arrays), 64);
    const bool is_good = bench.run("k", {number("blocks", 1), 1, 1}, {number("threads", 1), 1, 1}, params);
    const std::string found = bench.found();
    if (is_good != found.empty()) fail(part_.line, "the launch's result and its findings disagree");
    check_findings(bench, found, chosen);
    for (const Directive& d : of("value")) check_value(d, arrays);
    for (const Directive& d : of("counters"))
      if (const std::string failure = test::failure_of(d.text, bench.counters.of("k")); !failure.empty()) fail(d.line, failure);
  }

  void check_error(const std::string& module, const std::map<std::string, std::string>& chosen) {
    std::string message;
    try {
      LoadedModule::load(module);
    } catch (const Error& error) {
      message = error.what();
    }
    for (const Directive& d : of("error"))
      if (const std::string text = with(chosen, d.text); message.find(text) == message.npos)
        fail(d.line, fmt::format("the error is not '{}', but '{}'", text, message));
  }

  void check_findings(const Bench& bench, const std::string& found, const std::map<std::string, std::string>& chosen) {
    if (of("finds").empty() && of("finds_not").empty() && !found.empty()) fail(part_.line, fmt::format("it finds\n{}", found));
    for (const Directive& d : of("finds"))
      if (const std::string text = with(chosen, d.text); text == "*" ? found.empty() : found.find(text) == found.npos)
        fail(d.line, fmt::format("it does not find '{}', but\n{}", text, found));
    for (const Directive& d : of("finds_not"))
      if (found.find(d.text) != found.npos) fail(d.line, fmt::format("it finds '{}'", d.text));
    if (const auto lines = std::count(found.begin(), found.end(), '\n');
        !of("finding_lines").empty() && lines != number("finding_lines", 0))
      fail(of("finding_lines")[0].line, fmt::format("{} lines of findings:\n{}", lines, found));
    std::string remarks;
    for (const Diagnostic& remark : bench.diagnostics.remarks()) remarks += to_string(remark) + "\n";
    if (const auto lines = bench.diagnostics.remarks().size(); !of("remark_lines").empty() && lines != number("remark_lines", 0))
      fail(of("remark_lines")[0].line, fmt::format("{} remarks:\n{}", lines, remarks));
    for (const Directive& d : of("remarks"))
      if (remarks.find(d.text) == remarks.npos) fail(d.line, fmt::format("no remark says '{}', but\n{}", d.text, remarks));
  }

  /// "out[0..63] = i + 5", "out[3] = 8".
  void check_value(const Directive& d, const NamedArrays& arrays) {
    const std::size_t open = d.text.find('['), close = d.text.find(']'), equals = d.text.find('=');
    if (open == d.text.npos || close == d.text.npos || equals == d.text.npos)
      throw std::invalid_argument(fmt::format("'{}': expected ARRAY[INDEX] = VALUE", d.text));
    const std::string range = d.text.substr(open + 1, close - open - 1);
    const std::size_t dots = range.find("..");
    const u32 first = value_of(range.substr(0, dots)), last = dots == range.npos ? first : value_of(range.substr(dots + 2));
    for (const auto& [name, array] : arrays) {
      if (name != trimmed(d.text.substr(0, open))) continue;
      const std::vector<u32> values = array->values();
      for (u32 i = first; i <= last; ++i)
        if (const u32 expected = value_of(trimmed(d.text.substr(equals + 1)), i); values.at(i) != expected)
          return fail(d.line, fmt::format("{}[{}] is {}, not {}", name, i, values[i], expected));
      return;
    }
    throw std::invalid_argument(fmt::format("'{}': there is no such array", d.text));
  }

  const Part &head_, &part_;
  std::vector<CaseFailure>& failures_;
  std::string how_;
};

}  // namespace

std::vector<CaseFailure> run_cases(std::string_view text) {
  std::vector<CaseFailure> failures;
  const std::vector<Part> parts = read_parts(text);
  if (parts.size() < 2) failures.push_back({1, "there is no case"});
  for (std::size_t i = 1; i < parts.size(); ++i) try {
      if (parts[i].ptx.empty() || parts[i].name.empty()) failures.push_back({parts[i].line, "a case without a name or without PTX"});
      Case(parts[0], parts[i], failures).run();
    } catch (const std::exception& e) {
      failures.push_back({parts[i].line, fmt::format("{}: {}", parts[i].name, e.what())});
    }
  return failures;
}

}  // namespace tilewright::rt::emulator
