// Reads shapes of matrix products.
#include "runtime/emulator/matrix/shape.h"

#include <charconv>

namespace tilewright::rt::emulator {
namespace {

std::optional<MatrixShape> parse_shape(std::string_view text) {
  MatrixShape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const auto& [letter, extent] : {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [stop, error] = std::from_chars(at + 1, end, *extent);
    if (error != std::errc()) return std::nullopt;
    at = stop;
  }
  return at == end ? std::optional(shape) : std::nullopt;
}

}  // namespace

std::optional<MatrixShape> take_shape(Decoder& d) {
  for (std::string_view modifier : d.modifiers())
    if (const auto shape = parse_shape(modifier); shape && d.take(modifier)) return shape;
  return std::nullopt;
}

}  // namespace tilewright::rt::emulator
