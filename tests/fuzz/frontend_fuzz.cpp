// Traces and compiles one random kernel, and classifies the outcome.
#include "tests/fuzz/frontend_fuzz.h"

#include <algorithm>
#include <exception>

namespace tilewright::fuzz {

namespace {
constexpr std::size_t kPool = 24;
/// Handles of earlier traces: using one is an error, and nothing worse.
std::vector<AnyTile>& stale() {
  static std::vector<AnyTile> handles;
  return handles;
}
}  // namespace

const std::vector<Caller::Step>& Caller::steps() {
  // As often as a kernel has them, roughly.
  static const std::vector<Step> all = {
      &Caller::create,  &Caller::create, &Caller::create, &Caller::reshape, &Caller::reshape, &Caller::unary,
      &Caller::unary,   &Caller::binary, &Caller::binary, &Caller::binary,  &Caller::convert, &Caller::combine,
      &Caller::combine, &Caller::choose, &Caller::memory, &Caller::memory,  &Caller::atomics, &Caller::products,
      &Caller::speak,   &Caller::draw,   &Caller::forget, &Caller::loop,    &Caller::branch,
  };
  return all;
}

std::int64_t Caller::extent() {
  constexpr std::int64_t kOdd[] = {0, -1, 3, 1 << 20, 1 << 21, INT32_MAX, INT64_MIN};
  return r_.chance(96) ? std::int64_t{1} << r_.below(5) : r_.pick(kOdd);
}

Shape Caller::shape() {
  Shape s;
  for (std::size_t n = r_.chance(95) ? r_.below(3) : r_.below(7); n > 0; --n) s.push_back(extent());
  return s;
}

void Caller::put(AnyTile tile) {
  if (pool_.size() < kPool)
    pool_.push_back(std::move(tile));
  else
    any() = std::move(tile);  // a tile of the same type: an assignment to that variable
}

void Caller::step() { (this->*r_.pick(steps()))(); }

void Caller::some_steps(std::int64_t most) {
  for (std::int64_t n = r_.between(0, most); n > 0; --n) step();
}

void Caller::trace(Ptr<float> x, Ptr<const std::int32_t> y, I32 n) {
  pool_ = {x, y, n};
  if (!stale().empty() && r_.chance(10)) pool_.push_back(r_.pick(stale()));
  for (int i = 0; i < 6; ++i) create();
  attempt([&] { put(x + arange(0, 8)); });
  attempt([&] { put(y + arange(0, 8)); });
  for (std::int64_t steps = r_.between(5, 25); steps > 0; --steps) step();
  if (r_.chance(5)) stale() = pool_;
}

bool Caller::expected(const Error& e) const {
  // One of the calls, or a line of the body of a loop or branch, which begins at one.
  constexpr int kLinesOfABody = 8;
  return std::any_of(calls_.begin(), calls_.end(), [&](const std::source_location& at) {
    const int line = static_cast<int>(at.line());
    return e.where().file == at.file_name() && e.where().line >= line && e.where().line <= line + kLinesOfABody;
  });
}

void fuzz_one_kernel(std::uint64_t seed, Tally& tally) {
  Caller caller(seed, tally);
  const Kernel<void(Ptr<float>, Ptr<const std::int32_t>, I32)> kernel(
      "chaos", [&](Ptr<float> x, Ptr<const std::int32_t> y, I32 n) { caller.trace(x, y, n); });
  const int line = __LINE__ + 3;
  try {
    ++tally.kernels;
    kernel.compile("cpu", {.check = seed % 3 == 0}, pointer<float>(), pointer<const std::int32_t>(), scalar<std::int32_t>());
    ++tally.compiled;
  } catch (const Error& e) {
    const bool here = e.where().file == __FILE__ && e.where().line == line;
    const std::string place = e.where().file + ":" + std::to_string(e.where().line) + ":";
    if ((!here && !caller.expected(e)) || !std::string_view(e.what()).starts_with(place))
      if (!tally.diagnostic) tally.diagnostic = std::string("an error of no call: ") + e.what();
  } catch (const std::exception& e) {
    if (!tally.diagnostic) tally.diagnostic = std::string("an exception that is not an Error: ") + e.what();
  }
  if (tally.diagnostic) tally.diagnostic = "seed " + std::to_string(seed) + ": " + *tally.diagnostic;
}

}  // namespace tilewright::fuzz
