// Named arrays of a benchmark: their contents on the host, and their copies on a device, which kernels take as views.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tileir/type.h"
#include "tilewright/tilewright.h"

namespace tilewright::cli::bench {

using Shape = std::vector<std::int64_t>;

/// For instance "1024x512".
std::string text(const Shape&);
/// The product of the extents.
std::int64_t elements_of(const Shape&);

template <class T>
inline constexpr ir::Element kElement = static_cast<ir::Element>(tilewright::detail::CodeOf<T>::value);

/// A list of element types as C++ types.
template <class... T>
struct ElementTypes {};
/// All element types of benchmark arrays.
using ArrayTypes = ElementTypes<float, double, f16, bf16, f8e4m3, std::int8_t, std::uint8_t, std::int32_t, std::int64_t, bool>;

/// Calls f with a std::type_identity of the C++ type of an element, which must be in the list.
template <class T, class... More, class F>
decltype(auto) with_type(ElementTypes<T, More...>, ir::Element e, F&& f) {
  if constexpr (sizeof...(More) > 0) {
    if (e != kElement<T>) return with_type(ElementTypes<More...>(), e, std::forward<F>(f));
  }
  return f(std::type_identity<T>());
}
template <class F>
decltype(auto) with_type(ir::Element e, F&& f) {
  return with_type(ArrayTypes(), e, std::forward<F>(f));
}

struct Tensor {
  std::string name;
  ir::Element element;
  Shape shape;
  bool written = false;            // it is a result
  std::vector<std::byte> bytes{};  // contents before a launch

  std::int64_t elements() const { return elements_of(shape); }
};

/// An array with memory for its elements. Throws std::bad_alloc if the system would end the process when it uses the memory.
Tensor allocated(std::string name, ir::Element, Shape);
/// A hash of a counter (splitmix64).
std::uint64_t scrambled(std::uint64_t);
/// A seed for the random numbers of an array.
std::uint64_t seed_of(std::string_view name);

/// An input whose element i is value(i).
template <class T, class F>
Tensor input(std::string name, Shape shape, F value) {
  Tensor t = allocated(std::move(name), kElement<T>, std::move(shape));
  T* to = reinterpret_cast<T*>(t.bytes.data());
  for (std::int64_t i = 0, n = t.elements(); i < n; ++i) to[i] = T(value(i));
  return t;
}
/// An input of numbers uniform in [-1, 1), or integers in [-4, 4) for integer types. The name determines the seed.
template <class T>
Tensor random_input(std::string name, Shape shape) {
  const std::uint64_t seed = seed_of(name);
  return input<T>(std::move(name), std::move(shape), [seed](std::int64_t i) {
    const std::uint64_t hash = scrambled(seed + static_cast<std::uint64_t>(i));
    if constexpr (std::is_integral_v<T>)
      return static_cast<int>(hash >> 61) - 4;
    else if constexpr (std::is_same_v<T, double>)
      return static_cast<double>(hash >> 11) * 0x1p-52 - 1;
    else
      return static_cast<float>(hash >> 40) * 0x1p-23f - 1;
  });
}
/// An input of integers uniform in [0, below).
template <class T>
Tensor random_below(std::string name, Shape shape, std::int64_t below) {
  const std::uint64_t seed = seed_of(name), values = static_cast<std::uint64_t>(below);
  return input<T>(std::move(name), std::move(shape),
                  [=](std::int64_t i) { return scrambled(seed + static_cast<std::uint64_t>(i)) % values; });
}
/// An input that another kernel computes before the measured one; zeros until then.
template <class T>
Tensor prepared(std::string name, Shape shape) {
  return input<T>(std::move(name), std::move(shape), [](std::int64_t) { return 0; });
}
/// A result. It is first filled with NaN, or with the least integer, to detect elements that a kernel does not write.
template <class T>
Tensor result(std::string name, Shape shape) {
  Tensor t = input<T>(std::move(name), std::move(shape), [](std::int64_t) {
    if constexpr (std::is_integral_v<T>)
      return std::numeric_limits<T>::min();
    else
      return std::numeric_limits<float>::quiet_NaN();
  });
  t.written = true;
  return t;
}
/// An input that the kernel also changes.
inline Tensor changed(Tensor t) {
  t.written = true;
  return t;
}

/// Reads the elements of an array in double precision.
class Reader {
 public:
  Reader(const std::byte* data, ir::Element element) : data_(data), element_(element) {}
  double operator[](std::int64_t index) const;

 private:
  const std::byte* data_;
  ir::Element element_;
};

/// Copies of arrays on a device.
class DeviceTensors {
 public:
  /// Throws std::bad_alloc.
  DeviceTensors(const Device&, const std::vector<Tensor>&);

  /// Restores the contents from the host.
  void restore(const std::vector<Tensor>&);
  std::vector<std::byte> contents(std::string_view name) const;
  /// The device address of an array.
  void* address(std::string_view name);

  /// A view with the axes of the array.
  template <class T, int R>
  View<T, R> view(std::string_view name) {
    Entry& e = find(name);
    return view_of<T>(std::get<Buffer<std::remove_const_t<T>>>(e.buffer), e.shape, std::make_index_sequence<R>());
  }

  /// Stores the return value of a function as the contents of an array: as its first element, or as all of them.
  template <class T>
  void keep(std::string_view name, T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    find(name).returned.assign(bytes, bytes + sizeof value);
  }
  template <class T>
  void keep(std::string_view name, Buffer<T>&& values) {
    find(name).buffer = std::move(values);
  }

 private:
  template <class>
  struct VariantOf;
  template <class... T>
  struct VariantOf<ElementTypes<T...>> {
    using type = std::variant<Buffer<T>...>;
  };
  struct Entry {
    Shape shape;
    VariantOf<ArrayTypes>::type buffer;
    std::vector<std::byte> returned{};
  };
  Entry& find(std::string_view name) { return entries_.find(name)->second; }

  template <class T, std::size_t... I>
  static View<T, static_cast<int>(sizeof...(I))> view_of(Buffer<std::remove_const_t<T>>& buffer, const Shape& shape,
                                                         std::index_sequence<I...>) {
    const Extent extents[] = {shape[I]...};
    return tilewright::view(buffer, extents);
  }

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace tilewright::cli::bench
