// The transformer block of graphs.h in NumPy, in a process of python3: peers/numpy_block.py.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bench {

class NumpyBlock {
 public:
  /// A new folder for the arrays; throws std::runtime_error if it cannot be made.
  NumpyBlock();
  ~NumpyBlock();
  NumpyBlock(const NumpyBlock&) = delete;
  NumpyBlock& operator=(const NumpyBlock&) = delete;

  /// Gives it an array: "x" or a weight by its name in transformer_weights().
  void write(const std::string& name, const std::vector<float>&) const;

  struct Run {
    double ms;         // the least of the repeats
    std::string blas;  // the library that multiplies matrices
    std::vector<float> result;
  };
  /// None, with a line on stderr, if there is no Python with NumPy.
  std::optional<Run> run(int repeats) const;

 private:
  std::filesystem::path folder_;
};

/// ‖a - b‖ / ‖b‖; throws std::runtime_error if their lengths differ.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace bench
