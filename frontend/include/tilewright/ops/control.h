// Run-time loops and branches. A native `for` over range() and lambdas are traced once; the trace finds the variables that they assign.
#pragma once
#include <concepts>
#include <optional>
#include <vector>

#include "tilewright/tile.h"

namespace tilewright {

/// num_stages: the number of iterations whose loads overlap (software pipelining), 1 to 8, if the target supports it. unroll: the number of
/// iterations that become one.
struct RangeOptions {
  std::optional<int> num_stages = {};
  int unroll = 1;
};

namespace detail {

/// The blocks and variables of one loop or branch while it is traced.
struct Region {
  std::uint32_t op = 0, outer = 0;
  std::vector<Variable> variables;
  std::vector<std::uint32_t> arguments;  // the value of each variable at the start of the body
};

/// Traces a range() loop. The body is traced between begin() and the increment of the iterator.
class Loop {
 public:
  Loop(const Input& lo, const Input& hi, const Input& step, bool wide, const RangeOptions&);
  /// Throws Error if the body was left by break, return or goto.
  ~Loop() noexcept(false);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  void open();
  void close();
  Made index() const { return index_; }

 private:
  Handle lo_, hi_, step_;
  RangeOptions options_;
  Here at_;
  Made index_{};
  Region region_;
  bool open_ = false;
  int exceptions_ = 0;
};

/// Traces the branches of a when().
class When {
 public:
  When(const Handle& condition, const Here&);
  ~When();
  When(const When&) = delete;
  When& operator=(const When&) = delete;
  void end_then();
  void end_otherwise();

 private:
  struct Arm {
    std::vector<std::uint32_t> values;  // values of Region::variables
    std::vector<Variable> fresh;        // variables that had no value before
  };
  Arm end_arm(int number);

  Here at_;
  Region region_;
  Arm then_;
  bool done_ = false;
};

/// Traces the condition and the body of a loop_while().
class While {
 public:
  explicit While(const Here&);
  ~While();
  While(const While&) = delete;
  While& operator=(const While&) = delete;
  void end_condition(const Handle&);
  void end_body();

 private:
  Here at_;
  Region region_;
  std::vector<std::uint32_t> forwarded_, body_arguments_;
  bool done_ = false;
};

template <class B>
concept Bound = OneOf<std::remove_cvref_t<B>, I32, I64> || HostInteger<std::remove_cvref_t<B>>;
template <class B>
inline constexpr bool kWide = std::same_as<B, I64> || (HostInteger<B> && sizeof(B) > 4);
template <class... B>
using Index = std::conditional_t<(kWide<B> || ...), std::int64_t, std::int32_t>;

struct Nothing {
  void operator()() const {}
};

}  // namespace detail

/// The result of range(), for use as: for (auto i : tw::range(0, n)) {...}. The body runs once, when it is traced.
template <class I>
class Range {
 public:
  struct End {};
  class Iterator {
   public:
    explicit Iterator(detail::Loop* loop) : loop_(loop) {}
    Tile<I> operator*() const { return Tile<I>(loop_->index()); }
    Iterator& operator++() {
      loop_->close();
      is_traced_ = true;
      return *this;
    }
    bool operator!=(End) const { return !is_traced_; }

   private:
    detail::Loop* loop_;
    bool is_traced_ = false;
  };
  Range(const detail::Input& lo, const detail::Input& hi, const detail::Input& step, const RangeOptions& options)
      : loop_(lo, hi, step, sizeof(I) == 8, options) {}
  Iterator begin() {
    loop_.open();
    return Iterator(&loop_);
  }
  End end() const { return {}; }

 private:
  detail::Loop loop_;
};

/// lo, lo + step, ... up to but not including hi; a negative step counts down. Bounds are scalars or C++ integers; the type is I64 if a
/// bound is 64 bits wide. break and return in the body are errors. An exception ends the trace and reaches the caller of the launch
/// unchanged.
template <detail::Bound Lo, detail::Bound Hi, detail::Bound Step = int>
Range<detail::Index<Lo, Hi>> range(const Lo& lo, const Hi& hi, const Step& step = 1, RangeOptions options = {}, Here at = Here::current()) {
  return Range<detail::Index<Lo, Hi>>(detail::input(lo, at), detail::input(hi, at), detail::input(step, at), options);
}

/// A run-time branch on a scalar. The functions may assign to variables outside.
template <std::invocable Then, std::invocable Otherwise = detail::Nothing>
void when(const Bool& condition, Then then, Otherwise otherwise = {}, Here at = Here::current()) {
  detail::When arms(condition, at);
  then();
  arms.end_then();
  otherwise();
  arms.end_otherwise();
}

/// Runs body while condition returns true.
template <class Condition, std::invocable Body>
  requires std::is_invocable_r_v<Bool, Condition>
void loop_while(Condition condition, Body body, Here at = Here::current()) {
  detail::While loop(at);
  {
    const Bool more = condition();
    loop.end_condition(more);
  }
  body();
  loop.end_body();
}

}  // namespace tilewright
