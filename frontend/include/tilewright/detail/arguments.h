// Converts the arguments of a launch from C++ types to words, and finds the argument attributes that a specialization relies on.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tilewright/buffer.h"
#include "tilewright/constants.h"
#include "tilewright/elements.h"
#include "tilewright/here.h"
#include "tilewright/short_vector.h"
#include "tilewright/view.h"

namespace tilewright {

/// A stand-in for a pointer, for compile(); see pointer().
template <class T>
struct PointerStandIn {
  int alignment;
};
/// A stand-in for a number, for compile(); see scalar().
template <class T>
struct ScalarStandIn {
  int divisible_by;
};

namespace detail {

/// The pointer argument of a launch.
struct PointerArgument {
  const RawBuffer* buffer = nullptr;
  std::int64_t offset = 0;  // from the start of the buffer, in elements
  const void* raw = nullptr;
  int alignment = 0;  // in bytes, if this is a stand-in
  bool is_stand_in = false;
};

class KernelState;

/// Collects the run-time arguments of a launch in order, each as a word, and the compile-time constants in a key. The argument attributes
/// of a word are the facts that the specialization relies on: the alignment of a pointer, whether it shares memory with another one, the
/// power of two up to 16 that divides a number. Attributes never change a type.
class Arguments {
 public:
  /// Messages name the kernel.
  explicit Arguments(const Here& at, KernelState* kernel = nullptr) : at_(at), kernel_(kernel) {}

  void add_pointer(TypeCode, const PointerArgument&);
  void add_value(Code, std::uint64_t bits);
  void add_stand_in(Code, std::int64_t divisible_by);
  void add_view(TypeCode, const HostView&, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides);
  template <Constant T>
  void add_constant(const T& value) {
    detail::add_constant(key_, value);
    advance();
  }
  /// Words added until the matching end_fields() are fields of one argument, including fields of nested structs.
  void begin_fields();
  void end_fields();
  /// Throws Error: the number is not in the range from `least` to `greatest`.
  [[noreturn]] void refuse_number(Scalar number, Scalar least, Scalar greatest) const;

  struct Word {
    TypeCode type;
    std::int64_t divisible_by;  // an argument attribute, as in ir::Param
    bool disjoint = false;      // an argument attribute: no other pointer leads to the same memory
    bool positive = false;      // an argument attribute: an integer from 1 to 2^31 - 1
  };
  /// The memory that a pointer can reach: its buffer. Without a buffer only the address is known; it is then both `begin` and `end`.
  struct Reach {
    std::size_t word;
    std::uint64_t begin, end;
    const RawBuffer* buffer;
  };
  /// Whether two pointers may reach a common byte.
  static bool may_meet(const Reach&, const Reach&);
  std::span<const std::uint64_t> bits() const { return bits_; }
  std::span<const Word> words() const { return words_; }
  /// For targets on which it makes no difference whether an integer is positive: then there are fewer specializations.
  void forget_signs();
  /// The reach of every pointer that is not null.
  std::span<const Reach> reaches() const { return reaches_; }
  /// The reach of every pointer that a kernel may write through.
  std::vector<Reach> written() const;
  /// The device of the buffers among the arguments; null if there is none.
  rt::Device* device() const { return device_; }
  /// Holds the constants only; the launch adds the rest of the key.
  KernelKey& key() { return key_; }

 private:
  void add_word(TypeCode, std::uint64_t bits, std::int64_t divisible_by);
  void add_integer(std::int64_t value);
  void compare_with_others(const PointerArgument&, std::uint64_t address);
  void add_device(rt::Device*);
  void add_pointer_word(TypeCode, const PointerArgument&);
  void advance();
  [[noreturn]] void fail(const std::string& message) const;

  static constexpr std::size_t kUsual = 24;  // words; more than this need an allocation

  Here at_;
  KernelState* kernel_;  // for messages; null for none
  // The number of an argument in messages; fields of nested structs are counted consecutively.
  struct Position {
    int argument = 0, field = -1;
    std::string text() const;
  };

  Position position_;
  int depth_ = 0;  // nesting depth of structs
  ShortVector<std::uint64_t, kUsual> bits_;
  ShortVector<Word, kUsual> words_;
  ShortVector<Reach, kUsual / 2> reaches_;
  rt::Device* device_ = nullptr;
  Position device_position_;
  KernelKey key_;
};

/// The number of words before the next parameter, and the launch that is being traced.
struct TracedWords {
  int next = 0;
  Here at;
};

/// Whether a launch takes an S for a parameter of element type T: an integer for an integer, a float for a float. The launch checks that
/// the value fits; a float is rounded.
template <class S, class T>
concept NumberFor = std::same_as<S, T> || (HostInteger<S> && HostInteger<T>) || (std::floating_point<S> && std::floating_point<T>);

/// The number argument of a launch for a parameter of type T.
template <class T>
struct NumberArgument {
  template <class S>
    requires NumberFor<S, T>
  NumberArgument(S v) : value(static_cast<T>(v)) {
    if constexpr (std::same_as<S, T>)
      return;
    else if constexpr (HostInteger<S>)
      fits = static_cast<S>(value) == v && (value < T{}) == (v < S{});
    else
      fits = !std::isinf(value) || std::isinf(v);
    if (!fits) given = for_message(v);
  }
  void expect_fit(const Arguments& to) const {
    using Limits = std::numeric_limits<T>;
    if (!fits) to.refuse_number(given, for_message(Limits::lowest()), for_message(Limits::max()));
  }
  template <class S>
  static Scalar for_message(S v) {
    if constexpr (std::floating_point<S>)
      return Scalar(static_cast<double>(v));  // long double too
    else
      return Scalar(v);
  }
  T value{};
  bool fits = true;
  Scalar given;  // the number that does not fit
};
/// A number of a type that a launch does not convert.
template <class T>
  requires(!std::is_arithmetic_v<T> || std::same_as<T, bool>)
struct NumberArgument<T> {
  template <class S>
    requires std::same_as<S, T>
  NumberArgument(S v) : value(v) {}
  void expect_fit(const Arguments&) const {}
  T value{};
};

/// For a kernel's parameter of type P: the argument type of a launch (Argument) and of compile() (StandIn), its conversion to words or a
/// part of the key (add), and the argument of the kernel's function while tracing (traced). Aggregates and enums are passed as they are, so
/// braces work.
template <class P>
struct Parameter {
  using Argument = P;
  using StandIn = P;
  static void add(Arguments& to, const P& value) { to.add_constant(value); }
  static P traced(TracedWords&, const P& value) { return value; }

