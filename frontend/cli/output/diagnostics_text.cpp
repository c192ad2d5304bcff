// Formats errors together with the source lines that they name.
#include "frontend/cli/output/diagnostics_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/environment.h"

namespace tilewright::cli {

namespace {

constexpr std::size_t kLongestLine = 160;  // longer source lines are cut
constexpr std::string_view kProgram = "tilewright", kLaunched = "launched here";

std::string coloured(std::string_view s, const char* code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, s) : std::string(s);
}

struct SourceLocation {
  std::string file;
  std::size_t line = 0, column = 0;
};

/// A line of a message: "<location>: <severity>: <text>".
struct Parts {
  std::string_view location, severity, text;
};

std::optional<Parts> split_message(std::string_view line) {
  for (const std::string_view severity : {"error", "note"}) {
    const std::string mark = fmt::format(": {}: ", severity);
    if (const auto at = line.find(mark); at != line.npos) return Parts{line.substr(0, at), severity, line.substr(at + mark.size())};
  }
  return std::nullopt;
}

std::optional<std::size_t> take_number(std::string_view& s) {
  const auto colon = s.rfind(':');
  if (colon == s.npos) return std::nullopt;
  std::size_t n = 0;
  const char* end = s.data() + s.size();
  const auto [stop, error] = std::from_chars(s.data() + colon + 1, end, n);
  if (error != std::errc() || stop != end) return std::nullopt;
  s = s.substr(0, colon);
  return n;
}

/// "file:line:column" or "file:line".
SourceLocation read_location(std::string_view s) {
  const auto last = take_number(s);
  if (!last) return {};
  const auto before = take_number(s);
  return before ? SourceLocation{std::string(s), *before, *last} : SourceLocation{std::string(s), *last, 0};
}

std::optional<std::string> line_of(const SourceLocation& location, const Files& files) {
  if (location.line == 0) return std::nullopt;
  std::string read;
  std::string_view text = files.source(location.file);
  if (text.empty()) {
    // A dumped kernel refers to the C++ lines that it was traced from.
    std::error_code error;
    if (!std::filesystem::is_regular_file(location.file, error)) return std::nullopt;
    std::ifstream in(location.file, std::ios::binary);
    read.assign(std::istreambuf_iterator<char>(in), {});
    text = read;
  }
  for (std::size_t skipped = 1; skipped < location.line; ++skipped) {
    const auto end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return std::string(text.substr(0, text.find('\n')));
}

/// Replaces control characters, which would act on the terminal.
std::string printable(std::string s) {
  for (char& c : s)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return s;
}

std::string excerpt(const SourceLocation& location, const std::string& whole, bool colour) {
  const std::string line = printable(whole.substr(0, kLongestLine));
  std::string out = fmt::format("{:5} | {}\n", location.line, line);
  if (location.column == 0 || location.column > line.size() + 1) return out;
  std::string blank;
  for (const char c : line.substr(0, location.column - 1)) {
    // A tab stays a tab. In a character of several bytes, only the first byte takes a column.
    if (c == '\t')
      blank += '\t';
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
      blank += ' ';
  }
  return out + fmt::format("      | {}{}\n", blank, coloured("^", "1;32", colour));
}

}  // namespace

std::string with_source_lines(std::string_view text, const Files& files, bool colour) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto parts = split_message(line);
    if (!parts) {
      out += fmt::format("{}\n", line);
      continue;
    }
    const std::string_view where = parts->location == "<unknown>" || parts->location.empty() ? kProgram : parts->location;
    if (where == kProgram && parts->text.starts_with(kLaunched)) {
      // There is no location: print the program's name instead, then the message.
      parts->text.remove_prefix(kLaunched.size());
      if (!parts->text.starts_with("; ")) continue;
      parts->text.remove_prefix(2);
    }
    const char* code = parts->severity == "error" ? "1;31" : "1;36";
    out +=
        fmt::format("{}: {} {}\n", coloured(where, "1", colour), coloured(fmt::format("{}:", parts->severity), code, colour), parts->text);
    const SourceLocation location = read_location(parts->location);
    if (const auto source = line_of(location, files)) out += excerpt(location, *source, colour);
  }
  return out;
}

std::string message_of(const Error& e) {
  const std::string text = e.what();
  const auto at = text.find(": error: ");
  return at == text.npos ? text : text.substr(at + 9);
}

std::string error_line(std::string_view message, bool colour) {
  return fmt::format("{}: {} {}\n", coloured(kProgram, "1", colour), coloured("error:", "1;31", colour), message);
}

bool stderr_takes_colour() { return isatty(STDERR_FILENO) == 1 && !rt::environment_no_color(); }

}  // namespace tilewright::cli
