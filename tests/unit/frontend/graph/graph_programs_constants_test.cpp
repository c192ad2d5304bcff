// Constants in types that hold them only in part: a cast that overflows, underflows, wraps or rounds does so in fused kernels, too.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x (9 elements) times what a function makes of a constant.
template <class Narrow>
void check_cast_of_constant(double constant) {
  CAPTURE(constant);
  const std::vector<float> hx = normal(9, 1);
  const double narrow = number_of(Narrow(static_cast<float>(constant)));
  Program p;
  const auto x = p.input("x", {9}, hx);
  const auto c = tw::full<float>(p.graph, {9}, static_cast<float>(constant)).template to<Narrow>().template to<float>();
  Numbers product, sum, chosen, compared;
  for (float v : hx) {
    product.push_back(v * narrow);
    sum.push_back(v + narrow);
    chosen.push_back(v > 0 ? narrow : v);
    compared.push_back(v < narrow);
  }
  p.output("product", x * c, product, 1e-6);
  p.output("sum", x + c, sum, 1e-6);
  p.output("chosen", tw::where(x > 0.0f, c, x), chosen, 1e-6);
  p.output("compared", x < c, compared, 0);
  p.check_on_all();
}

TEST_CASE("graph constants: a cast to a narrow float overflows, underflows and rounds") {
  for (const double c : {70000.0, -70000.0, 65519.0, 65520.0, 1e-10, -1e-10, 1e-5, 0.1, 1000.0}) check_cast_of_constant<tw::f16>(c);
  for (const double c : {3.4e38, 1e-41, 0.1, 70000.0}) check_cast_of_constant<tw::bf16>(c);
  for (const double c : {0.3, -500.0, 1e-5, 12.0}) check_cast_of_constant<tw::f8e4m3>(c);
  for (const double c : {0.3, 1e6, 1e-8, 12.0}) check_cast_of_constant<tw::f8e5m2>(c);
}

TEST_CASE("graph constants: a cast of f64 to f32 overflows and underflows") {
  const std::vector<double> hx = numbers_of(normal(9, 1));
  for (const double c : {1e300, -1e39, 1e-300, 0.1}) {
    CAPTURE(c);
    Program p;
    const auto x = p.input("x", {9}, hx);
    Numbers want;
    for (double v : hx) want.push_back(v * static_cast<double>(static_cast<float>(c)));
    p.output("y", x * tw::full<double>(p.graph, {9}, c).to<float>().to<double>(), want, 1e-15);
    p.check();
  }
}

TEST_CASE("graph constants: what is computed of constants has the range of its type") {
  const std::vector<float> hx = normal(9, 1);
  const Numbers x_numbers = numbers_of(hx);
  const auto times = [&](double c) {
    Numbers all = x_numbers;
    for (double& v : all) v *= c;
    return all;
  };
  Program p;
  const auto x = p.input("x", {9}, hx);
  const auto of = [&]<class T>(T value) { return tw::full<T>(p.graph, {}, value); };
  const tw::f16 h300(300.0f), tiny(1e-4f);
  p.output("f16 product", x * (of(h300) * of(h300)).to<float>(), times(kInfinity), 1e-6);
  p.output("f16 underflow", x * (of(tiny) * of(tiny)).to<float>(), times(0), 1e-6);
  p.output("f32 product", x * (of(1e30f) * of(1e30f)), times(kInfinity), 1e-6);
  p.output("f32 underflow", x * (of(1e-30f) * of(1e-30f)) * 1e30f, times(0), 1e-6);
  p.output("f32 exponential", x * tw::exp(of(100.0f)), times(kInfinity), 1e-6);
  p.output("third", x * (of(1.0f) / of(3.0f)), times(1.0 / 3), 1e-6);
  p.output("views", x * tw::reshape(tw::broadcast_to(tw::expand_dims(of(70000.0f), 0), {9}), {9}).to<tw::f16>().to<float>(),
           times(kInfinity), 1e-6);
  p.output("i8", x * of(300).to<std::int8_t>().to<float>(), times(44), 1e-6);
  p.output("i8 product", x * (of(std::int8_t(100)) * of(std::int8_t(3))).to<float>(), times(44), 1e-6);
  p.output("u8 of a float", x * of(1000.0f).to<std::uint8_t>().to<float>(), times(255), 1e-6);
  p.output("i32 of a float", x * of(1e20f).to<std::int32_t>().to<float>(), times(2147483647.0), 1e-6);
  p.output("f32 of an integer", of((1 << 24) + 1).to<float>() + x * 0.0f, Numbers(9, 1 << 24), 0);
  p.check_on_all();
}

