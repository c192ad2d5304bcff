// The tuner launches a kernel with the configuration that was measured to be the fastest, and measures configurations.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tilewright/detail/tuning.h"
#include "tilewright/kernel.h"

namespace tilewright {

/// The report of a search after each configuration that it tried.
struct TuningProgress {
  std::string kernel, problem, configuration;
  std::size_t position = 0, candidates = 0;           // counted from 1; the number of candidates
  std::optional<double> microseconds;                 // empty: it needs more resources than the device has
  double best_microseconds = 0;                       // the best so far
  std::string best;                                   // the configuration with best_microseconds
  bool is_done = false;                               // the last report: `configuration` is the result
  std::optional<double> predicted_microseconds = {};  // the prediction for this configuration by the kernel library's model
};
/// Reports the progress of every search to `sink`, on the thread that searches; an empty `sink` ends this. It must not call the library.
void set_tuning_progress(std::function<void(const TuningProgress&)> sink);

/// A number of milliseconds.
struct Milliseconds {
  template <class T>
    requires std::is_arithmetic_v<T>
  Milliseconds(T ms) : value(static_cast<double>(ms)) {}
  template <class R, class P>
  Milliseconds(std::chrono::duration<R, P> d) : value(std::chrono::duration<double, std::milli>(d).count()) {}
  double value;
};

/// Excludes configurations: a function that is true for a configuration to exclude, or a function of all that returns those that remain.
template <class C>
class Prune {
 public:
  Prune() = default;
  Prune(std::nullptr_t) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Prune> && std::is_invocable_r_v<bool, const F&, const C&>)
  Prune(F f)
      : left_([f = std::move(f)](std::vector<C> all) {
          std::erase_if(all, [&](const C& c) { return static_cast<bool>(f(c)); });
          return all;
        }) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Prune> && !std::is_invocable_v<const F&, const C&> &&
             std::is_invocable_r_v<std::vector<C>, const F&, std::vector<C>>)
  Prune(F f) : left_(std::move(f)) {}
  std::vector<C> operator()(std::vector<C> all) const { return left_ ? left_(std::move(all)) : all; }

 private:
  std::function<std::vector<C>(std::vector<C>)> left_;
};

/// Options of a tuner: what it measures, and when.
template <class C>
struct TunerOptions {
  TuningKey key = {};               // shapes, rounded as you like: the facts that the best configuration depends on
  Prune<C> prune = {};              // excludes configurations
  Milliseconds budget_ms = 10'000;  // limit of a search, including compilations; 0: no limit
  Extent max_measured = 30;         // the greatest number of configurations to measure
  bool tune = false;                // measure if nothing is known for the key
  bool restore = true;              // restore what measured launches wrote; not needed if a launch overwrites all that it reads
};

namespace detail {

/// The launch for a configuration: a Launch, a grid, or a function of the configuration that returns either.
template <class C>
class LaunchFor {
 public:
  LaunchFor(const Launch& launch) : of_([launch](const C&) { return launch; }) {}
  template <std::convertible_to<Grid> G>
  LaunchFor(const G& grid) : LaunchFor(Launch{.grid = grid}) {}
  template <class F>
    requires std::is_invocable_r_v<Launch, const F&, const C&>
  LaunchFor(const F& f) : of_([&f](const C& c) -> Launch { return f(c); }) {}
  template <class F>
    requires(!std::is_invocable_r_v<Launch, const F&, const C&> && std::is_invocable_r_v<Grid, const F&, const C&>)
  LaunchFor(const F& f) : of_([&f](const C& c) { return Launch{.grid = f(c)}; }) {}

  /// Uses num_warps and num_stages of the configuration, if it has them.
  Launch operator()(const C& c) const {
    Launch launch = of_(c);
    if constexpr (requires { launch.num_warps = static_cast<int>(c.num_warps); }) launch.num_warps = static_cast<int>(c.num_warps);
    if constexpr (requires { launch.num_stages = static_cast<int>(c.num_stages); }) launch.num_stages = static_cast<int>(c.num_stages);
    return launch;
  }

