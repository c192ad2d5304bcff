// Programs of users: graphs that are compiled and run on several devices, and compared with plain loops in double.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/tilewright.h"

namespace graph_program {

namespace tw = tilewright;
using Numbers = std::vector<double>;

using Devices = std::vector<std::string>;
/// Code for hosts and for GPUs.
inline const Devices& devices() {
  static const Devices both{"cpu", "emulator:sm_80"};
  return both;
}
/// Each kind of matrix instruction, for products, and a GPU of 99 KiB of shared memory.
inline const Devices& all_devices() {
  static const Devices all{"cpu", "emulator:sm_75", "emulator:sm_80", "emulator:sm_90a", "emulator:sm_120"};
  return all;
}

/// Draws from a normal distribution; the seed is the test's own.
inline std::vector<float> normal(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw(0, deviation);
  std::vector<float> values(count);
  for (float& v : values) v = draw(engine);
  return values;
}

template <class T>
std::vector<T> rounded_to(const std::vector<float>& values) {
  std::vector<T> narrow;
  for (float v : values) narrow.push_back(T(v));
  return narrow;
}
template <class T>
double number_of(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}
template <class T>
Numbers numbers_of(const std::vector<T>& values) {
  Numbers all;
  for (T v : values) all.push_back(number_of(v));
  return all;
}

/// norm(got - want) / norm(want) over finite elements; infinity if another element is not the same, or the sizes differ.
inline double relative_error(const Numbers& got, const Numbers& want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) != std::isnan(got[i])) return HUGE_VAL;
    if (std::isnan(want[i]) || want[i] == got[i]) {
      size += std::isfinite(want[i]) ? want[i] * want[i] : 0;
      continue;
    }
    if (!std::isfinite(want[i]) || !std::isfinite(got[i])) return HUGE_VAL;
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return difference == 0 ? 0 : size > 0 ? std::sqrt(difference / size) : HUGE_VAL;
}

/// One graph with the contents of its inputs and the values expected of its outputs.
class Program {
 public:
  tw::Graph graph;
  bool may_leave_open = false;  // numbers so great that rounding leaves all elements open: the check compares none, and says so

  /// The contents of an input or a scalar of this name.
  template <class T>
  void set(const std::string& name, const std::vector<T>& elements) {
    inputs_[name] = [name, elements](tw::Device& device, Run& run) {
      auto buffer = std::make_shared<tw::Buffer<T>>(device.upload(elements));
      run.arguments.emplace_back(name, std::as_const(*buffer));
      run.keep.push_back(buffer);
    };
  }
  /// The value of a symbol or of a scalar.
  template <class S>
  void set_number(const std::string& name, S value) {
    inputs_[name] = [name, value](tw::Device&, Run& run) { run.arguments.emplace_back(name, value); };
  }
  template <class T>
  tw::Tensor<T> input(const std::string& name, const std::vector<tw::Dim>& shape, const std::vector<T>& elements,
                      tw::Here at = tw::Here::current()) {
    set(name, elements);
    return graph.input<T>(name, shape, at);
  }
  template <class T>
  void expect(const std::string& name, const tw::Tensor<T>&, const Numbers& want, double tolerance = 1e-4) {
    outputs_[name] = [name, want, tolerance](tw::Device& device, Run& run) {
      auto buffer = std::make_shared<tw::Buffer<T>>(device.allocate<T>(want.size()));
      buffer->fill(poison<T>());
      run.arguments.emplace_back(name, *buffer);
      run.checks.push_back([buffer, name, want, tolerance] {
        const Numbers got = numbers_of(buffer->download());
        INFO("output " << name);
        const double error = relative_error(got, want);
        if (!(error <= tolerance)) MESSAGE(first_difference(got, want, tolerance));
        CHECK(error <= tolerance);
      });
      run.keep.push_back(buffer);
    };
  }
  /// Names the tensor as an output, and what it must be.
  template <class T>
  void output(const std::string& name, const tw::Tensor<T>& t, const Numbers& want, double tolerance = 1e-4,
              tw::Here at = tw::Here::current()) {
    graph.output(name, t, at);
    expect(name, t, want, tolerance);
  }

  /// Compiles for the device, runs twice with new outputs, and compares.
  tw::Plan check_on(tw::Device& device, const tw::PlanOptions& options = {}) const {
    const tw::Plan plan = graph.compile(device, options);
    CHECK((plan.proof().exact || may_leave_open));
    check(device, plan);
    check(device, plan);
    return plan;
  }
  void check(tw::Device& device, const tw::Plan& plan) const {
    Run run;
    for (const auto& [name, add] : inputs_) add(device, run);
    for (const auto& [name, add] : outputs_) add(device, run);
    plan.run(run.arguments);
    for (const auto& compare : run.checks) compare();
  }
  /// Runs the graph fused on the cpu and a GPU, and node by node on the cpu. Returns the plan of the last device.
  tw::Plan check(const tw::PlanOptions& options = {}) const { return check_on_each(devices(), options); }
  /// Checks with every kind of GPU code too.
  tw::Plan check_on_all(const tw::PlanOptions& options = {}) const { return check_on_each(all_devices(), options); }

 private:
  tw::Plan check_on_each(const Devices& names, const tw::PlanOptions& options) const {
    tw::Plan plan;
    for (const std::string& name : names) {
      CAPTURE(name);
      tw::Device device = tw::Device::open(name);
      plan = check_on(device, options);
    }
    tw::Device cpu = tw::Device::open("cpu");
    INFO("not fused");
    check_on(cpu, {.fuse = false});
    return plan;
  }

  struct Run {
    std::vector<tw::RunArgument> arguments;
    std::vector<std::function<void()>> checks;
    std::vector<std::shared_ptr<void>> keep;
  };

  template <class T>
  static T poison() {
    if constexpr (std::is_same_v<T, bool>)
      return true;
    else if constexpr (std::is_integral_v<T>)
      return T(0x5b);
    else
      return T(NAN);
  }
  static std::string first_difference(const Numbers& got, const Numbers& want, double tolerance) {
    std::string text = "sizes " + std::to_string(got.size()) + ", " + std::to_string(want.size());
    int left = 8;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()) && left > 0; ++i)
      if (!(got[i] == want[i] || std::fabs(got[i] - want[i]) <= tolerance * (1 + std::fabs(want[i])))) {
        text += "; [" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]);
        --left;
      }
    return text;
  }

  using Adder = std::function<void(tw::Device&, Run&)>;
  std::map<std::string, Adder> inputs_, outputs_;
};

}  // namespace graph_program
