// What a tuner is made of that needs no types of the user: keys, configurations as text, the request to launch the best one.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "tilewright/constants.h"
#include "tilewright/detail/signature.h"
#include "tilewright/launch.h"

namespace tilewright {

namespace detail {
/// A number or a text as one word of a list with commas: equal words only for equal values.
std::string constant_text(double);
std::string constant_text(std::string_view);
}  // namespace detail

/// What the best configuration depends on besides the kernel and the device: {m, n, "f16"}. Integers, floats, enums, bools and texts.
class TuningKey {
 public:
  struct Part {
    template <class T>
      requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
    Part(T value) {
      if constexpr (std::is_enum_v<T>)
        text = std::to_string(static_cast<std::int64_t>(value));
      else if constexpr (std::is_floating_point_v<T>)
        text = detail::constant_text(static_cast<double>(value));
      else
        text = std::to_string(value);
    }
    template <class T>
      requires std::convertible_to<const T&, std::string_view>
    Part(const T& value) : text(detail::constant_text(std::string_view(value))) {}
    Part(const Extent& extent) : text(std::to_string(extent.value)) {}
    std::string text;
  };

  TuningKey() = default;
  TuningKey(std::initializer_list<Part> parts) {
    for (const Part& p : parts) add(p);
  }
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, TuningKey> && std::convertible_to<const T&, Part>)
  TuningKey(const T& part) {
    add(part);
  }
  template <std::ranges::input_range R>
    requires(!std::convertible_to<const R&, Part> && std::convertible_to<std::ranges::range_reference_t<const R&>, Part>)
  TuningKey(const R& parts) {
    for (const auto& p : parts) add(p);
  }
  const std::string& text() const { return text_; }

 private:
  void add(const Part& p) {
    if (!text_.empty()) text_ += ',';
    text_ += p.text;
  }
  std::string text_;
};

namespace detail {

/// "128,64,true": the leaves of a constant. Leaves of a user's type that are no text are given by their hash.
template <Constant T>
std::string text_of_constant(const T& value) {
  std::string text;
  visit_leaves(value, [&]<class L>(const L& leaf) {
    if (!text.empty()) text += ',';
    if constexpr (std::is_same_v<L, bool>)
      text += leaf ? "true" : "false";
    else if constexpr (std::is_enum_v<L>)
      text += std::to_string(static_cast<std::int64_t>(leaf));
    else if constexpr (std::is_integral_v<L>)
      text += std::to_string(leaf);
    else if constexpr (PlainConstant<L>)
      text += constant_text(static_cast<double>(leaf));
    else if constexpr (std::convertible_to<const L&, std::string_view>)
      text += constant_text(std::string_view(leaf));
    else
      text += "#" + std::to_string(std::hash<L>{}(leaf));
  });
  return text;
}

/// A number for types that a kernel is compiled for, the same in each run of a program.
inline std::string types_text(const std::type_info& types) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char* s = types.name(); *s; ++s) hash = (hash ^ static_cast<unsigned char>(*s)) * 0x100000001b3u;
  return std::to_string(hash);
}

/// A call of a tuner. Configurations are named by their text.
struct TuningRequest {
  std::string_view kernel, problem;
  const std::vector<std::string>& configurations;
  double budget_ms;
  std::int64_t max_measured;
  bool tune, restore;
  StreamRef stream;
  std::vector<Arguments::Reach> written;  // memory to put back after each measured launch
  bool follow_writes;                     // put back what its launches are seen to write, too
  rt::Device* device;
  std::function<void(std::size_t)> launch;  // of a configuration
  std::vector<double> predicted = {};       // microseconds of each, if a model says so
};
/// The number of the best known configuration; 0 if none is known. Measures first if it shall. Throws what launches throw.
std::size_t tuned_configuration(const TuningRequest&, const Here&);

/// The device of a launch; null if nothing says it, or its stream and its buffers are of two: the launch refuses that.
rt::Device* device_of_launch(const Arguments&, const Launch&);

/// Throws Error unless there is a configuration, and the numbers of the options are in their ranges.
void check_tuner(std::string_view kernel, std::size_t given, std::size_t left, double budget_ms, std::int64_t max_measured, const Here&);

}  // namespace detail
}  // namespace tilewright
