// Arrays in NumPy's NPY format (versions 1 to 3): little-endian, C order, dtypes that correspond to an element type.
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

/// Parses the contents of an NPY file. Throws Failure if they are malformed; `name` is the file's name for messages. Nothing is allocated
/// for a header whose elements are missing.
NpyArray read_npy(std::string_view contents, const std::string& name);

/// The contents of an NPY file. bf16 and fp8 are stored as void of their width, as by ml_dtypes: array.view(ml_dtypes.bfloat16) restores
/// them.
std::string write_npy(ir::Element, std::span<const std::int64_t> shape, std::span<const std::byte> data);
/// Writes an array whose dtype is given by its spelling in files.
std::string write_npy(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const std::byte> data);
/// The spelling of an element's dtype in files.
std::string_view dtype_of(ir::Element);

/// Whether an array of that dtype can hold elements of this type. A void of 1 or 2 bytes can hold any small float of that width.
bool dtype_holds(std::string_view dtype, ir::Element);

/// An element type by its name in tile IR or in NumPy: f32, float32, bool.
std::optional<ir::Element> parse_element_name(std::string_view);
/// "f32 (float32)".
std::string element_names(ir::Element);

}  // namespace tilewright::cli
