// Shared by the programs of this folder: devices, data, and comparison with references in plain C++.
#pragma once
#include <doctest/doctest.h>
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <typeinfo>
#include <vector>

namespace tw = tilewright;

namespace programs {

/// The devices that the environment variable PROGRAMS_DEVICES names, separated by commas; else "cpu" and the lower levels of x86-64 that
/// this machine can run.
const std::vector<tw::Device>& devices();

/// Runs a program on each of them; failures name the device.
void on_every_device(const std::function<void(tw::Device&)>& program);
/// For what GPUs promise less of, or nothing: on those of them that are processors.
void on_every_cpu(const std::function<void(tw::Device&)>& program);
inline bool is_gpu(const tw::Device& device) { return !device.name().starts_with("cpu"); }

/// The relative error of a product of f32 tiles at standard precision: matrix instructions of GPUs round the factors to tf32.
inline double f32_dot_tolerance(const tw::Device& device) { return is_gpu(device) ? 2e-3 : 1e-5; }

/// The text of the tw::Error that f throws; empty if it throws none.
std::string message_of(const std::function<void()>& f);
inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

/// Random bits: numbers of every size, and now and then NaNs and infinities. The same for the same seed.
template <class T>
std::vector<T> random_bits(std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = engine();
    if constexpr (std::same_as<T, bool>) {
      values[i] = bits & 1;
    } else {
      T value;
      std::memcpy(&value, &bits, sizeof value);
      values[i] = value;
    }
  }
  return values;
}

/// Normally distributed numbers, or whole numbers around 0 (from 0 for unsigned types).
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed, double scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> draw(0, scale);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    double x = draw(engine);
    if constexpr (std::unsigned_integral<T>) x = std::abs(x);
    values[i] = static_cast<T>(static_cast<float>(x));
  }
  return values;
}

template <class T>
double as_double(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

/// Equal bit by bit, but that one NaN is as good as another.
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (as_double(a) != as_double(a) && as_double(b) != as_double(b));
}

template <class T>
void check_same(const std::string& what, const std::vector<T>& got, const std::vector<T>& want) {
  REQUIRE_MESSAGE(got.size() == want.size(), what);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const T g = got[i], w = want[i];
    if (same<T>(g, w)) continue;
    FAIL_CHECK(what, ", element ", i, ": ", as_double(g), " instead of ", as_double(w));
    return;
  }
}

/// Each element within `relative` of its own size plus `absolute`; NaN and infinities only where they are expected.
template <class T>
void check_close(const std::string& what, const std::vector<T>& got, const std::vector<double>& want, double relative,
                 double absolute = 0) {
  REQUIRE_MESSAGE(got.size() == want.size(), what);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double g = as_double<T>(got[i]), w = want[i];
    if (std::abs(g - w) <= relative * std::abs(w) + absolute || g == w || (g != g && w != w)) continue;
    FAIL_CHECK(what, ", element ", i, ": ", g, " instead of ", w);
    return;
  }
}

}  // namespace programs