 private:
  std::function<Launch(const C&)> of_;
};

template <class... P>
struct TypeList {};

/// The parameters of a kernel before and after its parameter of type C. `count`: how many have this type.
template <class C, class Before, class... P>
struct SplitAt {
  static constexpr int count = 0;
};
template <class C, class... B, class P, class... A>
struct SplitAt<C, TypeList<B...>, P, A...> : SplitAt<C, TypeList<B..., P>, A...> {};
template <class C, class... B, class... A>
struct SplitAt<C, TypeList<B...>, C, A...> {
  static constexpr int count = 1 + SplitAt<C, TypeList<>, A...>::count;
  using Before = TypeList<B...>;
  using After = TypeList<A...>;
};

/// Whether P is a struct of constants. A configuration list that is written without a type has this type.
template <class P>
concept ConfigurationStruct = std::is_aggregate_v<P> && std::is_class_v<P> && !std::is_empty_v<P> && Constant<P>;
template <class... P>
struct OnlyConfiguration {};
template <class P, class... Rest>
struct OnlyConfiguration<P, Rest...> : OnlyConfiguration<Rest...> {};
template <ConfigurationStruct P, class... Rest>
  requires(!ConfigurationStruct<Rest> && ...)
struct OnlyConfiguration<P, Rest...> {
  using type = P;
};
template <class... P>
using OnlyConfigurationOf = typename OnlyConfiguration<std::remove_cvref_t<P>...>::type;

/// The base of tuners of all signatures.
template <class Signature, class C>
class TunerOf {
 public:
  TunerOf(Kernel<Signature> kernel, std::vector<C> all, const TunerOptions<C>& options, const Here& at)
      : kernel_(std::move(kernel)), options_(options), configurations_(options.prune(all)) {
    check_tuner(kernel_.name(at), all.size(), configurations_.size(), options.budget_ms.value, options.max_measured.value, at);
    for (const C& c : configurations_) names_.push_back(text_of_constant(c));
    problem_ = options.key.text() + ";types " + types_text(typeid(Signature));
  }

  /// The configurations that remain after prune, in the order in which they are tried.
  const std::vector<C>& configurations() const { return configurations_; }

  /// Calls run(configuration) with the best known configuration. `run` launches by itself, on `device` and on the calling thread. If
  /// buffers are written by launches, runs of plans and uploads in `run`, every measured call finds their memory as the first call did.
  template <class F>
    requires std::is_void_v<std::invoke_result_t<const F&, const C&>>
  void operator()(const F& run, const Device& device, Here at = Here::current()) const {
    const auto launch = [&](std::size_t i) { run(configurations_[i]); };
    launch(tuned_configuration(request({}, {}, true, device.handle().get(), launch), at));
  }

 protected:
  TuningRequest request(const StreamRef& stream, std::vector<Arguments::Reach> written, bool follow_writes, rt::Device* device,  // NOLINT
                        std::function<void(std::size_t)> launch) const {  // NOLINT(performance-unnecessary-value-param): both are moved
    return {.kernel = kernel_.name(Here()),
            .problem = problem_,
            .configurations = names_,
            .budget_ms = options_.budget_ms.value,
            .max_measured = options_.max_measured.value,
            .tune = options_.tune,
            .restore = options_.restore,
            .stream = stream,
            .written = std::move(written),
            .follow_writes = follow_writes,
            .device = device,
            .launch = std::move(launch)};
  }

  Kernel<Signature> kernel_;
  TunerOptions<C> options_;
  std::vector<C> configurations_;
  std::vector<std::string> names_;
  std::string problem_;
};

/// Launches a kernel whose parameters are B..., the configuration, and A....
template <class Signature, class C, class Before, class After>
class TunerLaunch;
template <class Signature, class C, class... B, class... A>
class TunerLaunch<Signature, C, TypeList<B...>, TypeList<A...>> : public TunerOf<Signature, C> {
 public:
  using Base = TunerOf<Signature, C>;
  using Base::Base;
  using Base::operator();

