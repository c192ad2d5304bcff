// Parses the values of the environment variables.
#include "runtime/emulator/driver/launch_environment.h"

#include <charconv>
#include <optional>

#include "runtime/environment.h"

namespace tilewright::rt::emulator {
namespace {

std::optional<u64> parse_number(std::string_view text) {
  u64 value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The seed in "random" (0) or "random:SEED".
std::optional<u64> parse_random(std::string_view text) {
  constexpr std::string_view kRandom = "random";
  if (!text.starts_with(kRandom)) return std::nullopt;
  text.remove_prefix(kRandom.size());
  if (text.empty()) return 0;
  return text[0] == ':' ? parse_number(text.substr(1)) : std::nullopt;
}

bool take_async_order(std::string_view text, LaunchParams& params) {
  if (text.empty() || text == "lazy") return true;
  if (text == "eager") return params.async_order = AsyncOrder::eager, true;
  const std::optional<u64> seed = parse_random(text);
  if (!seed) return false;
  params.async_order = AsyncOrder::random;
  params.seed = *seed;
  return true;
}

bool take_order(std::string_view text, LaunchParams& params) {
  if (text.empty() || text == "forward") return true;
  if (text == "backward") return params.order = Order::backward, true;
  const std::optional<u64> seed = parse_random(text);
  if (!seed) return false;
  params.order = Order::random;
  params.order_seed = *seed;
  return true;
}

bool take_limit(std::string_view text, LaunchParams& params) {
  if (text.empty()) return true;
  const std::optional<u64> limit = parse_number(text);
  if (limit) params.instruction_limit = *limit;
  return limit.has_value();
}

}  // namespace

std::string take_environment(LaunchParams& params) {
  const auto fault = [](const char* variable, const std::string& text, const char* expected) {
    return std::string(variable) + " is '" + text + "'; it must be " + expected;
  };
  if (const std::string text = environment_emulator_async(); !take_async_order(text, params))
    return fault("TILEWRIGHT_EMULATOR_ASYNC", text, "lazy, eager, random or random:SEED");
  if (const std::string text = environment_emulator_order(); !take_order(text, params))
    return fault("TILEWRIGHT_EMULATOR_ORDER", text, "forward, backward, random or random:SEED");
  if (const std::string text = environment_emulator_limit(); !take_limit(text, params))
    return fault("TILEWRIGHT_EMULATOR_LIMIT", text, "a number of warp instructions, or 0 for none");
  return "";
}

}  // namespace tilewright::rt::emulator
