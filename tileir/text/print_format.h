// The format string of device_print, "x = {:.3f}": checked against the types of the values, and filled with their elements.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tileir/type.h"

namespace tilewright::ir {

/// The error in a text for values of these types ("1 placeholder for 2 values"); empty if there is none. {} is a value, {:spec} a value
/// whose elements are formatted as std::format does; {{ and }} are braces.
std::string wrong_with_print(std::string_view text, std::span<const Type> values);

/// The text with its values filled in: a tile as nested lists; if it has more than 1000 elements, only the ends of each axis. bits(i, k):
/// the bits of element k, row-major, of value i. Requires: the text has no errors.
std::string fill_print(std::string_view text, std::span<const Type> values,
                       const std::function<std::uint64_t(int i, std::int64_t k)>& bits);

/// One element: floats in the fewest digits that read back as the same f32 or f64, pointers as addresses, true and false.
std::string element_text(const Type&, std::uint64_t bits);

}  // namespace tilewright::ir
