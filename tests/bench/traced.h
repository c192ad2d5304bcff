// C++ kernels traced without a launch, for benchmarks that look at each phase by itself.
#pragma once
#include <tilewright/tilewright.h>

#include <tuple>
#include <type_traits>
#include <vector>

#include "frontend/trace/ir_type.h"
#include "frontend/trace/trace.h"

namespace bench {

/// How a parameter of a kernel is traced. One that is not a tile is a constant: the next of `constants`.
struct Traced {
  std::vector<tilewright::detail::TracedParam> params;
  std::vector<int> constants;
  int next_param = 0, next_constant = 0;
};

template <class P>
struct Parameter {
  static void add(Traced&, int) {}
  static P value(Traced& t) { return t.constants.at(static_cast<std::size_t>(t.next_constant++)); }
};
template <class T>
struct Parameter<tilewright::Tile<T>> {
  /// Pointers to aligned memory of their own, as launches with distinct buffers have them; integers divisible by `divisible_by`.
  static void add(Traced& t, int divisible_by) {
    const int known = std::is_floating_point_v<T> ? 1 : std::is_pointer_v<T> ? 16 : divisible_by;
    t.params.push_back({tilewright::detail::ir_type(tilewright::detail::kCode<T>),
                        {.name = "p", .divisible_by = known, .disjoint = std::is_pointer_v<T>}});
  }
  static tilewright::Tile<T> value(Traced& t) { return tilewright::detail::parameter<T>(t.next_param++); }
};

/// The tile IR of a kernel whose compile-time parameters are `constants`.
template <class... P>
tilewright::ir::Function traced(void (*f)(P...), std::vector<int> constants, int divisible_by = 16) {
  Traced t;
  t.constants = std::move(constants);
  (Parameter<P>::add(t, divisible_by), ...);
  const auto body = [&] {
    std::tuple<P...> arguments{Parameter<P>::value(t)...};  // braces: from left to right
    std::apply(f, arguments);
  };
  return tilewright::detail::trace_kernel("kernel", t.params, body, {});
}

}  // namespace bench
