// Fills arrays with random numbers, and moves them to devices and back.
#include "frontend/cli/bench/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>

namespace tilewright::cli::bench {

namespace {

/// A hash of a counter: splitmix64.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
T random_element(std::uint64_t hash) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int>(hash >> 61) - 4);
  else if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(hash >> 11) * 0x1p-52 - 1;
  else
    return T(static_cast<float>(hash >> 40) * 0x1p-23f - 1);
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
T unwritten() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::min();
  else
    return T(std::numeric_limits<float>::quiet_NaN());
}

/// Room for the elements of a tensor. Throws std::bad_alloc where the system would end the process once it were used.
template <class T>
T* allocate(Tensor& t) {
  const double bytes = static_cast<double>(t.elements()) * sizeof(T);
  if (bytes > static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE))) throw std::bad_alloc();
  t.bytes.resize(static_cast<std::size_t>(t.elements()) * sizeof(T));
  return reinterpret_cast<T*>(t.bytes.data());
}

}  // namespace

std::string text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::int64_t Tensor::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

Tensor random_input(std::string name, ir::Element element, Shape shape) {
  Tensor t{std::move(name), element, std::move(shape)};
  std::uint64_t seed = 1;
  for (const char c : t.name) seed = scrambled(seed + static_cast<unsigned char>(c));
  with_type(element, [&]<class T>(std::type_identity<T>) {
    T* to = allocate<T>(t);
    for (std::int64_t i = 0; i < t.elements(); ++i) to[i] = random_element<T>(scrambled(seed + static_cast<std::uint64_t>(i)));
  });
  return t;
}

Tensor result(std::string name, ir::Element element, Shape shape) {
  Tensor t{std::move(name), element, std::move(shape), true};
  with_type(element, [&]<class T>(std::type_identity<T>) {
    T* to = allocate<T>(t);
    std::fill(to, to + t.elements(), unwritten<T>());
  });
  return t;
}

double Reader::operator[](std::int64_t index) const {
  return with_type(element_, [&]<class T>(std::type_identity<T>) { return as_double(reinterpret_cast<const T*>(data_)[index]); });
}

DeviceTensors::DeviceTensors(const Device& device, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    with_type(t.element,
              [&]<class T>(std::type_identity<T>) { entries_.emplace(t.name, Entry{t.shape, device.allocate<T>(t.elements())}); });
  restore(tensors);
}

void DeviceTensors::restore(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    with_type(t.element, [&]<class T>(std::type_identity<T>) {
      std::get<Buffer<T>>(find(t.name).buffer)
          .upload(std::span<const T>(reinterpret_cast<const T*>(t.bytes.data()), static_cast<std::size_t>(t.elements())));
    });
}

std::vector<std::byte> DeviceTensors::contents(std::string_view name) const {
  return std::visit(
      []<class T>(const Buffer<T>& buffer) {
        std::vector<std::byte> bytes(buffer.size() * sizeof(T));
        buffer.download(std::span<T>(reinterpret_cast<T*>(bytes.data()), buffer.size()));
        return bytes;
      },
      entries_.find(name)->second.buffer);
}

void* DeviceTensors::address(std::string_view name) {
  return std::visit([](auto& buffer) -> void* { return buffer.data(); }, find(name).buffer);
}

}  // namespace tilewright::cli::bench
