// Runs graphs of the public surface on the interpreter.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tileir/graph/interpreter.h"
#include "tilewright/graph.h"

namespace graph_run {

namespace tw = tilewright;
using tw::graph::Rounding;

/// Buffers and symbols by name.
struct Values : tw::graph::Arguments {
  template <class T>
  Values& set(const std::string& name, const std::vector<T>& elements) {
    std::vector<std::uint64_t> bits;
    for (T element : elements) bits.push_back(tw::detail::tensor::bits_of<T>(element));
    arrays[name] = bits;
    return *this;
  }
  Values& symbol(const std::string& name, std::int64_t value) {
    symbols[name] = value;
    return *this;
  }
};

inline tw::graph::Array array(const tw::detail::tensor::Handle& t, const Values& values, Rounding rounding = Rounding::as_typed) {
  return interpret(*t.nodes(), tw::graph::NodeId{t.node()}, values, rounding);
}

/// The elements of a tensor as numbers.
inline std::vector<double> numbers(const tw::detail::tensor::Handle& t, const Values& values = {}, Rounding rounding = Rounding::as_typed) {
  const tw::graph::Array a = array(t, values, rounding);
  std::vector<double> result;
  for (std::size_t i = 0; i < a.bits.size(); ++i) result.push_back(a.number(i));
  return result;
}

/// Random numbers of a normal distribution, new at each run.
inline std::vector<float> normal(std::size_t count, float deviation = 1) {
  static std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> elements(count);
  for (float& element : elements) element = distribution(random);
  return elements;
}

/// Fails on NaN.
inline void check_close(const std::vector<double>& seen, const std::vector<double>& expected, double tolerance) {
  REQUIRE(seen.size() == expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CAPTURE(i);
    REQUIRE(std::abs(seen[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
  }
}

inline std::string shape_of(const std::vector<tw::Dim>& shape) {
  std::string text;
  for (const tw::Dim& d : shape) text += (text.empty() ? "" : ", ") + d.text();
  return "[" + text + "]";
}

}  // namespace graph_run
