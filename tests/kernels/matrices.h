// Shared by the tests of this folder: strided matrices with their values, and references in double precision.
#pragma once
#include <doctest/doctest.h>
#include <tilewright/kernels.h>
#include <tilewright/tilewright.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tw = tilewright;

namespace kernel_tests {

/// Runs on the devices that the environment variable KERNELS_DEVICES names, separated by commas; else "cpu" and "emulator:sm_80".
void on_every_device(const std::function<void(tw::Device&)>& test);
inline bool is_gpu(const tw::Device& device) { return !device.name().starts_with("cpu"); }
/// The text of the tw::Error that f throws; empty if it throws none.
std::string message_of(const std::function<void()>& f);
inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

/// The rounding error of the type for a number of size 1.
template <class T>
double epsilon() {
  if constexpr (std::is_same_v<T, double>) return 1e-14;
  if constexpr (std::is_same_v<T, float>) return 2e-6;
  if constexpr (std::is_same_v<T, tw::f16>) return 1e-3;
  if constexpr (std::is_same_v<T, tw::bf16>) return 8e-3;
  return 0;
}

template <class T>
double number(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

/// How the elements of an array are placed in its buffer.
enum class Placement { dense, padded, reversed };

/// An array of R axes in a buffer: row-major, padded (the last stride is 2, rows are 3 elements apart), or with its axes in reversed order.
/// Elements of the buffer that are none of the array are -77.
template <class T, std::size_t R>
struct Array {
  std::array<std::int64_t, R> extents, strides;
  tw::Buffer<T> buffer;

  Array(tw::Device& device, std::array<std::int64_t, R> shape, unsigned seed, Placement placement = Placement::dense, double scale = 1)
      : extents(shape) {
    std::int64_t step = placement == Placement::padded ? 2 : 1;
    for (std::size_t i = 0; i < R; ++i) {
      const std::size_t axis = placement == Placement::reversed ? i : R - 1 - i;
      strides[axis] = step;
      step *= std::max<std::int64_t>(extents[axis], 1);
      if (placement == Placement::padded && i == 0) step += 3;
    }
    std::vector<T> all(static_cast<std::size_t>(step + 1), T(-77));
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0, scale);
    each([&](std::int64_t at) {
      if constexpr (std::is_integral_v<T>)
        all[static_cast<std::size_t>(at)] = static_cast<T>(static_cast<int>(engine() % 7) - 3);
      else
        all[static_cast<std::size_t>(at)] = static_cast<T>(static_cast<float>(normal(engine)));
    });
    buffer = device.upload(all);
  }

  template <class F>
  void each(F f) const {
    std::array<std::int64_t, R> index{};
    std::int64_t count = 1;
    for (std::int64_t e : extents) count *= e;
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t rest = n, at = 0;
      for (std::size_t i = R; i-- > 0;) index[i] = rest % extents[i], rest /= extents[i], at += index[i] * strides[i];
      f(at);
    }
  }
  tw::View<T, static_cast<int>(R)> view() { return make(std::make_index_sequence<R>()); }
  template <std::size_t... I>
  tw::View<T, static_cast<int>(R)> make(std::index_sequence<I...>) {
    return tw::view(buffer, {extents[I]...}, {strides[I]...});
  }
  /// The elements in row-major order.
  std::vector<double> values() const {
    const std::vector<T> all = buffer.download();
    std::vector<double> out;
    each([&](std::int64_t at) { out.push_back(number(all[static_cast<std::size_t>(at)])); });
    return out;
  }
  /// Whether the elements between those of the array are as they were.
  bool gaps_untouched() const {
    std::vector<T> all = buffer.download();
    each([&](std::int64_t at) { all[static_cast<std::size_t>(at)] = T(-77); });
    for (const T& x : all)
      if (number(x) != number(T(-77))) return false;
    return true;
  }
};

double norm(const std::vector<double>& values);
/// The norm of the difference over that of what is wanted, or over `least` if that is larger; infinite for NaN.
double error(const std::vector<double>& got, const std::vector<double>& want, double least = 0);

}  // namespace kernel_tests
