// Linear layouts: queries, the layouts that shape ops produce, and the algebra.
#include "tileir/layout/linear_layout.h"

#include <bit>

#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {

/// A field of bits of a flat index, and its position in another flat index.
struct Field {
  int from, bits, to;
};

std::uint32_t moved(std::uint32_t flat, std::span<const Field> fields) {
  std::uint32_t result = 0;
  for (const Field& f : fields) result |= (flat >> f.from & ((1u << f.bits) - 1)) << f.to;
  return result;
}

/// The bases of `from` for other extents; bits outside of all fields are dropped.
LinearLayout with_fields(const LinearLayout& from, std::vector<int> log2_extents, std::span<const Field> fields) {
  LinearLayout result(std::move(log2_extents));
  for (int d = 0; d < kHardwareDims; ++d) {
    std::vector<std::uint32_t> bases = from.bases(HardwareDim(d));
    for (std::uint32_t& b : bases) b = moved(b, fields);
    result.set_bases(HardwareDim(d), std::move(bases));
  }
  return result;
}

/// The bits of `part` as fields of `whole`, axis by axis; on axis a they start at bit above[a].
std::vector<Field> axes_within(const LinearLayout& part, const LinearLayout& whole, std::span<const int> above) {
  std::vector<Field> fields;
  for (int a = 0; a < part.rank(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    fields.push_back({part.axis_shift(a), part.log2_extents()[i], whole.axis_shift(a) + (above.empty() ? 0 : above[i])});
  }
  return fields;
}

int sum(std::span<const int> v) {
  int s = 0;
  for (const int x : v) s += x;
  return s;
}

}  // namespace

std::string_view text(HardwareDim d) {
  constexpr std::string_view kNames[] = {"register", "lane", "warp", "block", "offset"};
  return kNames[static_cast<int>(d)];
}

int LinearLayout::log2_elements() const { return sum(log2_extents_); }

std::uint32_t LinearLayout::apply(HardwareDim d, std::uint32_t x) const {
  const std::vector<std::uint32_t>& b = bases(d);
  std::uint32_t flat = 0;
  for (; x != 0; x &= x - 1) flat ^= b[static_cast<std::size_t>(std::countr_zero(x))];
  return flat;
}

std::uint32_t LinearLayout::operator()(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const {
  return apply(HardwareDim::reg, reg) ^ apply(HardwareDim::lane, lane) ^ apply(HardwareDim::warp, warp);
}

F2Matrix LinearLayout::matrix() const {
  F2Matrix m;
  std::size_t width = 0;
  for (const auto& b : bases_) width += b.size();
  m.columns.reserve(width);
  for (const auto& b : bases_) m.columns.insert(m.columns.end(), b.begin(), b.end());
  return m;
}

int LinearLayout::axis_shift(int axis) const { return sum(std::span(log2_extents_).subspan(static_cast<std::size_t>(axis) + 1)); }

std::uint32_t LinearLayout::axis_mask(int axis) const {
  return ((1u << log2_extents_[static_cast<std::size_t>(axis)]) - 1) << axis_shift(axis);
}

std::vector<std::uint32_t> LinearLayout::coordinates(std::uint32_t flat) const {
  std::vector<std::uint32_t> c(log2_extents_.size());
  for (std::size_t a = c.size(); a-- > 0;) {
    c[a] = flat & ((1u << log2_extents_[a]) - 1);
    flat >>= log2_extents_[a];
  }
  return c;
}

std::uint32_t LinearLayout::flat(std::span<const std::uint32_t> coordinates) const {
  std::uint32_t flat = 0;
  for (std::size_t a = 0; a < log2_extents_.size(); ++a) flat = flat << log2_extents_[a] | coordinates[a];
  return flat;
}

bool LinearLayout::is_surjective() const { return matrix().rank() == log2_elements(); }
bool LinearLayout::is_injective() const { return matrix().dependent_columns() == 0; }

std::uint32_t LinearLayout::free_bits(HardwareDim d) const {
  int below = 0;
  for (int i = 0; i < static_cast<int>(d); ++i) below += bits(HardwareDim(i));
  return matrix().dependent_columns() >> below & (size(d) - 1);
}

int LinearLayout::log2_contiguity() const {
  const std::vector<std::uint32_t>& reg = bases(HardwareDim::reg);
  std::uint32_t others = 0;
  for (int d = 1; d < kHardwareDims; ++d)
    for (const std::uint32_t b : bases(HardwareDim(d))) others |= b;
  const int elements = log2_elements();
  int k = 0;
  while (k < static_cast<int>(reg.size()) && k < elements && reg[static_cast<std::size_t>(k)] == 1u << k) ++k;
  for (;; --k) {
    std::uint32_t above = others;
    for (std::size_t i = static_cast<std::size_t>(k); i < reg.size(); ++i) above |= reg[i];
    if ((above & ((1u << k) - 1)) == 0) return k;
  }
}

LinearLayout LinearLayout::reshaped(std::vector<int> log2_extents) const {
  TW_CHECK(sum(log2_extents) == log2_elements(), "reshape keeps the number of elements");
  LinearLayout result = *this;
  result.log2_extents_ = std::move(log2_extents);
  return result;
}

LinearLayout LinearLayout::permuted(std::span<const std::int64_t> axes) const {
  TW_CHECK(static_cast<int>(axes.size()) == rank(), "permute names every axis");
  std::vector<int> extents;
  for (const std::int64_t a : axes) extents.push_back(log2_extents_[static_cast<std::size_t>(a)]);
  std::vector<Field> fields;
  int to = log2_elements();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    to -= extents[i];
    fields.push_back({axis_shift(static_cast<int>(axes[i])), extents[i], to});
  }
  return with_fields(*this, std::move(extents), fields);
}

