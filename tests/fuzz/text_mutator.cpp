// Mutates the text of tile IR: deletes, copies and swaps lines, and replaces tokens by others of their kind.
#include "tests/fuzz/text_mutator.h"

#include <utility>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::fuzz {

namespace {

bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Bytes [begin, end) of a text. A value is a name with %, a word an identifier; other: a single sign.
struct Token {
  enum Kind { value, number, word, other } kind;
  std::size_t begin, end;
};

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char c = text[i++];
    if (c == ' ' || c == '\n') continue;
    const bool named = is_word_char(c) || c == '%' || c == '-';
    while (named && i < text.size() && (is_word_char(text[i]) || (text[i] == '.' && c != '%'))) ++i;
    const bool digit = (c >= '0' && c <= '9') || c == '-';
    tokens.push_back({!named ? Token::other : c == '%' ? Token::value : digit ? Token::number : Token::word, begin, i});
  }
  return tokens;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i ? "\n" : "") + lines[i];
  return text;
}

std::string change_lines(std::string_view text, Random& r) {
  std::vector<std::string> lines = lines_of(text);
  const std::size_t i = r.below(lines.size()), k = r.below(lines.size());
  switch (r.below(3)) {
    case 0: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i)); break;
    case 1: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), std::string(lines[k])); break;
    default: std::swap(lines[i], lines[k]); break;
  }
  return joined(lines);
}

/// A number at an edge of what the parser and the verifier accept: small extents, limits of the integer types and one beyond, floats, and
/// "0x", which is ill-formed.
std::string number(Random& r) {
  constexpr std::string_view kNumbers[] = {"0",
                                           "1",
                                           "-1",
                                           "2",
                                           "3",
                                           "4",
                                           "8",
                                           "16",
                                           "32",
                                           "64",
                                           "1024",
                                           "1048576",
                                           "2147483648",
                                           "-2",
                                           "0x",
                                           "255",
                                           "127",
                                           "inf",
                                           "nan",
                                           "-2147483648",
                                           "1.5",
                                           "5",
                                           "1e9",
                                           "0x7f",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "18446744073709551615",
                                           "99999999999999999999"};
  return std::string(r.pick(kNumbers));
}

std::string change_token(std::string_view text, Random& r) {
  const std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return std::string(text);
  const Token at = r.pick(tokens);
  std::string to;
  if (at.kind == Token::number && r.chance(60)) {
    to = number(r);
  } else if (at.kind == Token::word && r.chance(60)) {
    to = r.pick(vocabulary());
  } else {
    // Another token of this kind from the same text; of any kind, if 8 further draws find none.
    Token from = r.pick(tokens);
    for (int i = 0; i < 8 && from.kind != at.kind; ++i) from = r.pick(tokens);
    to = text.substr(from.begin, from.end - from.begin);
  }
  if (r.chance(5)) to.clear();
  return std::string(text.substr(0, at.begin)) + to + std::string(text.substr(at.end));
}

}  // namespace

const std::vector<std::string>& vocabulary() {
  static const auto words = [] {
    std::vector<std::string> v{"kernel", "ptr", "const", "divisible_by", "true", "false", "inf", "nan"};
    for (ir::OpKind k : ir::all_ops()) {
      v.emplace_back(text(k));
      for (const ir::AttrInfo& a : ir::info(k).attributes) {
        v.emplace_back(text(a.name));
        if (kind(a.name) == ir::AttrKind::symbol)
          for (std::string_view s : ir::symbols(a.name)) v.emplace_back(s);
      }
    }
    for (int e = 0; e < ir::kElementCount; ++e) v.emplace_back(text(static_cast<ir::Element>(e)));
    return v;
  }();
  return words;
}

std::string mutate_text(std::string_view text, Random& r) {
  std::string out(text);
  for (std::size_t n = 1 + r.below(4); n > 0; --n) out = r.chance(30) ? change_lines(out, r) : change_token(out, r);
  return out;
}

}  // namespace tilewright::fuzz
