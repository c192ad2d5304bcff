// Describes layouts in words and draws them as text grids for a terminal.
#include "tileir/layout/layout_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tileir/layout/element_coordinates.h"
#include "tileir/layout/movement.h"
#include "tileir/layout/swizzle.h"
#include "tileir/text/plural.h"

namespace tilewright::ir {

namespace {

std::string shape(const LinearLayout& l) {
  std::vector<std::int64_t> extents;
  for (const int e : l.log2_extents()) extents.push_back(std::int64_t{1} << e);
  return extents.empty() ? "" : shape_text(extents);
}

/// "register bit 2, lane bits 3 and 4"
std::string free_bits_text(const LinearLayout& l) {
  std::string s;
  for (const HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp, HardwareDim::block}) {
    std::vector<int> bits;
    for (std::uint32_t free = l.free_bits(d); free != 0; free &= free - 1) bits.push_back(std::countr_zero(free));
    if (!bits.empty())
      s += fmt::format("{}{} {} {}", s.empty() ? "" : "; ", text(d), bits.size() == 1 ? "bit" : "bits", fmt::join(bits, ", "));
  }
  return s;
}

constexpr int kColours[] = {153, 223, 157, 218, 189, 229, 159, 181};  // light backgrounds of the 256-colour terminal

/// One grid of `rows` by `columns` cells, each a run of elements.
class Grid {
 public:
  Grid(const LinearLayout& l, bool colour) : layout_(l), coordinates_(l), colour_(colour && !coordinates_.in_memory()) {
    for (std::uint32_t e = 0; e < 1u << l.log2_elements(); e += run()) width_ = std::max(width_, cell(coordinates_(e)).size());
  }

  std::string text() const {
    const int rank = layout_.rank(), across = rank > 0 ? layout_.log2_extents().back() : 0;
    const int down = rank > 1 ? layout_.log2_extents()[static_cast<std::size_t>(rank) - 2] : 0;
    std::string out;
    for (std::uint32_t grid = 0; grid < 1u << layout_.log2_elements(); grid += 1u << (across + down)) {
      if (rank > 2) {
        const std::vector<std::uint32_t> c = layout_.coordinates(grid);
        out += fmt::format("[{}, :, :]\n", fmt::join(c.begin(), c.end() - 2, ", "));
      }
      out += heading(1u << across);
      for (std::uint32_t row = 0; row < 1u << down; ++row) out += line(grid, row, 1u << across);
    }
    return out;
  }

 private:
  std::uint32_t run() const { return 1u << coordinates_.log2_run(); }
  std::string cell(const std::optional<HardwareCoordinate>& p) const { return p ? coordinates_.text(*p, run()) : "-"; }

  std::string heading(std::uint32_t columns) const {
    std::string out = fmt::format("{:5}", "");
    for (std::uint32_t c = 0; c < columns; c += run()) out += fmt::format("  {:<{}}", c, width_);
    return trimmed(out) + "\n";
  }

  std::string line(std::uint32_t grid, std::uint32_t row, std::uint32_t columns) const {
    std::string out = layout_.rank() > 1 ? fmt::format("{:>5}", row) : fmt::format("{:5}", "");
    for (std::uint32_t c = 0; c < columns; c += run()) {
      const std::optional<HardwareCoordinate> p = coordinates_(grid + row * columns + c);
      const std::string padded = fmt::format("{:<{}}", cell(p), width_);
      const std::uint32_t warp = p ? (*p)[static_cast<std::size_t>(HardwareDim::warp)] : 0;
      out += colour_ ? fmt::format("  \033[48;5;{};30m{}\033[0m", kColours[warp % std::size(kColours)], padded) : "  " + padded;
    }
    return trimmed(out) + "\n";
  }

  static std::string trimmed(std::string s) {
    s.resize(s.find_last_not_of(' ') + 1);
    return s;
  }

  const LinearLayout& layout_;
  ElementCoordinates coordinates_;
  bool colour_;
  std::size_t width_ = 1;
};

/// The shared memory accesses of a conversion: "4 accesses of 16 bytes a thread, 4 wavefronts each".
std::string accesses_text(const LinearLayout& l, const LinearLayout& shared, int log2_vector, int bytes, std::uint32_t idle) {
  const SharedAccesses a = shared_accesses(l, shared, log2_vector);
  const int lanes = l.bits(HardwareDim::lane), wavefronts = shared_wavefronts(a.warp_offset(lanes, idle), bytes, log2_vector);
  return fmt::format("{} of {} a thread, {} each (at least {})", a.offsets.size(),
                     plural(static_cast<std::uint64_t>(bytes) << log2_vector, "byte"),
                     plural(static_cast<std::uint64_t>(wavefronts), "wavefront"), least_wavefronts(bytes, log2_vector, lanes));
}

}  // namespace

std::string describe(const LinearLayout& l, Element e) {
  std::string out = fmt::format("{}{}", text(e), shape(l));
  if (l.bits(HardwareDim::offset) > 0)
    return out + fmt::format(" in {} bytes of shared memory\n{}\n", bytes(e) << l.bits(HardwareDim::offset), text(l));
  out += fmt::format(": {} of {}, {} a thread\n{}\n", plural(l.size(HardwareDim::warp), "warp"), plural(l.size(HardwareDim::lane), "lane"),
                     plural(l.size(HardwareDim::reg), "element"), text(l));
  const int run = ElementCoordinates(l).log2_run();
  out +=
      fmt::format("{} in a row a thread ({})\n", plural(1u << run, "element"), plural(static_cast<std::uint64_t>(bytes(e)) << run, "byte"));
  const F2Matrix m = l.matrix();
  const int copies = m.width() - m.rank();
  if (copies > 0) out += fmt::format("each element is held {} times; copies by {}\n", 1u << copies, free_bits_text(l));
  if (!l.is_surjective()) out += fmt::format("only one element in {} is held\n", 1u << (l.log2_elements() - m.rank()));
  return out;
}

std::string draw(const LinearLayout& l, bool colour) { return Grid(l, colour).text(); }

Conversion plan_conversion(const LinearLayout& source, const LinearLayout& destination, Element e) {
  const Movement m = movement(source, destination);
  if (m < Movement::intra_warp) return {fmt::format("{}\n", text(m)), std::nullopt};
  const int bytes = ir::bytes(e);
  const SharedPlan plan = plan_swizzle(source, destination, bytes);
  const auto both_ways = [&](const LinearLayout& shared, int store_vector, int load_vector) {
    return fmt::format("  stores: {}\n  loads:  {}\n",
                       accesses_text(source, shared, store_vector, bytes, source.free_bits(HardwareDim::lane)),
                       accesses_text(destination, shared, load_vector, bytes, 0));
  };
  std::string out = fmt::format("{}{}\nthrough shared memory:\n", text(m), m == Movement::intra_warp ? ": by shuffles, or" : "");
  out += both_ways(plan.shared, plan.log2_store_vector, plan.log2_load_vector);
  LinearLayout rows(source.log2_extents());
  rows.set_bases(HardwareDim::offset, identity_matrix(source.log2_elements()).columns);
  const auto vector = [&](const LinearLayout& l) {
    int k = l.log2_contiguity();
    while (bytes << k > 16) --k;
    return k;
  };
  out += "in row-major order it would be:\n" + both_ways(rows, vector(source), vector(destination));
  return {out, plan.shared};
}

}  // namespace tilewright::ir
