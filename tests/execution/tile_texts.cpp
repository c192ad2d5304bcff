// Prints layouts as the parser reads them.
#include "tests/execution/tile_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "tileir/layout/canonical_buffer.h"
#include "tileir/layout/linear_layout.h"

namespace tilewright::test {

namespace {

using ir::HardwareDim;
using ir::LinearLayout;

std::vector<int> log2_of(const std::vector<int>& extents) {
  std::vector<int> logarithms;
  for (int n : extents) logarithms.push_back(std::countr_zero(static_cast<unsigned>(n)));
  return logarithms;
}

/// "[[0, 1], [0, 2]]"
std::string bases(const LinearLayout& l, HardwareDim d) {
  std::string list;
  for (std::uint32_t basis : l.bases(d)) list += fmt::format("{}[{}]", list.empty() ? "" : ", ", fmt::join(l.coordinates(basis), ", "));
  return "[" + list + "]";
}

}  // namespace

std::string layout_over_threads(int number, const std::vector<int>& extents) {
  const std::vector<int> log2_extents = log2_of(extents);
  int bits = 0;
  for (int n : log2_extents) bits += n;
  LinearLayout l(log2_extents);
  for (int i = 7; i < bits; ++i) l.add_basis(HardwareDim::reg, 1u << i);
  for (int i = 0; i < 5; ++i) l.add_basis(HardwareDim::lane, 1u << i);
  for (int i = 5; i < 7; ++i) l.add_basis(HardwareDim::warp, 1u << i);
  return fmt::format("  layout #{} [{}] {{register = {}, lane = {}, warp = {}}}\n", number, fmt::join(extents, ", "),
                     bases(l, HardwareDim::reg), bases(l, HardwareDim::lane), bases(l, HardwareDim::warp));
}

std::string layout_of_buffer(int number, const BufferedTile& t) {
  const LinearLayout l = ir::canonical_buffer(log2_of({t.rows, t.columns}), 1, ir::bytes(t.element), t.slab_bytes);
  return fmt::format("  layout #{} [{}, {}] {{offset = {}}}\n", number, t.rows, t.columns, bases(l, HardwareDim::offset));
}

std::string replaced(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [from, to] : words)
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

}  // namespace tilewright::test
