// Parses values of a command line and checks them against the parameters.
#include "frontend/cli/arguments/values.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "frontend/cli/files/errors.h"
#include "frontend/cli/files/npy.h"
#include "tileir/builder.h"
#include "tileir/text/literal.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

// The alignment in bytes of every buffer that a device allocates.
constexpr std::int64_t kBufferAlignment = 64;

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T v = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && stop == text.data() + text.size() && !text.empty() ? std::optional(v) : std::nullopt;
}

Receiver receiver_of(const ir::Function& f, int i) {
  const ir::Param& p = f.params[i];
  const ir::Type type = f.type(f.arg(f.body(), i));
  return {p.name, type, fmt::format("parameter '{}' of '{}' is {}", p.name, f.name, ir::text(type)), p.divisible_by, p.positive};
}

/// The part of "TYPE:NUMBER" before the colon, if it is a type.
std::optional<ir::Element> typed(std::string_view value) {
  const auto colon = value.find(':');
  return colon == value.npos ? std::nullopt : parse_element_name(value.substr(0, colon));
}

struct Reading {
  const Receiver& receiver;
  const std::string& value;
  Argument argument;

  [[noreturn]] void refuse(const std::string& why) const { throw UsageError(fmt::format("{}, {}", receiver.text, why)); }

  void zeros() {
    const std::string_view rest = std::string_view(value).substr(6);
    const auto colon = rest.find(':');
    const auto element = parse_element_name(rest.substr(0, colon));
    if (!element || colon == rest.npos) throw UsageError(fmt::format("'{}': a buffer of zeros is zeros:TYPE:N, as zeros:f32:1024", value));
    const auto n = whole_number<std::int64_t>(rest.substr(colon + 1));
    if (!n || *n < 0)
      throw UsageError(fmt::format("'{}': the number of elements is '{}'; it must be 0 or more", value, rest.substr(colon + 1)));
    if (!argument.is_buffer()) refuse(fmt::format("which '{}' is not; expected {}", value, receiver.expected()));
    if (*element != argument.type.element())
      refuse(fmt::format("and '{}' has elements of {}; expected {}", value, element_names(*element), receiver.expected()));
    argument.shape = {*n};
    argument.elements = *n;
  }

  void scalar(ir::Element element) {
    if (argument.is_buffer()) refuse(fmt::format("and not the scalar '{}'; expected {}", value, receiver.expected()));
    if (element != argument.type.element())
      refuse(fmt::format("and '{}' is {}; expected {}", value, element_names(element), receiver.expected()));
    const ir::ParsedLiteral read = ir::parse_literal(argument.type, std::string_view(value).substr(value.find(':') + 1));
    if (!read.error.empty()) throw UsageError(fmt::format("'{}': {}", value, read.error));
    argument.word = read.bits;
  }

  void file(Files& files) {
    if (!argument.is_buffer()) {
      const bool is_number = !ir::parse_literal(argument.type, value).error.size();
      refuse(fmt::format("which '{}' is not; expected {}", value,
                         is_number ? fmt::format("{}:{}", ir::text(argument.type), value) : receiver.expected()));
    }
    NpyArray array = read_npy(files.read(value), value == "-" ? "<stdin>" : value);
    if (!dtype_holds(array.dtype, argument.type.element()))
      refuse(fmt::format("and '{}' has elements of dtype '{}'; expected {}", value, array.dtype, element_names(argument.type.element())));
    argument.shape = std::move(array.shape);
    argument.elements = array.elements;
    argument.bytes = std::move(array.data);
  }

  /// The text may be a dump of a launch that was compiled for that launch's argument attributes. The arguments must have them too.
  void check_argument_attributes() const {
    const std::int64_t divisor = receiver.divisible_by;
    if (argument.is_buffer()) {
      if (kBufferAlignment % divisor != 0)
        refuse(fmt::format("and must be aligned to {} bytes; buffers of the command line are aligned to {}", divisor, kBufferAlignment));
      return;
    }
    if (!argument.type.is_integer()) return;
    const std::int64_t v = ir::integer_value(argument.type.element(), argument.word);
    if (receiver.positive && (v < 1 || v > INT32_MAX))
      refuse(fmt::format("and must be from 1 to 2^31 - 1 as the kernel says; {} is not", v));
    if (v % divisor != 0) refuse(fmt::format("and must be divisible by {} as the kernel says; {} is not", divisor, v));
  }
};

}  // namespace

std::pair<std::string, std::string> split_assignment(const std::string& text, const char* option) {
  const auto equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    throw UsageError(fmt::format("{} '{}' is not NAME=VALUE", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int find_parameter(const ir::Function& f, const std::string& name) {
  std::string all;
  for (std::size_t i = 0; i < f.params.size(); ++i) {
    if (f.params[i].name == name) return static_cast<int>(i);
    all += fmt::format("{}'{}'", i == 0 ? "" : ", ", f.params[i].name);
  }
  if (const auto position = whole_number<std::size_t>(name); position && *position < f.params.size()) return static_cast<int>(*position);
  const auto spell = [](const ir::Param& p) -> std::string_view { return p.name; };
  throw UsageError(fmt::format("there is no parameter '{}' of '{}'{}; it has {}", name, f.name, ir::suggestion(name, f.params, spell),
                               all.empty() ? "none" : all));
}

std::string Receiver::expected() const {
  if (!type.is_pointer()) return fmt::format("{}:NUMBER", ir::text(type));
  return fmt::format("a FILE.npy of {} or zeros:{}:N", element_names(type.element()), ir::text(type.element()));
}

Argument parse_value(const Receiver& receiver, const std::string& value, Files& files) {
  Reading reading{receiver, value, {.name = receiver.name, .type = receiver.type}};
  if (value.starts_with("zeros:"))
    reading.zeros();
  else if (const auto element = typed(value))
    reading.scalar(*element);
  else
    reading.file(files);
  reading.check_argument_attributes();
  return std::move(reading.argument);
}

std::vector<Argument> parse_arguments(const ir::Function& f, std::span<const std::string> words, Files& files) {
  std::vector<std::optional<Argument>> given(f.params.size());
  for (const std::string& word : words) {
    const auto [name, value] = split_assignment(word, "--arg");
    const int i = find_parameter(f, name);
    if (given[i]) throw UsageError(fmt::format("parameter '{}' is given twice", f.params[i].name));
    given[i] = parse_value(receiver_of(f, i), value, files);
  }
  std::string missing;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!given[i])
      missing += fmt::format("{}'{}' ({})", missing.empty() ? "" : ", ", f.params[i].name, receiver_of(f, static_cast<int>(i)).expected());
  if (!missing.empty()) throw UsageError(fmt::format("no --arg gives a value to {}", missing));
  std::vector<Argument> arguments;
  for (std::optional<Argument>& a : given) arguments.push_back(std::move(*a));
  return arguments;
}

std::vector<std::int64_t> parse_grid(const std::string& text) {
  std::vector<std::int64_t> extents;
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    const auto n = whole_number<std::int64_t>(rest.substr(0, comma));
    if (!n || *n < 1 || *n > INT32_MAX)
      throw UsageError(fmt::format("--grid '{}': extent '{}' is not a number from 1 to {}", text, rest.substr(0, comma), INT32_MAX));
    extents.push_back(*n);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (extents.size() > 3) throw UsageError(fmt::format("--grid '{}' has {} extents; a grid has 1 to 3", text, extents.size()));
  return extents;
}

}  // namespace tilewright::cli
