// Random kernels through the public interface: each call works, or throws an Error that names the line of the call.
#pragma once
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <variant>
#include <vector>

#include "tests/fuzz/random.h"
#include "tilewright/tilewright.h"

namespace tilewright::fuzz {

/// A handle of any of these types. Fewer than there are: every call is instantiated for each.
using AnyTile = std::variant<Bool, I8, I32, I64, U32, F16, F32, F64, Tile<f8e4m3>, Ptr<float>, Ptr<const std::int32_t>>;

/// The results of many calls.
struct Tally {
  std::uint64_t worked = 0, refused = 0;  // calls
  std::uint64_t kernels = 0, compiled = 0;
  std::optional<std::string> diagnostic;  // the first thing that must not be
};

/// The calls of one trace, drawn from a seed.
class Caller {
 public:
  Caller(std::uint64_t seed, Tally& tally) : r_(seed), tally_(tally) {}
  /// As the body of a kernel with these parameters. An error that ends the trace is thrown on.
  void trace(Ptr<float> x, Ptr<const std::int32_t> y, I32 n);
  /// Whether an error of the trace is one that some call of it may have thrown.
  bool expected(const Error&) const;

 private:
  using Step = void (Caller::*)();
  static const std::vector<Step>& steps();

  /// Runs one call, which stands on the same line. Its errors must name that line; they are counted and forgotten. An error of a loop or a
  /// branch may name any line traced so far, and ends the trace.
  template <class Call>
  void attempt(Call call, std::source_location at = std::source_location::current());
  template <class Body>
  void attempt_region(Body body, std::source_location at = std::source_location::current());
  void step();
  void some_steps(std::int64_t most);

  // ---- random arguments, most of them sound ----
  Shape shape();
  std::int64_t axis() { return r_.chance(85) ? r_.between(-2, 1) : r_.between(-9, 9); }
  std::int64_t extent();
  AnyTile& any() { return pool_[r_.below(pool_.size())]; }
  /// A handle of this type: one of the pool if there is one.
  template <class T>
  T of();
  void put(AnyTile tile);

  // ---- frontend_fuzz_tiles.cpp ----
  void create();
  void reshape();
  void unary();
  void binary();
  void convert();
  void combine();
  void choose();
  // ---- frontend_fuzz_effects.cpp ----
  void memory();
  void atomics();
  void products();
  void speak();
  void draw();
  void forget();
  void loop();
  void branch();

  Random r_;
  Tally& tally_;
  std::vector<AnyTile> pool_;
  std::vector<std::source_location> calls_;  // so far
  int depth_ = 0;
};

/// Traces, compiles and forgets one random kernel.
void fuzz_one_kernel(std::uint64_t seed, Tally&);

template <class T>
T Caller::of() {
  for (int i = 0; i < 20; ++i)
    if (const T* t = std::get_if<T>(&any())) return *t;
  return T();
}

template <class Call>
void Caller::attempt(Call call, std::source_location at) {
  calls_.push_back(at);
  try {
    call();
    ++tally_.worked;
  } catch (const Error& e) {
    ++tally_.refused;
    const std::string place = std::string(at.file_name()) + ":" + std::to_string(at.line()) + ":";
    if (!std::string_view(e.what()).starts_with(place) && !tally_.diagnostic)
      tally_.diagnostic = "the call at " + place + " throws an error of another place: " + e.what();
  }
}

template <class Body>
void Caller::attempt_region(Body body, std::source_location at) {
  calls_.push_back(at);
  body();
  ++tally_.worked;
}

}  // namespace tilewright::fuzz
