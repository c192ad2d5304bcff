// The parts of a tuner that need no types of the user: keys, configurations as text, and the request to launch the best one.
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
/// A number or a text as one word of a comma-separated list. Equal words mean equal values.
std::string constant_text(double);
std::string constant_text(std::string_view);
}  // namespace detail

/// The facts besides kernel and device that decide on the best configuration: {m, n, "f16"}. Integers, floats, enums, bools and texts.
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

/// "128,64,true": the leaves of a constant. A leaf of a user's type that has no text is given by its hash.
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

/// A number for the types that a kernel is compiled for. It is the same in each run of a program.
inline std::string types_text(const std::type_info& types) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char* s = types.name(); *s; ++s) hash = (hash ^ static_cast<unsigned char>(*s)) * 0x100000001b3u;
  return std::to_string(hash);
}

/// A call of a tuner. The text of a configuration is its name.
struct TuningRequest {
  std::string_view kernel, problem;
  const std::vector<std::string>& configurations;
  double budget_ms;
  std::int64_t max_measured;
  bool tune, restore;
  StreamRef stream;
  std::vector<Arguments::Reach> written;  // memory to restore after each measured launch
  bool follow_writes;                     // also restore what the launches are seen to write
  rt::Device* device;
  std::function<void(std::size_t)> launch;  // launches the configuration of this number
  std::vector<double> predicted = {};       // microseconds of each configuration, if a model predicts them
};
/// The number of the best known configuration; 0 if none is known. Measures first if the request says so. Throws what launches throw.
std::size_t tuned_configuration(const TuningRequest&, const Here&);

/// The device of a launch. Null if nothing determines it, or if stream and buffers are on different devices, which the launch refuses.
rt::Device* device_of_launch(const Arguments&, const Launch&);

/// Throws Error unless there is a configuration and the options are in their ranges.
void check_tuner(std::string_view kernel, std::size_t given, std::size_t left, double budget_ms, std::int64_t max_measured, const Here&);

}  // namespace detail
}  // namespace tilewright
