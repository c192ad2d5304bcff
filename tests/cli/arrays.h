// Arrays that tests give to the program tilewright and read from it, as .npy texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "frontend/cli/files/npy.h"

namespace tilewright::test {

/// The text of a .npy file with these elements; one axis if no shape is given.
template <class T>
std::string npy(ir::Element e, const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return cli::write_npy(e, shape, std::as_bytes(std::span(values)));
}

/// The elements of the text of a .npy file.
template <class T>
std::vector<T> values(const std::string& npy_contents) {
  const cli::NpyArray array = cli::read_npy(npy_contents, "result");
  std::vector<T> v(array.data.size() / sizeof(T));
  std::memcpy(v.data(), array.data.data(), array.data.size());
  return v;
}

/// 0, scale, 2 scale, ...: n of them.
inline std::vector<float> numbers(std::size_t n, float scale) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = scale * static_cast<float>(i);
  return v;
}

}  // namespace tilewright::test