LinearLayout LinearLayout::narrowed(std::vector<int> log2_extents) const {
  std::vector<Field> fields;
  if (!log2_extents.empty()) {  // otherwise the operand is a scalar
    TW_CHECK(log2_extents.size() == log2_extents_.size(), "broadcast keeps the number of axes");
    const LinearLayout narrow(log2_extents);
    for (int a = 0; a < rank(); ++a) {
      const int extent = log2_extents[static_cast<std::size_t>(a)];
      TW_CHECK(extent == 0 || extent == log2_extents_[static_cast<std::size_t>(a)], "broadcast repeats extents of 1");
      fields.push_back({axis_shift(a), extent, narrow.axis_shift(a)});
    }
  }
  return with_fields(*this, std::move(log2_extents), fields);
}

LinearLayout LinearLayout::without_axis(int axis) const {
  std::vector<int> extents = log2_extents_;
  extents.erase(extents.begin() + axis);
  const int shift = axis_shift(axis), above = shift + log2_extents_[static_cast<std::size_t>(axis)];
  const Field fields[] = {{0, shift, 0}, {above, log2_elements() - above, shift}};
  return with_fields(*this, std::move(extents), fields);
}

LinearLayout LinearLayout::without_free_registers() const {
  const std::uint32_t free = free_bits(HardwareDim::reg);
  std::vector<std::uint32_t> kept;
  for (int i = 0; i < bits(HardwareDim::reg); ++i)
    if ((free >> i & 1) == 0) kept.push_back(bases(HardwareDim::reg)[static_cast<std::size_t>(i)]);
  LinearLayout result = *this;
  result.set_bases(HardwareDim::reg, std::move(kept));
  return result;
}

LinearLayout LinearLayout::operator*(const LinearLayout& outer) const {
  TW_CHECK(rank() == outer.rank(), "the layouts of a direct sum have the same number of axes");
  std::vector<int> extents = log2_extents_;
  for (std::size_t a = 0; a < extents.size(); ++a) extents[a] += outer.log2_extents_[a];
  LinearLayout result(std::move(extents));
  const std::vector<Field> low = axes_within(*this, result, {}), high = axes_within(outer, result, log2_extents_);
  for (int d = 0; d < kHardwareDims; ++d) {
    for (const std::uint32_t b : bases(HardwareDim(d))) result.add_basis(HardwareDim(d), moved(b, low));
    for (const std::uint32_t b : outer.bases(HardwareDim(d))) result.add_basis(HardwareDim(d), moved(b, high));
  }
  return result;
}

