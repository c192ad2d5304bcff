// The parameters of a kernel's function, and the argument types of a launch and of compile() for each.
#pragma once
#include <type_traits>

#include "tilewright/detail/aggregate_parameter.h"
#include "tilewright/detail/arguments.h"

namespace tilewright::detail {

template <class P>
using LaunchArgument = typename Parameter<std::remove_cvref_t<P>>::Argument;
template <class P>
using CompileArgument = typename Parameter<std::remove_cvref_t<P>>::StandIn;

template <class F>
struct SignatureOf {};
/// A lambda or an object whose only operator() is not a template.
template <class F>
  requires requires { &F::operator(); }
struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};
#define TW_SIGNATURE(...)           \
  template <class... P>             \
  struct SignatureOf<__VA_ARGS__> { \
    using type = void(P...);        \
  };
TW_SIGNATURE(void (*)(P...))
TW_SIGNATURE(void (*)(P...) noexcept)
#undef TW_SIGNATURE
// Only const operators are accepted: the state of a mutable lambda would depend on which launches were compiled.
#define TW_SIGNATURE(...)           \
  template <class L, class... P>    \
  struct SignatureOf<__VA_ARGS__> { \
    using type = void(P...);        \
  };
TW_SIGNATURE(void (L::*)(P...) const)
TW_SIGNATURE(void (L::*)(P...) const noexcept)
#undef TW_SIGNATURE

/// A function, or a callable that has one const operator(), not a template, and returns void. For a generic lambda, name the parameters:
/// Kernel<void(Ptr<float>, int)>("name", lambda).
template <class F>
concept KernelFunction = requires { typename SignatureOf<F>::type; };

}  // namespace tilewright::detail
