// Arrays as raw files in a folder, and the script that reads them.
#include "tests/bench/numpy_block.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace bench {

NumpyBlock::NumpyBlock() {
  std::string name = (std::filesystem::temp_directory_path() / "numpy_block.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  folder_ = name;
}

NumpyBlock::~NumpyBlock() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void NumpyBlock::write(const std::string& name, const std::vector<float>& values) const {
  const auto file = folder_ / (name + ".f32");
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!out) throw std::runtime_error("could not write " + file.string());
}

std::optional<NumpyBlock::Run> NumpyBlock::run(int repeats) const {
  const auto printed = folder_ / "printed.txt", result = folder_ / "y.f32";
  const std::string command = fmt::format("python3 '{}' '{}' {} > '{}'", TW_NUMPY_BLOCK, folder_.string(), repeats, printed.string());
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "python3 with NumPy failed; it is left out\n");
    return std::nullopt;
  }
  Run run;
  std::ifstream(printed) >> run.ms >> run.blas;
  run.result.resize(std::filesystem::file_size(result) / sizeof(float));
  std::ifstream in(result, std::ios::binary);
  in.read(reinterpret_cast<char*>(run.result.data()), static_cast<std::streamsize>(run.result.size() * sizeof(float)));
  if (!in) throw std::runtime_error("could not read " + result.string());
  return run;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) throw std::runtime_error(fmt::format("{} elements beside {}", a.size(), b.size()));
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace bench
