// The inverse of a layout: from elements to hardware coordinates.
#include "tileir/layout/element_coordinates.h"

#include <fmt/format.h>

namespace tilewright::ir {

ElementCoordinates::ElementCoordinates(const LinearLayout& l) {
  const F2Matrix m = l.matrix();
  for (int i = 0; i < m.width(); ++i) span_.insert(m.columns[static_cast<std::size_t>(i)], 1u << i);
  for (int d = 0; d < kHardwareDims; ++d) bits_[static_cast<std::size_t>(d)] = l.bits(HardwareDim(d));
  in_memory_ = l.bits(HardwareDim::offset) > 0;
  LinearLayout as_registers = l;
  if (in_memory_) {
    as_registers.set_bases(HardwareDim::reg, l.bases(HardwareDim::offset));
    as_registers.set_bases(HardwareDim::offset, {});
  }
  log2_run_ = std::min(as_registers.log2_contiguity(), l.rank() == 0 ? 0 : l.log2_extents().back());
}

std::optional<HardwareCoordinate> ElementCoordinates::operator()(std::uint32_t flat) const {
  const F2Span::Remainder r = span_.reduce(flat);
  if (r.value != 0) return std::nullopt;
  HardwareCoordinate coordinate{};
  std::uint32_t rest = r.inputs;
  for (std::size_t d = 0; d < coordinate.size(); ++d) {
    coordinate[d] = rest & ((1u << bits_[d]) - 1);
    rest >>= bits_[d];
  }
  return coordinate;
}

std::string ElementCoordinates::text(const HardwareCoordinate& coordinate, std::uint32_t length) const {
  const auto run = [&](HardwareDim d) {
    const std::uint32_t first = coordinate[static_cast<std::size_t>(d)];
    return length == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + length - 1);
  };
  if (in_memory_) return run(HardwareDim::offset);
  std::string s;
  const auto add = [&](char letter, HardwareDim d, const std::string& number) {
    if (bits_[static_cast<std::size_t>(d)] > 0) s += fmt::format("{}{}{}", s.empty() ? "" : " ", letter, number);
  };
  const auto number = [&](HardwareDim d) { return fmt::format("{}", coordinate[static_cast<std::size_t>(d)]); };
  add('b', HardwareDim::block, number(HardwareDim::block));
  add('w', HardwareDim::warp, number(HardwareDim::warp));
  add('l', HardwareDim::lane, number(HardwareDim::lane));
  add('r', HardwareDim::reg, run(HardwareDim::reg));
  return s;
}

}  // namespace tilewright::ir
