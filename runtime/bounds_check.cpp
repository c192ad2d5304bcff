// Checks the accesses of one launch against the live buffers, and writes the error message.
#include "runtime/bounds_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/violation.h"
#include "tileir/text/plural.h"

namespace tilewright::rt {

namespace {

// Addresses below this are reported as an offset from a null pointer, not as an index into the lowest buffer.
constexpr std::uint64_t kNullArea = std::uint64_t{1} << 20;

std::uint64_t distance(const Region& r, std::uint64_t address) {
  if (address < r.begin) return r.begin - address;
  return address < r.end() ? 0 : address - r.end();
}

bool points_into(std::uint64_t argument, const Region& r) { return argument >= r.begin && argument <= r.end(); }

// The buffer from which the address was computed, if known; else the nearest buffer among the launch's arguments, since in a dense heap an
// unrelated buffer may be nearer.
const Region* measured_from(std::uint64_t address, std::optional<std::uint64_t> origin, std::span<const Region> live,
                            std::span<const std::uint64_t> arguments) {
  const auto rank = [&](const Region& r) {
    if (origin && points_into(*origin, r)) return 2;
    return std::any_of(arguments.begin(), arguments.end(), [&](std::uint64_t a) { return points_into(a, r); }) ? 1 : 0;
  };
  const Region* best = nullptr;
  int best_rank = 0;
  for (const Region& r : live) {
    const int n = rank(r);
    if (best && (n < best_rank || (n == best_rank && distance(r, address) >= distance(*best, address)))) continue;
    best = &r;
    best_rank = n;
  }
  return best;
}

// On a cpu only atomics must be aligned: an atomic that crosses cache lines is slow on some processors and an error on others.
bool is_misaligned(std::uint64_t address, const backend::AccessSite& site) {
  return site.needs_alignment && address % static_cast<std::uint64_t>(site.element_bytes) != 0;
}

}  // namespace

std::string describe_bad_access(std::uint64_t address, const backend::AccessSite& site, std::span<const Region> live,
                                std::span<const std::uint64_t> arguments) {
  const std::string access = fmt::format("{} of {}",
                                         site.is_atomic  ? "atomic access"
                                         : site.is_store ? "store"
                                                         : "load",
                                         ir::plural(site.element_bytes, "byte"));
  if (is_misaligned(address, site))
    return fmt::format("{} at address {:#x}, which is not a multiple of {}", access, address, site.element_bytes);
  std::optional<std::uint64_t> origin;
  if (site.parameter >= 0) origin = arguments[static_cast<std::size_t>(site.parameter)];
  if (address < kNullArea || -address < kNullArea || origin == 0)
    return fmt::format("{} at address {:#x}, {} bytes from a null pointer", access, address, static_cast<std::int64_t>(address));
  const Region* r = measured_from(address, origin, live, arguments);
  if (!r) return fmt::format("{} at address {:#x}, and there is no buffer on this device", access, address);
  const auto width = static_cast<std::uint64_t>(r->element_bytes);
  std::int64_t index;
  std::string far;
  if (address < r->begin) {
    const std::uint64_t before = (r->begin - address + width - 1) / width;
    index = -static_cast<std::int64_t>(before);
    far = ir::plural(before, "element") + " before its beginning";
  } else if (address < r->end()) {
    index = static_cast<std::int64_t>((address - r->begin) / width);
    far = fmt::format("its last {} past the end", ir::plural(address + site.element_bytes - r->end(), "byte"));
  } else {
    const std::uint64_t past = (address - r->end()) / width;
    index = r->elements + static_cast<std::int64_t>(past);
    far = past == 0 ? "the first element past its end" : ir::plural(past, "element") + " past its end";
  }
  return fmt::format("{} at index {} of a buffer of {} {} element{} ({})", access, index, r->elements, r->element,
                     r->elements == 1 ? "" : "s", far);
}

BoundsCheck::BoundsCheck(std::vector<Region> live, std::span<const backend::AccessSite> sites) : live_(std::move(live)), sites_(sites) {
  for (const Region& r : live_) {
    if (r.bytes == 0) continue;
    // Only overlapping regions are merged. If two buffers are adjacent, an element that is partly in each is out of bounds.
    if (!intervals_.empty() && r.begin < intervals_.back().end)
      intervals_.back().end = std::max(intervals_.back().end, r.end());
    else
      intervals_.push_back({r.begin, r.end()});
  }
}

const BoundsCheck::Interval* BoundsCheck::find(std::uint64_t address, std::uint64_t bytes) const {
  auto after =
      std::upper_bound(intervals_.begin(), intervals_.end(), address, [](std::uint64_t a, const Interval& i) { return a < i.begin; });
  if (after == intervals_.begin()) return nullptr;
  const Interval& i = *std::prev(after);
  return address < i.end && i.end - address >= bytes ? &i : nullptr;
}

std::vector<BoundsCheck::Interval> BoundsCheck::intervals(std::span<const std::uint64_t> arguments) const {
  const auto is_argument = [&](const Interval& i) {
    return std::any_of(arguments.begin(), arguments.end(), [&](std::uint64_t a) { return a >= i.begin && a < i.end; });
  };
  std::vector<Interval> all, others;
  std::partition_copy(intervals_.begin(), intervals_.end(), std::back_inserter(all), std::back_inserter(others), is_argument);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

void BoundsCheck::add(std::int32_t site, std::uint64_t lowest_address, std::int64_t count) {
  const Failure failure{site, lowest_address};
  std::lock_guard lock(mutex_);
  if (!first_ || failure < *first_) first_ = failure;
  failures_ += count;
}

void BoundsCheck::check(void* context, const std::uint64_t* addresses, std::uint8_t* active, std::int32_t lanes, std::int32_t site) {
  auto& self = *static_cast<BoundsCheck*>(context);
  const auto bytes = static_cast<std::uint64_t>(self.sites_[site].element_bytes);
  const Interval* hit = nullptr;  // the interval of the previous lane; usually all lanes of a tile access one buffer
  for (std::int32_t i = 0; i < lanes; ++i) {
    if (!active[i]) continue;
    const std::uint64_t a = addresses[i];
    const bool is_aligned = !is_misaligned(a, self.sites_[site]);
    if (is_aligned && hit && a >= hit->begin && a < hit->end && hit->end - a >= bytes) continue;
    if (const Interval* found = is_aligned ? self.find(a, bytes) : nullptr) {
      hit = found;
      continue;
    }
    active[i] = 0;
    self.add(site, a, 1);
  }
}

void BoundsCheck::report(std::span<const std::uint64_t> arguments, const Here& launched) const {
  if (!first_) return;
  const backend::AccessSite& site = sites_[first_->site];
  std::string launch_note = "launched here";
  if (failures_ > 1)
    launch_note += fmt::format("; {} accesses in all were outside of every buffer{}", failures_,
                               site.is_atomic || is_misaligned(first_->address, site) ? " or misaligned" : "");
  throw violation(site.where, describe_bad_access(first_->address, site, live_, arguments), launched, launch_note);
}

}  // namespace tilewright::rt