TEST_CASE("graph constants: in masks, pads and concatenations they are cast as what is chosen") {
  const std::vector<float> hx = normal(6 * 7, 1);
  const std::vector<std::uint8_t> hm = [] {
    std::vector<std::uint8_t> m;
    for (int i = 0; i < 6 * 7; ++i) m.push_back(i / 7 == 2 ? 0 : i % 3 != 0);
    return m;
  }();
  const auto check = [&]<class Narrow>(Narrow, double low) {
    Program p;
    const auto x = p.input("x", {6, 7}, hx);
    const auto m = p.input("m", {6, 7}, hm) != std::uint8_t(0);
    const tw::Tensor<float> zero = tw::full<float>(p.graph, {}, 0.0f), least = tw::full<float>(p.graph, {}, static_cast<float>(low));
    // A row that is hidden whole is NaN if the low number is -inf in the narrow type.
    const auto bias = tw::where(m, zero, least).template to<Narrow>().template to<float>();
    Numbers want, padded, joined;
    const double narrow = number_of(Narrow(static_cast<float>(low)));
    for (int r = 0; r < 6; ++r) {
      Numbers s;
      double sum = 0, most = -kInfinity;
      for (int c = 0; c < 7; ++c) s.push_back(static_cast<float>(hx[r * 7 + c] + (hm[r * 7 + c] != 0 ? 0 : narrow)));
      for (double v : s) most = std::max(most, v);
      for (double v : s) sum += std::exp(v - most);
      for (double v : s) want.push_back(std::exp(v - most) / sum);
      padded.push_back(narrow);
      for (int c = 0; c < 7; ++c) padded.push_back(number_of(Narrow(hx[r * 7 + c])));
    }
    for (int i = 0; i < 7; ++i) joined.push_back(narrow);
    for (float v : hx) joined.push_back(number_of(Narrow(v)));
    p.output("softmax", tw::softmax(x + bias, 1), want, 2e-2);
    p.output("padded", tw::pad(x, 1, 1, 0, static_cast<float>(low)).template to<Narrow>().template to<float>(), padded, 1e-2);
    p.output("joined", tw::concat({tw::broadcast_to(least, {1, 7}), x}, 0).template to<Narrow>().template to<float>(), joined, 1e-2);
    p.check();
  };
  check(tw::f16(), -1e9);
  check(tw::f16(), -1000);
  check(tw::bf16(), -1e9);
  check(tw::bf16(), -3.4e38);
}

TEST_CASE("graph constants: tables, reductions and what is out of range have the values of their types in every mode") {
  const std::vector<float> hx = normal(8, 1);
  const tw::PlanOptions modes[] = {
      {}, {.fuse = false}, {.reassociate = false}, {.move_rounding = false}, {.batch_invariant = true}, {.check = true}};
  for (std::size_t mode = 0; mode < std::size(modes); ++mode) {
    CAPTURE(mode);
    Program p;
    const auto x = p.input("x", {8}, hx);
    const auto infinite = tw::full<float>(p.graph, {8}, std::numeric_limits<float>::infinity());
    p.output("integers", infinite.to<std::uint64_t>(), Numbers(8, 0x1p64), 0);
    p.output("not numbers", (infinite - infinite).to<std::int64_t>(), Numbers(8, 0), 0);
    Numbers times_256, halves, quotients;
    for (std::size_t i = 0; i < hx.size(); ++i) {
      times_256.push_back(hx[i] * 256);
      halves.push_back(hx[i] * (i % 2 == 0 ? kInfinity : 0));
      quotients.push_back(hx[i] < 0 ? kInfinity : -kInfinity);
    }
    const auto ones = tw::sum(tw::full<float>(p.graph, {257}, 1.0f), 0);
    p.output("sum", x * ones.to<tw::bf16>().to<float>(), times_256, 0);
    const auto table = p.graph.constant<float>({70000.0f, 1e-10f, 70000.0f, 1e-10f, 70000.0f, 1e-10f, 70000.0f, 1e-10f}, {8});
    p.output("table", x * table.to<tw::f16>().to<float>(), halves, 0);
    p.output("quotients", x / tw::full<float>(p.graph, {}, -0.0f), quotients, 0);
    p.check_on_all(modes[mode]);
  }
}

}  // namespace
}  // namespace graph_program
