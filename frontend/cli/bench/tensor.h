// Named arrays of a benchmark: their contents on the host, and copies of them on a device that kernels take as views.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tileir/type.h"
#include "tilewright/tilewright.h"

namespace tilewright::cli::bench {

using Shape = std::vector<std::int64_t>;

/// "1024x512".
std::string text(const Shape&);

struct Tensor {
  std::string name;
  ir::Element element;
  Shape shape;
  bool written = false;            // a result
  std::vector<std::byte> bytes{};  // before a launch

  std::int64_t elements() const;
};

/// An input of numbers that are uniform in [-1, 1), of small integers in [-4, 4) for integer types. The seed is that of the name.
Tensor random_input(std::string name, ir::Element, Shape);
/// An input of i32 whose element i is value(i).
template <class F>
Tensor integer_input(std::string name, Shape shape, F value) {
  Tensor t{std::move(name), ir::Element::i32, std::move(shape)};
  t.bytes.resize(static_cast<std::size_t>(t.elements()) * sizeof(std::int32_t));
  auto* to = reinterpret_cast<std::int32_t*>(t.bytes.data());
  for (std::int64_t i = 0; i < t.elements(); ++i) to[i] = static_cast<std::int32_t>(value(i));
  return t;
}
/// A result, which is NaN, or the least integer, where a kernel writes nothing.
Tensor result(std::string name, ir::Element, Shape);

/// The elements of an array in double precision.
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

  /// The contents of the host again.
  void restore(const std::vector<Tensor>&);
  std::vector<std::byte> contents(std::string_view name) const;
  /// The device's address.
  void* address(std::string_view name);

  /// A view with the axes of the array.
  template <class T, int R>
  View<T, R> view(std::string_view name) {
    Entry& e = find(name);
    return view_of<T>(std::get<Buffer<std::remove_const_t<T>>>(e.buffer), e.shape, std::make_index_sequence<R>());
  }

 private:
  using AnyBuffer = std::variant<Buffer<float>, Buffer<double>, Buffer<f16>, Buffer<bf16>, Buffer<std::int8_t>, Buffer<std::int32_t>>;
  struct Entry {
    Shape shape;
    AnyBuffer buffer;
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

/// Calls f with a std::type_identity of the C++ type of an element; elements are those of benchmarks' arrays.
template <class F>
decltype(auto) with_type(ir::Element e, F&& f) {
  switch (e) {
    case ir::Element::f64: return f(std::type_identity<double>());
    case ir::Element::f16: return f(std::type_identity<f16>());
    case ir::Element::bf16: return f(std::type_identity<bf16>());
    case ir::Element::i8: return f(std::type_identity<std::int8_t>());
    case ir::Element::i32: return f(std::type_identity<std::int32_t>());
    default: return f(std::type_identity<float>());
  }
}
/// The same for floats only, so that fewer kernels are instantiated.
template <class F>
decltype(auto) with_float(ir::Element e, F&& f) {
  switch (e) {
    case ir::Element::f64: return f(std::type_identity<double>());
    case ir::Element::f16: return f(std::type_identity<f16>());
    case ir::Element::bf16: return f(std::type_identity<bf16>());
    default: return f(std::type_identity<float>());
  }
}

}  // namespace tilewright::cli::bench
