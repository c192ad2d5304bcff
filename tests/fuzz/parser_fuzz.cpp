// libFuzzer's target for the textual form: no text may crash, hang or leak in the parser, the verifier, the printer or the passes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass_manager.h"
#include "tests/fuzz/text_mutator.h"
#include "tileir/diagnostics.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

using namespace tilewright;

namespace {

/// parse(print(m)) prints the same text again.
void check_round_trip(const ir::Module& m, ir::PrintOptions options) {
  const std::string printed = ir::print(m, options);
  const std::string again = ir::print(ir::parse(printed, "printed.tile"), options);
  TW_CHECK(printed == again, "a printed module prints otherwise after it was read");
}

/// A number that says which texts get which of the expensive checks, so that a diagnostic repeats by itself.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h >> 20;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ir::Module m;
  try {
    m = ir::parse_unverified(text, "fuzz.tile");
  } catch (const Error&) {  // any other exception is a diagnostic
    return 0;
  }
  bool well_formed = true;
  for (const ir::Function& f : m.functions) well_formed &= ir::verify(f).empty();
  ir::print(m);  // reports print malformed functions too
  if (!well_formed) return 0;
  const std::uint64_t choice = hash(text);
  check_round_trip(m, {.locations = choice % 2 == 0});
  constexpr std::size_t kMostForPasses = 4000;
  if (choice % 16 != 0 || size > kMostForPasses) return 0;
  const passes::PassContext context;
  passes::RunOptions options;
  options.verify_each = true;
  try {
    for (ir::Function& f : m.functions) passes::run_passes(f, passes::pipeline(context.target), context, options);
  } catch (const Error&) {  // the target does not support it, as PTX without a fallback
    return 0;
  }
  check_round_trip(m, {.locations = false});
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  fuzz::Random r(seed);
  if (r.chance(40)) return LLVMFuzzerMutate(data, size, most);
  const std::string text = fuzz::mutate_text({reinterpret_cast<const char*>(data), size}, r);
  const std::size_t n = text.size() < most ? text.size() : most;
  text.copy(reinterpret_cast<char*>(data), n);
  return n;
}
