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

/// A placeholder for a pointer in compile(): aligned to this many bytes, a power of two, to memory that no other argument leads to.
template <class T>
PointerStandIn<T> pointer(int alignment = 16) {
  return {alignment};
}
/// A placeholder for a number in compile(): a multiple of `divisible_by`.
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
/// The resources of a compiled kernel; -1 where not known.
struct Resources {
  int registers = -1, spill_bytes = -1, shared_bytes = -1, num_warps = -1;
};

/// The texts of compile(), to be read by people; empty if the target has no text of that kind.
class Compiled {
 public:
  struct Parts {
    std::string target, ptx, tile_ir, llvm_ir, assembly;
    std::vector<Timing> timings;
    Resources resources;
  };
  explicit Compiled(Parts parts) : parts_(std::move(parts)) {}
  const std::string& ptx() const { return parts_.ptx; }
  /// After all passes.
  const std::string& tile_ir() const { return parts_.tile_ir; }
  const std::string& llvm_ir() const { return parts_.llvm_ir; }
  const std::string& assembly() const { return parts_.assembly; }
  /// The duration of each phase, in order; the first is "trace".
  const std::vector<Timing>& timings() const { return parts_.timings; }
  /// Of PTX, registers and spills are known where NVIDIA's assembler is installed (TILEWRIGHT_PTXAS, or ptxas on PATH), which each call
  /// runs.
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

/// Calls the kernel's function with the parameters of the current trace. No `call`: the function is null.
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

/// The number of compiled specializations that a kernel keeps unless Kernel::set_max_specializations changes it.
inline constexpr int kMostSpecializations = 512;

/// A kernel with its compiled specializations, one for each combination of constants, classes of arguments, options and device. Copies
/// share them. Every function may be called from many threads at once.
///
/// The function runs once for each specialization, when it is traced, and not at each launch. Captures of a lambda are read at that time:
/// if it captures a variable by reference or through a pointer, a later value only changes specializations that are compiled later. Capture
/// by value, or make it a parameter.
template <class... P>
class Kernel<void(P...)> {
 public:
  /// `name` appears in messages and dumps, and in profiles of a GPU; code of the cpu has no name that a profiler or a debugger sees.
  Kernel(std::string name, std::function<void(P...)> f) : state_(detail::make_kernel(std::move(name))), f_(std::move(f)) {}

  /// Runs one program for each point of the grid. Compiles first if this specialization is new. Arguments may share memory; a raw pointer
  /// leads to the allocation that it points into, or to the end of.
  void operator()(const Launch& launch, detail::LaunchArgument<P>... args, Here at = Here::current()) const {
    detail::Arguments arguments(at);
    (Parameter<P>::add(arguments, args), ...);
    auto body = [&] { call(at, args...); };
    detail::launch(state_.get(), launch, arguments, erased(body), at);
  }

  /// Compiles for a target ("cpu", "sm_90a") with no device, afresh at each call. Takes pointer(), scalar() and view() of pointer() too.
  Compiled compile(std::string_view target, const Launch& launch, detail::CompileArgument<P>... args, Here at = Here::current()) const {
    detail::Arguments arguments(at);
    (Parameter<P>::add(arguments, args), ...);
    auto body = [&] { call(at, args...); };
    return detail::compile(state_.get(), target, launch, arguments, erased(body), at);
  }

  /// How many compiled specializations are kept, at least 1; kMostSpecializations unless set. The least recently used one makes room for a
  /// new one and is unloaded when no launch runs it. A captured CUDA graph needs those that it launches for as long as it is used.
  void set_max_specializations(Extent count, Here at = Here::current()) const {
    detail::set_max_specializations(state_.get(), count.value, at);
  }

  // For the library itself.
  const std::string& name(const Here& at) const { return detail::name_of(state_.get(), at); }
  // For the library itself: the function as a node of a graph has it. Each word of an argument is a number; that of a stand-in is 0.
  std::shared_ptr<graph::OpaqueKernel> traced(const Launch& options, const detail::CompileArgument<P>&... args, const Here& at) const {
    detail::Arguments arguments(at);
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
    // Braces: from left to right, as the words were added.
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
// For other types: the host compiler's error at the user's line has these words.
struct a_kernel_is_one_const_function_that_returns_void_and_no_generic_lambda;
template <class F>
Kernel(std::string, F) -> Kernel<a_kernel_is_one_const_function_that_returns_void_and_no_generic_lambda>;

}  // namespace tilewright
