// frontend_fuzz: random wrong kernels through the public interface, with a correct one between them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "tests/fuzz/campaign.h"
#include "tests/fuzz/frontend_fuzz.h"

using namespace tilewright;

namespace {

void twice(Ptr<const float> in, Ptr<float> out, I32 n, int BLOCK) {
  const I32 at = program_id(0) * BLOCK + arange(0, BLOCK);
  store(out + at, load(in + at, at < n) * 2, at < n);
}

/// Whether a kernel without mistakes does what it should.
bool right_one_works(const Kernel<void(Ptr<const float>, Ptr<float>, I32, int)>& kernel, const Device& device) {
  constexpr int kCount = 100, kBlock = 32;
  std::vector<float> in(kCount);
  for (int i = 0; i < kCount; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const auto from = device.upload(in);
  auto to = device.allocate<float>(kCount);
  kernel({.grid = (kCount + kBlock - 1) / kBlock}, from, to, kCount, kBlock);
  const std::vector<float> out = to.download();
  for (int i = 0; i < kCount; ++i)
    if (out[static_cast<std::size_t>(i)] != static_cast<float>(2 * i)) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  fuzz::Campaign campaign;
  campaign.seconds = 10;
  campaign.count = UINT64_MAX;
  campaign.max_failures = 1;
  CLI::App app("Calls the public surface at random: each call works, or throws Error with its own line");
  campaign.add_options(app, "kernels");
  CLI11_PARSE(app, argc, argv);
  try {
    const Device device = Device::open("cpu");
    const Kernel kernel("twice", twice);
    fuzz::Tally tally;
    std::uint64_t kernels = 0;
    fuzz::run(campaign, [&](std::uint64_t seed) {
      fuzz::fuzz_one_kernel(seed, tally);
      if (kernels++ % 16 == 0 && !right_one_works(kernel, device))
        tally.diagnostic = fmt::format("seed {}: a right kernel gives wrong results afterwards", seed);
      return fuzz::Finding{tally.diagnostic ? 1 : 0, tally.diagnostic.has_value()};
    });
    fmt::print("{} kernels, of which {} compile; {} calls worked, {} were refused\n", tally.kernels, tally.compiled, tally.worked,
               tally.refused);
    if (tally.diagnostic) fmt::print("{}\n", *tally.diagnostic);
    return tally.diagnostic ? 1 : 0;
  } catch (const std::exception& e) {
    fmt::print("an exception: {}\n", e.what());
    return 1;
  }
}