  /// Launches with the best known configuration of the key, or the first configuration if none is known. `launch_of` is a Launch, a grid,
  /// or a function of a configuration that returns either; num_warps and num_stages of the configuration take precedence. The other
  /// arguments are those of the kernel without the configuration.
  void operator()(const LaunchFor<C>& launch_of, LaunchArgument<B>... before, LaunchArgument<A>... after, Here at = Here::current()) const {
    const std::vector<C>& all = this->configurations_;
    const Launch first = launch_of(all[0]);
    Arguments arguments(at);
    (Parameter<std::remove_cvref_t<B>>::add(arguments, before), ...);
    Parameter<C>::add(arguments, all[0]);
    (Parameter<std::remove_cvref_t<A>>::add(arguments, after), ...);
    const auto launch = [&](std::size_t i) { this->kernel_(i == 0 ? first : launch_of(all[i]), before..., all[i], after..., at); };
    launch(tuned_configuration(this->request(first.stream, arguments.written(), false, device_of_launch(arguments, first), launch), at));
  }
  void operator()(const Launch& launch, LaunchArgument<B>... before, LaunchArgument<A>... after, Here at = Here::current()) const {
    (*this)(LaunchFor<C>(launch), std::move(before)..., std::move(after)..., at);
  }
};

template <class Signature, class C, class Split>
struct TunerBase {
  using type = TunerOf<Signature, C>;  // launches only by run(configuration)
};
template <class Signature, class C, class Split>
  requires(Split::count == 1)
struct TunerBase<Signature, C, Split> {
  using type = TunerLaunch<Signature, C, typename Split::Before, typename Split::After>;
};

}  // namespace detail

/// A tuner for a kernel signature and a configuration type, both deduced from the constructor's arguments.
template <class Signature, class C>
class Tuner;

/// Launches a kernel with the fastest of several configurations. `C` is the type of one compile-time parameter of the kernel, usually a
/// struct with tile sizes, and with num_warps and num_stages if they vary. Known results come from the wisdom file; with
/// TunerOptions::tune, a launch with an unknown key measures first. The first configuration should be the best guess.
///
/// Each measured launch finds the memory that the kernel may write as the first one did; the last launch does the real work on it. Every
/// function may be called from many threads at once; one search runs at a time.
template <class... P, class C>
class Tuner<void(P...), C>
    : public detail::TunerBase<void(P...), C, detail::SplitAt<C, detail::TypeList<>, std::remove_cvref_t<P>...>>::type {
  using Base = typename detail::TunerBase<void(P...), C, detail::SplitAt<C, detail::TypeList<>, std::remove_cvref_t<P>...>>::type;

 public:
  /// Throws Error if there are no configurations, or if TunerOptions::prune excludes all.
  Tuner(Kernel<void(P...)> kernel, std::initializer_list<C> configurations, const TunerOptions<C>& options = {}, Here at = Here::current())
      : Base(std::move(kernel), std::vector<C>(configurations), options, at) {}
  template <std::ranges::input_range R>
    requires std::convertible_to<std::ranges::range_reference_t<const R&>, C>
  Tuner(Kernel<void(P...)> kernel, const R& configurations, const TunerOptions<C>& options = {}, Here at = Here::current())
      : Base(std::move(kernel), std::vector<C>(std::ranges::begin(configurations), std::ranges::end(configurations)), options, at) {}
};

// A list without types, as in {{64, 64}, {128, 64}}, has the type of the only struct among the kernel's parameters.
template <class... P>
  requires requires { typename detail::OnlyConfigurationOf<P...>; }
Tuner(Kernel<void(P...)>, std::initializer_list<detail::OnlyConfigurationOf<P...>>, TunerOptions<detail::OnlyConfigurationOf<P...>> = {},
      Here = Here()) -> Tuner<void(P...), detail::OnlyConfigurationOf<P...>>;
template <class... P, class C>
  requires(!requires { typename detail::OnlyConfigurationOf<P...>; })
Tuner(Kernel<void(P...)>, std::initializer_list<C>, TunerOptions<C> = {}, Here = Here()) -> Tuner<void(P...), C>;
template <class... P, std::ranges::input_range R>
Tuner(Kernel<void(P...)>, const R&, TunerOptions<std::remove_cvref_t<std::ranges::range_reference_t<const R&>>> = {}, Here = Here())
    -> Tuner<void(P...), std::remove_cvref_t<std::ranges::range_reference_t<const R&>>>;

}  // namespace tilewright
