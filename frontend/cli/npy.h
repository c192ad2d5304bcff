// Arrays in NumPy's NPY format (versions 1 to 3): little-endian, C order, dtypes that have a counterpart among the element types.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tileir/type.h"

namespace tilewright::cli {

struct NpyArray {
  std::string dtype;  // as the file spells it: "<f4"
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  std::vector<std::byte> data;
};

/// The array that a file's contents are. Throws Failure that says what is wrong with it; `name` is the file's. Nothing is allocated for
/// what a header only claims.
NpyArray read_npy(std::string_view contents, const std::string& name);

/// A file's contents. bf16 and fp8 are stored as ml_dtypes does, as void of their width: array.view(ml_dtypes.bfloat16) gives them back.
std::string write_npy(ir::Element, std::span<const std::int64_t> shape, std::span<const std::byte> data);
/// The same for a dtype as files spell it.
std::string write_npy(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const std::byte> data);
/// How files spell the dtype of an element.
std::string_view dtype_of(ir::Element);

/// Whether an array of that dtype may be taken for elements of this type. A void of 1 or 2 bytes is whichever small float is asked for.
bool dtype_holds(std::string_view dtype, ir::Element);

/// An element type by its name in tile IR or in NumPy: f32, float32, bool.
std::optional<ir::Element> parse_element_name(std::string_view);
/// "f32 (float32)".
std::string element_names(ir::Element);

}  // namespace tilewright::cli
