// Chooses values of the symbols, and draws the elements of tensors.
#include "passes/fusion/check/sample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "passes/fusion/check/field.h"
#include "passes/fusion/check/named_positions.h"
#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

namespace {

bool is_possible(const graph::Graph& g, const std::vector<std::int64_t>& symbols) {
  const auto is_positive = [&](const Dim& d) { return d == Dim(0) || d.evaluate(symbols).value_or(0) >= 1; };
  const std::vector<bool> needed = g.needed_nodes();
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (needed[i] && !std::all_of(g.node({i}).shape.begin(), g.node({i}).shape.end(), is_positive)) return false;
  return true;
}

// The value within the bounds of a symbol that is nearest to the wanted value.
std::int64_t bounded(const DimBounds& bounds, std::int64_t wanted) {
  const std::int64_t step = bounds.multiple_of, least = (std::max<std::int64_t>(bounds.min, 1) + step - 1) / step * step;
  return std::max(std::min(wanted, bounds.max) / step * step, least);
}

}  // namespace

std::optional<Sample> Sample::make(const graph::Graph& g, Draw draw, std::uint64_t seed) {
  Sample s;
  s.draw_ = draw;
  s.seed_ = seed;
  const SymbolTable& table = *g.symbols();
  // Values with many divisors make quotients of symbols integers, and values next to these make quotients of n - 1 and n + 1 integers.
  // Each base is tried with six lists of factors, so that extents which are differences of symbols are positive for one of them.
  constexpr std::int64_t kGeneric[] = {840, 120, 60, 24, 12, 6, 4, 2, 1}, kSpecial[] = {1, 2, 4, 6, 12, 24, 60, 120, 840};
  for (const std::int64_t distance : {0, 1, -1})
    for (const std::int64_t base : draw == Draw::special ? kSpecial : kGeneric)
      for (int list = 0; list < 6; ++list) {
        s.symbols_.clear();
        for (std::uint32_t i = 0; i < table.size(); ++i) {
          const std::int64_t factors[] = {
              1, i + 1, static_cast<std::int64_t>(table.size() - i), (i + 1) % 2 + 1, i % 2 + 1, std::int64_t{1} << std::min(i, 8u)};
          s.symbols_.push_back(bounded(table[i].bounds, base * factors[list] + distance));
        }
        if (!is_possible(g, s.symbols_)) continue;
        for (std::uint32_t i = 0; i < g.size(); ++i) {
          std::vector<std::int64_t>& shape = s.shapes_.emplace_back();
          for (const Dim& d : g.node({i}).shape) shape.push_back(s.value(d));
        }
        const auto extent = [&](const Dim& d) { return s.value(d); };
        for (const int most : {2, 3}) s.named_[static_cast<std::size_t>(most - 2)] = named_positions(g, s.shapes_, extent, most);
        if (const std::optional<RelatedIndices> related = related_indices(g, extent))
          s.relations_.emplace(related->distances, related->extents);
        return s;
      }
  return std::nullopt;
}

std::int64_t Sample::value(const Dim& d) const { return d.is_constant() ? d.value() : d.evaluate(symbols_).value_or(1); }

AxisPositions Sample::positions(std::int64_t n) const {
  AxisPositions all;
  if (n == 0) return all;
  const std::int64_t first = std::min<std::int64_t>(n, most_) - 1;
  for (std::int64_t i = 0; i < first; ++i) all.push_back({i, 1});
  const std::vector<std::int64_t>& names = named();
  const auto end = std::lower_bound(names.begin(), names.end(), n);
  // The last position without a name represents those without a name.
  std::int64_t last = n - 1;
  for (auto name = end; name != names.begin() && *(name - 1) == last; --name) --last;
  const std::int64_t represented = n - first - (end - names.begin());
  for (auto name = names.begin(); name != end && *name < last; ++name) all.push_back({*name, 1});
  if (represented > 0) all.push_back({last, represented});
  for (auto name = std::lower_bound(names.begin(), end, last); name != end; ++name) all.push_back({*name, 1});
  return all;
}

std::vector<SampledPosition> positions_of_parts(std::span<const SampledPosition> outer, std::span<const SampledPosition> inner,
                                                std::int64_t inner_extent) {
  std::vector<SampledPosition> all;
  for (const SampledPosition& o : outer)
    for (const SampledPosition& i : inner) all.push_back({o.position * inner_extent + i.position, o.weight * i.weight});
  return all;
}

std::vector<SampledPosition> Sample::positions(const AtomList& given, bool by_pieces) const {
  std::vector<SampledPosition> all{{0, 1}};
  for (Atom* atom : graph::flat(given)) {
    std::vector<SampledPosition> own;
    const std::int64_t extent = value(atom->extent);
    if (atom->pieces.empty() || !by_pieces)
      for (const SampledPosition& p : positions(extent)) own.push_back(p);
    for (const Atom::Piece& piece : by_pieces ? atom->pieces : std::vector<Atom::Piece>())
      for (const SampledPosition& p : positions(piece.atoms, false)) own.push_back({value(piece.begin) + p.position, p.weight});
    all = positions_of_parts(all, own, extent);
  }
  return all;
}

Number Sample::element(std::uint64_t name, ir::Element e, const Coordinates& position) const {
  std::uint64_t row = mix(seed_, name);
  for (std::size_t i = 0; i + 1 < position.size(); ++i) row = mix(row, static_cast<std::uint64_t>(position[i]));
  const std::uint64_t h = position.empty() ? row : mix(row, static_cast<std::uint64_t>(position.back()));
  if (e == ir::Element::boolean) {
    // In a special draw, a condition of several rows holds nowhere in the second row, whatever the seed is: a mask then hides a whole row.
    const bool is_second = position.size() > 1 && position[position.size() - 2] == 1;
    const std::uint64_t of_row = is_second ? 0 : mix(row, 1) % 4;
    const bool is_random = draw_ != Draw::special || of_row > 1;
    return {is_random ? static_cast<long double>(h % 2) : static_cast<long double>(of_row)};
  }
  // An index is one of the positions that sums visit.
  if (ir::is_integer(e)) return {static_cast<long double>(h % static_cast<std::uint64_t>(most_ - 1))};
  constexpr long double kSpecial[] = {0, 0, 0, 1, -1, 0.5L, -2, 1};
  if (draw_ == Draw::special && h % 2 == 0) return {kSpecial[h / 2 % 8]};
  // 20 bits, which every float type except the narrowest holds exactly: from 1/4 to 2, with both signs.
  const long double magnitude = 0.25L + static_cast<long double>(h >> 44) * 0x1.cp-20L;
  if (draw_ == Draw::small) return {magnitude * 0x1p-8L};
  return {h / 16 % 2 == 0 ? magnitude : -magnitude};
}

Number Sample::uniform(std::uint64_t seed, const Number& counter) const {
  if (counter.error != 0) return Number::unknown();
  return {static_cast<long double>(mix(seed, static_cast<std::uint64_t>(static_cast<std::int64_t>(counter.value))) >> 40) * 0x1p-24L};
}

}  // namespace tilewright::passes::fusion
