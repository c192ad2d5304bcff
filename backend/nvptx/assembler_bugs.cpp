// Replacements in PTX text: LLVM selects these instructions, so they cannot be avoided earlier.
#include "backend/nvptx/assembler_bugs.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::backend::nvptx {

namespace {

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : s.substr(first, s.find_last_not_of(" \t") + 1 - first);
}

/// The operands between the commas, if there are exactly N of them.
template <std::size_t N>
std::optional<std::array<std::string_view, N>> split(std::string_view operands) {
  std::array<std::string_view, N> parts;
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t comma = operands.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == N)) return std::nullopt;
    parts[i] = trimmed(operands.substr(0, comma));
    operands.remove_prefix(i + 1 == N ? 0 : comma + 1);
  }
  return parts;
}

std::optional<int> number(std::string_view s) {
  int value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

/// The selector of a prmt that takes these bytes of its first operand and repeats their sign (PTX ISA, prmt: bit 3 of a selection).
std::optional<int> selector(int position, int length) {
  constexpr int kSign = 8;
  const int low = position / 8, high = low + length / 8 - 1;
  if (position < 0 || position % 8 != 0 || high > 3) return std::nullopt;
  if (length == 8) return low | (low | kSign) * 0x1110;
  if (length == 16) return low | high << 4 | (high | kSign) * 0x1100;
  return std::nullopt;
}

/// `bfe.s32 d, a, position, length` as a prmt, if it takes whole bytes.
std::optional<std::string> permuted(std::string_view operands) {
  const auto parts = split<4>(operands);
  if (!parts) return std::nullopt;
  const auto position = number((*parts)[2]), length = number((*parts)[3]);
  if (!position || !length || (*length != 8 && *length != 16)) return std::nullopt;
  const auto by = selector(*position, *length);
  if (!by) return std::nullopt;
  return fmt::format("prmt.b32 \t{}, {}, 0, {:#x};", (*parts)[0], (*parts)[1], *by);
}

/// `min.u16 d, a, b`, computed in 32 bits.
std::optional<std::string> widened(std::string_view op, std::string_view operands) {
  const auto parts = split<3>(operands);
  if (!parts) return std::nullopt;
  const char sign = op[4];
  std::string text = "{ .reg .b32 %wide<2>;";
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view from = (*parts)[i + 1];
    if (from.starts_with('%')) {
      text += fmt::format(" cvt.{0}32.{0}16 %wide{1}, {2};", sign, i, from);
      continue;
    }
    // For any instruction, LLVM may write numbers with or without a sign.
    const auto value = number(from);
    if (!value) return std::nullopt;
    text += fmt::format(" mov.b32 %wide{}, {};", i, sign == 'u' ? *value & 0xffff : static_cast<std::int16_t>(*value));
  }
  return text + fmt::format(" {}.{}32 %wide0, %wide0, %wide1; cvt.u16.u32 {}, %wide0; }}", op.substr(0, 3), sign, (*parts)[0]);
}

/// `neg.s16 d, a`, computed in 32 bits.
std::optional<std::string> widened_unary(std::string_view op, std::string_view operands) {
  const auto parts = split<2>(operands);
  if (!parts || !(*parts)[1].starts_with('%')) return std::nullopt;
  const auto [to, from] = *parts;
  return fmt::format("{{ .reg .b32 %wide; cvt.s32.s16 %wide, {}; {}.s32 %wide, %wide; cvt.u16.u32 {}, %wide; }}", from, op.substr(0, 3),
                     to);
}

/// Replaces `op operands;` by the result of `by(operands)`.
template <class By>
void replace_statements(std::string& ptx, std::string_view op, By by) {
  for (std::size_t at = ptx.find(op); at != std::string::npos; at = ptx.find(op, at + 1)) {
    const std::size_t begin = at + op.size(), end = ptx.find(';', begin);
    if (end == std::string::npos) return;
    if (ptx[begin] != ' ' && ptx[begin] != '\t') continue;  // another op whose name ends in this one, such as one on pairs
    if (const std::optional<std::string> text = by(std::string_view(ptx).substr(begin, end - begin))) ptx.replace(at, end + 1 - at, *text);
  }
}

}  // namespace

std::string avoid_assembler_bugs(std::string ptx) {
  replace_statements(ptx, "bfe.s32", permuted);
  for (const std::string_view op : {"min.u16", "min.s16", "max.u16", "max.s16"})
    replace_statements(ptx, op, [op](std::string_view operands) { return widened(op, operands); });
  for (const std::string_view op : {"neg.s16", "abs.s16"})
    replace_statements(ptx, op, [op](std::string_view operands) { return widened_unary(op, operands); });
  return ptx;
}

}  // namespace tilewright::backend::nvptx