  // This assertion is last because Clang drops the conditions that follow a failed one.
  static_assert(
      !holds_pointer<P>(),
      "a compile-time parameter of a kernel is not a pointer, since what it points to may change: take std::string for text, std::array "
      "or a struct for values, tw::Ptr<const T> for memory of the device");
  static_assert(holds_pointer<P>() || Constant<P>,
                "a parameter of a kernel is a handle, a view, a number, a bool, an enum, an aggregate of at most 16 of these, or has == "
                "and std::hash");
};

template <class P>
  requires std::is_arithmetic_v<P>
struct Parameter<P> {
  using Argument = NumberArgument<P>;
  using StandIn = Argument;
  static void add(Arguments& to, const Argument& a) {
    a.expect_fit(to);
    to.add_constant(a.value);
  }
  static P traced(TracedWords&, const Argument& a) { return a.value; }
};

template <ValueElement T>
struct Parameter<Tile<T>> {
  struct Argument : NumberArgument<T> {
    using NumberArgument<T>::NumberArgument;
    explicit Argument(ScalarStandIn<T> s) : NumberArgument<T>(T{}), is_stand_in(true), divisible_by(s.divisible_by) {}
    bool is_stand_in = false;
    int divisible_by = 1;
  };
  struct StandIn : Argument {
    using Argument::Argument;
    StandIn(ScalarStandIn<T> s) : Argument(s) {}
  };
  static void add(Arguments& to, const Argument& a) {
    a.expect_fit(to);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &a.value, sizeof a.value);
    a.is_stand_in ? to.add_stand_in(CodeOf<T>::value, a.divisible_by) : to.add_value(CodeOf<T>::value, bits);
  }
  static Tile<T> traced(TracedWords& words, const Argument&) { return parameter<T>(words.next++); }
};

// Host compilers print the parameters of a deleted constructor, so the name of this type is the message.
struct a_const_buffer_is_read_only_and_needs_a_Ptr_to_const {};

template <PointerElement P>
struct Parameter<Tile<P>> {
  using T = Pointee<P>;
  static constexpr bool kReadOnly = std::is_const_v<std::remove_pointer_t<P>>;
  template <class U>
  static constexpr bool kLeads = std::same_as<U*, P> || std::same_as<const U*, P>;

  struct Argument : PointerArgument {
    Argument(const Buffer<T>& b)
      requires kReadOnly
        : PointerArgument{.buffer = &b.raw()} {}
    Argument(Buffer<T>& b)
      requires(!kReadOnly)
        : PointerArgument{.buffer = &b.raw()} {}
    Argument(Buffer<T>&& b)
      requires(!kReadOnly)
        : PointerArgument{.buffer = &b.raw()} {}
    Argument(const Buffer<T>&, a_const_buffer_is_read_only_and_needs_a_Ptr_to_const = {})
      requires(!kReadOnly)
    = delete;
    template <class U>
      requires kLeads<U>
    Argument(BufferAt<U> b) : PointerArgument{.buffer = &b.buffer->raw(), .offset = b.offset} {}
    Argument(std::nullptr_t) {}
    template <class U>
      requires kLeads<U>
    Argument(U* p) : PointerArgument{.raw = p} {}
    template <class U>
      requires kLeads<U>
    explicit Argument(PointerStandIn<U> s) : PointerArgument{.alignment = s.alignment, .is_stand_in = true} {}
  };
  struct StandIn : Argument {
    using Argument::Argument;
    template <class U>
      requires kLeads<U>
    StandIn(PointerStandIn<U> s) : Argument(s) {}
  };
  static void add(Arguments& to, const Argument& a) { to.add_pointer(kCode<P>, a); }
  static Tile<P> traced(TracedWords& words, const Argument&) { return parameter<P>(words.next++); }
};

template <class T, int R>
struct Parameter<View<T, R>> {
  using Argument = View<T, R>;
  using StandIn = View<T, R>;
  using Access = ViewAccess<T, R>;
  static void add(Arguments& to, const Argument& v) { to.add_view(kCode<T*>, Access::host(v), Access::extents(v), Access::strides(v)); }
  static View<T, R> traced(TracedWords& words, const Argument& v) {
    auto base = parameter<T*>(words.next++);
    PerAxis<I64, R> extents, strides;
    for (I64& e : extents) e = parameter<std::int64_t>(words.next++);
    // A stride of 1 is known to the specialization: it decides how adjacent elements are loaded.
    for (std::size_t i = 0; i < strides.size(); ++i, ++words.next)
      strides[i] = Access::strides(v)[i] == 1 ? I64(1, words.at) : parameter<std::int64_t>(words.next);
    return Access::parameter(std::move(base), std::move(extents), std::move(strides));
  }
};

}  // namespace detail
}  // namespace tilewright
