// Kernels: C++ functions over tiles. The host compiler checks the arguments of a launch against the function's parameter types.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tilewright/detail/signature.h"
#include "tilewright/launch.h"

namespace tilewright {

namespace graph {
class OpaqueKernel;
}

/// A placeholder for a pointer in compile(). It is aligned to this many bytes, a power of two; no other argument leads to its memory.
template <class T>
PointerStandIn<T> pointer(int alignment = 16) {
  return {alignment};
}
/// A placeholder for a number in compile(); the number is a multiple of `divisible_by`.
template <class T>
ScalarStandIn<T> scalar(int divisible_by = 1) {
  return {divisible_by};
}
/// A placeholder for a row-major view in compile().
template <class T, std::size_t R>
View<T, static_cast<int>(R)> view(PointerStandIn<T> p, const Extent (&extents)[R], Here at = Here::current()) {
  return detail::ViewAccess<T, static_cast<int>(R)>::make({nullptr, p.alignment}, extents, nullptr, at);
}

/// The duration of a phase of a compilation.
struct Timing {
  std::string phase;
  double ms;
};
/// The resources of a compiled kernel; a value of -1 is not known.
struct Resources {
  int registers = -1, spill_bytes = -1, shared_bytes = -1, num_warps = -1;
};

/// The results of compile() as texts for people to read. A text is empty if the target does not have it.
class Compiled {
 public:
  struct Parts {
    std::string target, ptx, tile_ir, llvm_ir, assembly;
    std::vector<Timing> timings;
    Resources resources;
  };
  explicit Compiled(Parts parts) : parts_(std::move(parts)) {}
  const std::string& ptx() const { return parts_.ptx; }
  /// The tile IR after all passes.
  const std::string& tile_ir() const { return parts_.tile_ir; }
  const std::string& llvm_ir() const { return parts_.llvm_ir; }
  const std::string& assembly() const { return parts_.assembly; }
  /// The duration of each phase, in order; the first is "trace".
  const std::vector<Timing>& timings() const { return parts_.timings; }
  /// For PTX, registers and spills are known only if NVIDIA's assembler is installed (TILEWRIGHT_PTXAS, or ptxas on PATH). Each call runs
  /// it.
  Resources resources() const;

 private:
  Parts parts_;
};

namespace detail {

/// A kernel without its signature: its name and its compiled specializations.
class KernelState;
std::shared_ptr<KernelState> make_kernel(std::string name);
/// Throws Error if the kernel has been moved from.
const std::string& name_of(KernelState*, const Here&);

/// Calls the kernel's function with the parameters of the current trace. If `call` is null, the function is null too.
struct Body {
  void (*call)(void* context);
  void* context;
};
void launch(KernelState*, const Launch&, Arguments&, Body, const Here&);
void set_max_specializations(KernelState*, std::int64_t count, const Here&);
Compiled compile(KernelState*, std::string_view target, const Launch&, Arguments&, Body, const Here&);
std::shared_ptr<graph::OpaqueKernel> trace_for_graph(KernelState*, const Launch&, Arguments&, Body, const Here&);

}  // namespace detail

template <class Signature>
class Kernel;

/// The number of compiled specializations that a kernel keeps, unless Kernel::set_max_specializations changes it.
inline constexpr int kMostSpecializations = 512;

/// A kernel with its compiled specializations, one for each combination of constants, argument attributes, options and device. Copies
/// share them. Every function may be called from many threads at once.
///
/// The function runs once for each specialization, when it is traced, not at each launch. Captures of a lambda are read at that time: if
/// it captures a variable by reference or through a pointer, a later value affects only specializations that are compiled later. So capture
/// by value, or make it a parameter.
template <class... P>
class Kernel<void(P...)> {
 public:
  /// `name` appears in messages, in dumps and in GPU profiles. On the cpu, no profiler or debugger shows it.
  Kernel(std::string name, std::function<void(P...)> f) : state_(detail::make_kernel(std::move(name))), f_(std::move(f)) {}

  /// Runs one program for each point of the grid. Compiles first if this specialization is new. Arguments may share memory. A raw pointer
  /// may point anywhere into an allocation, or to its end.
  void operator()(const Launch& launch, detail::LaunchArgument<P>... args, Here at = Here::current()) const {
    detail::Arguments arguments(at, state_.get());
    (Parameter<P>::add(arguments, args), ...);
    auto body = [&] { call(at, args...); };
    detail::launch(state_.get(), launch, arguments, erased(body), at);
  }

  /// Compiles for a target ("cpu", "sm_90a") without a device, anew at each call. Also takes pointer(), scalar() and view() of pointer().
  Compiled compile(std::string_view target, const Launch& launch, detail::CompileArgument<P>... args, Here at = Here::current()) const {
    detail::Arguments arguments(at, state_.get());
    (Parameter<P>::add(arguments, args), ...);
    auto body = [&] { call(at, args...); };
    return detail::compile(state_.get(), target, launch, arguments, erased(body), at);
  }

  /// How many compiled specializations are kept, at least 1 (default: kMostSpecializations). A new one replaces the least recently used
  /// one, which is unloaded as soon as no launch runs it. A captured CUDA graph needs its specializations for as long as it is used.
  void set_max_specializations(Extent count, Here at = Here::current()) const {
    detail::set_max_specializations(state_.get(), count.value, at);
  }

  // For use by the library only.
  const std::string& name(const Here& at) const { return detail::name_of(state_.get(), at); }
  // For use by the library only: the function as a node of a graph has it. Each word of an argument is a number; a stand-in's word is 0.
  std::shared_ptr<graph::OpaqueKernel> traced(const Launch& options, const detail::CompileArgument<P>&... args, const Here& at) const {
    detail::Arguments arguments(at, state_.get());
    (Parameter<P>::add(arguments, args), ...);
    auto body = [&] { call(at, args...); };
    return detail::trace_for_graph(state_.get(), options, arguments, erased(body), at);
  }

 private:
  template <class Q>
  using Parameter = detail::Parameter<std::remove_cvref_t<Q>>;

  template <class... A>
  void call(const Here& at, const A&... args) const {
    [[maybe_unused]] detail::TracedWords words{0, at};
    // A braced list is evaluated from left to right, in the order in which the words were added.
    std::tuple<std::remove_cvref_t<P>...> values{Parameter<P>::traced(words, args)...};
    std::apply([&](auto&... v) { f_(static_cast<P&&>(v)...); }, values);
  }
  template <class F>
  detail::Body erased(F& body) const {
    if (!f_) return {nullptr, nullptr};
    return {[](void* context) { (*static_cast<F*>(context))(); }, &body};
  }

  std::shared_ptr<detail::KernelState> state_;
  std::function<void(P...)> f_;
};

template <detail::KernelFunction F>
Kernel(std::string, F) -> Kernel<typename detail::SignatureOf<F>::type>;
// For other types: the host compiler's error at the user's line contains this name.
struct a_kernel_is_one_const_function_that_returns_void_and_no_generic_lambda;
template <class F>
Kernel(std::string, F) -> Kernel<a_kernel_is_one_const_function_that_returns_void_and_no_generic_lambda>;

}  // namespace tilewright