std::optional<LinearLayout> LinearLayout::divided_by(const LinearLayout& inner) const {
  if (rank() != inner.rank()) return std::nullopt;
  std::vector<int> extents = log2_extents_;
  for (std::size_t a = 0; a < extents.size(); ++a) {
    extents[a] -= inner.log2_extents_[a];
    if (extents[a] < 0) return std::nullopt;
  }
  LinearLayout outer(std::move(extents));
  const std::vector<Field> low = axes_within(inner, *this, {});
  std::vector<Field> high = axes_within(outer, *this, inner.log2_extents_);
  for (Field& f : high) std::swap(f.from, f.to);
  const std::uint32_t low_mask = moved(static_cast<std::uint32_t>((std::uint64_t{1} << inner.log2_elements()) - 1), low);
  for (int d = 0; d < kHardwareDims; ++d) {
    const std::vector<std::uint32_t>&all = bases(HardwareDim(d)), &first = inner.bases(HardwareDim(d));
    if (first.size() > all.size()) return std::nullopt;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < first.size() ? all[i] != moved(first[i], low) : (all[i] & low_mask) != 0) return std::nullopt;
      if (i >= first.size()) outer.add_basis(HardwareDim(d), moved(all[i], high));
    }
  }
  return outer;
}

LinearLayout LinearLayout::sublayout(std::span<const HardwareDim> dims) const {
  LinearLayout result(log2_extents_);
  for (const HardwareDim d : dims) result.set_bases(d, bases(d));
  return result;
}

F2Matrix conversion(const LinearLayout& source, const LinearLayout& destination) {
  TW_CHECK(source.log2_extents() == destination.log2_extents(), "a conversion keeps the extents");
  std::optional<F2Matrix> m = source.matrix().solve(destination.matrix());
  TW_CHECK(m, "the source of a conversion holds every element");
  return *std::move(m);
}

F2Matrix nearest_conversion(const LinearLayout& source, const LinearLayout& destination) {
  F2Matrix m = conversion(source, destination);
  // The coordinates of two copies differ by a sum of these vectors. In echelon form each has a different leading bit, as high as possible:
  // block bits first, then warp bits, then lane bits.
  std::vector<std::uint32_t> copies = source.matrix().kernel();
  if (copies.empty()) return m;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    for (std::size_t j = i + 1; j < copies.size(); ++j)
      if (std::bit_width(copies[j]) > std::bit_width(copies[i])) std::swap(copies[i], copies[j]);
    for (std::size_t j = i + 1; j < copies.size(); ++j)
      if (std::bit_width(copies[j]) == std::bit_width(copies[i])) copies[j] ^= copies[i];
  }
  std::size_t column = 0;
  int source_bit = 0;
  for (int d = 0; d < kHardwareDims; ++d) {
    for (int i = 0; i < destination.bits(HardwareDim(d)); ++i, ++column) {
      // Any register of that thread will do: only the bits of the other dimensions are matched.
      const bool matters = HardwareDim(d) != HardwareDim::reg && i < source.bits(HardwareDim(d));
      const std::uint32_t wanted = matters ? 1u << (source_bit + i) : 0;
      for (const std::uint32_t copy : copies)
        if (((m.columns[column] ^ wanted) >> (std::bit_width(copy) - 1) & 1) != 0) m.columns[column] ^= copy;
    }
    source_bit += source.bits(HardwareDim(d));
  }
  return m;
}

std::vector<int> log2_extents(const Type& t) {
  std::vector<int> extents(static_cast<std::size_t>(t.rank()));
  for (int a = 0; a < t.rank(); ++a) extents[static_cast<std::size_t>(a)] = t.log2_extent(a);
  return extents;
}

}  // namespace tilewright::ir
