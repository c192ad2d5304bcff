// Traces kernels written as lambdas and runs them on the interpreter.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/trace/ir_type.h"
#include "frontend/trace/trace.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/text/printer.h"
#include "tilewright/ops.h"

namespace traced {

namespace tw = tilewright;

template <class F>
struct Parameters : Parameters<decltype(&F::operator())> {};
template <class L, class... T>
struct Parameters<void (L::*)(tw::Tile<T>...) const> {
  static tw::ir::Function trace(const L& body, const std::string& name) {
    std::vector<tw::detail::TracedParam> params;
    (params.push_back({tw::detail::ir_type(tw::detail::kCode<T>), {"p" + std::to_string(params.size()), 1}}), ...);
    return tw::detail::trace_kernel(name, params,
                                    [&] {
                                      [&]<std::size_t... I>(std::index_sequence<I...>) {
                                        body(tw::detail::parameter<T>(int(I))...);
                                      }(std::index_sequence_for<T...>());
                                    },
                                    {"launch.cpp", 1, 1});
  }
};

/// The verified function of a kernel.
template <class L>
tw::ir::Function trace(const L& body, const std::string& name = "kernel") {
  return Parameters<L>::trace(body, name);
}

template <class T>
std::uint64_t word(std::vector<T>& v) {
  return reinterpret_cast<std::uint64_t>(v.data());
}
template <class T>
  requires std::is_trivially_copyable_v<T>
std::uint64_t word(const T& v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

/// Traces and runs a kernel, one program unless a grid is given. Vectors are passed by address.
template <class L, class... A>
void run_grid(std::array<std::int32_t, 3> grid, const L& body, A&&... arguments) {
  const std::vector<std::uint64_t> words{word(arguments)...};
  tw::ir::InterpretOptions options;
  options.grid = grid;
  tw::ir::interpret(trace(body), words, options);
}
template <class L, class... A>
void run(const L& body, A&&... arguments) {
  run_grid({1, 1, 1}, body, arguments...);
}

}  // namespace traced
