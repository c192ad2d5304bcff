// Small launches of the examples' kernels. Together they run each part of the code, with each possible number of active lanes in the last
// tile.
#pragma once
#include <tilewright/tilewright.h>

#include <memory>
#include <random>
#include <vector>

namespace tilewright::test {

/// A device and buffers on it that live as long as this does.
class Inputs {
 public:
  explicit Inputs(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }

  template <class T>
  Buffer<T>& upload(const std::vector<T>& values) {
    auto kept = std::make_shared<Buffer<T>>(device_.upload(values));
    kept_.push_back(kept);
    return *kept;
  }
  template <class T>
  Buffer<T>& filled(int count, T value) {
    return upload(std::vector<T>(static_cast<std::size_t>(count), value));
  }
  /// Finite numbers of both signs.
  Buffer<float>& floats(int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = draw_(random_);
    return upload(values);
  }
  template <class T>
  Buffer<T>& integers(int count, int lowest, int highest) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(std::uniform_int_distribution<int>(lowest, highest)(random_));
    return upload(values);
  }

 private:
  Device device_;
  std::vector<std::shared_ptr<void>> kept_;
  std::mt19937 random_{1};
  std::normal_distribution<float> draw_;
};

struct Example {
  const char* name;
  void (*launch)(Inputs&);
};
const std::vector<Example>& examples();

}  // namespace tilewright::test
