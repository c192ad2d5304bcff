// Parses shapes and element types.
#include "frontend/cli/bench/rows/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "frontend/cli/files/errors.h"
#include "frontend/cli/files/npy.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli::bench {

namespace {

constexpr std::int64_t kLargestExtent = 2147483647;
constexpr double kMostElements = 1e15;  // limit of the product of all extents: arrays are smaller, and their sizes fit 64 bits

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string example(const KernelRow& row) { return fmt::format("{}, as {}", fmt::join(row.axes, "x"), text(row.shapes.cpu.front())); }

Shape parse_shape(const KernelRow& row, const std::string& word) {
  Shape shape;
  double elements = 1;
  for (const std::string& extent : split(word, 'x')) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), value);
    if (error != std::errc() || end != extent.data() + extent.size() || value < 1 || value > kLargestExtent)
      throw UsageError(fmt::format("--shapes '{}': extent '{}' is not a number from 1 to {}; a shape of '{}' is {}", word, extent,
                                   kLargestExtent, row.name, example(row)));
    shape.push_back(value);
    elements *= static_cast<double>(value);
  }
  if (shape.size() != row.axes.size())
    throw UsageError(fmt::format("--shapes '{}' has {} extent{}; a shape of '{}' is {}", word, shape.size(), shape.size() == 1 ? "" : "s",
                                 row.name, example(row)));
  if (const std::string reason = row.reason_against(shape); !reason.empty())
    throw UsageError(fmt::format("--shapes '{}': {} in a shape of '{}', which is {}", word, reason, row.name, example(row)));
  if (elements > kMostElements) throw UsageError(fmt::format("--shapes '{}' has more elements than memory can hold", word));
  return shape;
}

ir::Element parse_type(const KernelRow& row, const std::string& word) {
  std::vector<std::string> names;
  for (const ir::Element e : row.problems.types) names.emplace_back(ir::text(e));
  const auto type = parse_element_name(word);
  if (!type || std::find(row.problems.types.begin(), row.problems.types.end(), *type) == row.problems.types.end())
    throw UsageError(fmt::format("--types: '{}' has no type '{}'{}; it has {}", row.name, word, type ? "" : ir::suggestion(word, names),
                                 fmt::join(names, ", ")));
  return *type;
}

std::vector<ir::Element> types_of(const KernelRow& row, const std::string& types, DeviceKind kind) {
  if (types == "all") return row.problems.types;
  if (types.empty()) {
    const auto half = std::find(row.problems.types.begin(), row.problems.types.end(), ir::Element::f16);
    return {kind != DeviceKind::cpu && half != row.problems.types.end() ? *half : row.problems.types.front()};
  }
  std::vector<ir::Element> chosen;
  for (const std::string& word : split_list(types, "--types")) chosen.push_back(parse_type(row, word));
  return chosen;
}

std::vector<Shape> shapes_of(const KernelRow& row, const std::string& shapes, DeviceKind kind) {
  if (shapes.empty()) return kind == DeviceKind::cpu ? row.shapes.cpu : kind == DeviceKind::gpu ? row.shapes.gpu : row.shapes.emulator;
  std::vector<Shape> chosen;
  for (const std::string& word : split_list(shapes, "--shapes")) chosen.push_back(parse_shape(row, word));
  return chosen;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, const char* option) {
  std::vector<std::string> words = split(text, ',');
  if (std::find(words.begin(), words.end(), "") != words.end())
    throw UsageError(fmt::format("{} '{}' has an empty word between its commas", option, text));
  return words;
}

std::vector<CaseName> parse_cases(const std::vector<std::string>& kernels, const std::string& shapes, const std::string& types,
                                  DeviceKind kind) {
  std::vector<const KernelRow*> rows;
  for (const std::string& name : kernels)
    if (name == "all")
      for (const KernelRow& row : kernel_rows()) rows.push_back(&row);
    else
      rows.push_back(&find_kernel(name));
  std::vector<CaseName> cases;
  for (const KernelRow* row : rows) {
    const std::vector<ir::Element> chosen = types_of(*row, types, kind);
    for (const Shape& shape : shapes_of(*row, shapes, kind))
      for (const ir::Element type : chosen) cases.push_back({row, shape, type});
  }
  return cases;
}

}  // namespace tilewright::cli::bench
